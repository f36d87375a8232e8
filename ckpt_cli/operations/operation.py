"""`Operation`: one applied plan as the log has it, or a part of it; its phase, its name for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.model import RowChange
from ckpt_cli.operations.origin import Origin
from ckpt_cli.shell_words import command


class Phase(StrEnum):
    """The state of an operation."""

    PLANNED = "planned"
    """Logged; whether its rows were changed isn't known yet."""
    DONE = "done"
    """Applied."""
    ABANDONED = "abandoned"
    """Interrupted before any of its rows was changed."""
    UNDONE = "undone"
    """Applied, and later undone by another operation."""
    REFUSED = "refused"
    """A part that changed nothing: its thread couldn't be changed so, or moved after the plan was made."""


class PartCounts(NamedTuple):
    """The parts of an operation on many threads, counted by phase.

    Attributes:
        planned: the number of threads that were selected for the operation.
        done: the parts that are in effect.
        waiting: the parts that were interrupted, or that are being applied now.
    """

    planned: int
    done: int = 0
    undone: int = 0
    refused: int = 0
    abandoned: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: a line of ``ckpt operations``; or a part of one, which changed one thread of many.

    Attributes:
        number: its place in the log, in which all operations and parts are numbered in the order of time.
        at: seconds since 1970.
        undoes: the `number` of the operation that this operation undoes.
        rows: the number of rows that this operation changed.
        size: the size of its images in the log, in bytes.
        forgotten: the number of its rows that were wiped from the log; None if no row was wiped.
        origin: who made it; None if an older ckpt logged it.
        counts: the number of threads and of namespaces that it changed; None if an older ckpt logged it.
        shown: the number that people know it by; a part has that of its operation.
        part_of: the `number` of the operation of which this is a part; else None.
        thread_id: the thread of a part; None if it isn't a part, or if the thread was forgotten.
        problem: why a part was refused.
        parts: the numbers of its parts; None if it has no parts.
        details: what was answered, and which channels changed, one line each; empty if an older ckpt logged it.
    """

    number: int
    at: float
    verb: str
    reason: str
    summary: str
    phase: Phase
    undoes: int | None
    rows: int
    size: int
    forgotten: int | None = None
    origin: Origin | None = None
    counts: tuple[int, int] | None = None
    shown: int = 0
    part_of: int | None = None
    thread_id: str | None = None
    problem: str = ""
    parts: PartCounts | None = None
    details: tuple[str, ...] = ()

    @property
    def is_forgotten(self) -> bool:
        """Whether all its rows were wiped, so that it can't be undone."""
        return self.forgotten is not None and self.forgotten >= self.rows

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"operation {self.shown}{'' if self.thread_id is None else f' on thread {self.thread_id!r}'}"

    @property
    def added(self) -> str:
        """What messages say that it did with the records that weren't there before; an undo brings records back."""
        return "added" if self.undoes is None else "brought back"

    @property
    def undo_command(self) -> str:
        """The command that takes it back."""
        return command(
            "ckpt undo", str(self.shown), options=[] if self.thread_id is None else ["--thread", self.thread_id]
        )


@dataclass(frozen=True, slots=True)
class Heading:
    """The description of an operation.

    Attributes:
        at: seconds since 1970.
        undoes: the operation that it undoes.
        forget: threads to wipe from the log once the operation is complete.
        details: see `Plan.details`.
    """

    at: float
    verb: str
    reason: str
    summary: str
    undoes: int | None = None
    forget: Sequence[str] = ()
    details: Sequence[str] = ()


class Evidence(NamedTuple):
    """The last logged change of a row, and the phase of the operation that made it."""

    change: RowChange
    phase: Phase
