"""The view of ``ckpt operations``: what ckpt did to this database."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.changed_threads import ChangedNamespace
from ckpt_cli.views.side_effects import SideEffectLine


class PartsLine(NamedTuple):
    """The threads of an operation that changes each in a transaction of its own.

    Attributes:
        planned: the number of threads that were selected.
        done: how many are changed and still so.
        undone: how many were taken back.
        refused: how many were left alone, because they couldn't be changed so or moved meanwhile.
        abandoned: how many were interrupted before anything was written.
        waiting: how many were interrupted, or are being changed now.
    """

    planned: int
    done: int
    undone: int
    refused: int
    abandoned: int
    waiting: int


@dataclass(frozen=True, slots=True)
class OperationLine:
    """One operation.

    Attributes:
        at: when the operation was done, ISO 8601 in UTC.
        state: ``done``, ``undone``, ``abandoned`` (interrupted before anything was written), ``planned`` (interrupted;
            the next change finds out how it ended); of one on many threads also ``refused`` (all threads were).
        undoes: the number of the operation that this one undoes; null if it isn't an undo.
        rows: the number of physical rows that the operation changed.
        bytes: the size of the row images that the log keeps of the operation.
        forgotten: the number of its rows that were wiped from the log and can't be restored.
        threads: the number of threads that the operation changed; null if an older ckpt logged it.
        namespaces: the number of namespaces in these threads; null if an older ckpt logged it.
        where: the first of these namespaces, at most ten; with ``--thread``, those of that thread.
        user: who made the operation; null if an older ckpt logged it.
        host: the machine on which it was made; null if an older ckpt logged it.
        version: the version of ckpt that made it; null if an older ckpt logged it.
        parts: how many threads it changed, if it is one on many threads, each in a transaction of its own; else null.
        details: what was answered, and which channels changed, one line each; empty if an older ckpt logged it.
    """

    number: int
    at: str
    command: str
    summary: str
    reason: str
    state: str
    undoes: int | None
    rows: int
    bytes: int
    forgotten: int = 0
    threads: int | None = None
    namespaces: int | None = None
    where: tuple[ChangedNamespace, ...] = ()
    user: str | None = None
    host: str | None = None
    version: str | None = None
    parts: PartsLine | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartLine:
    """One thread of an operation on many threads.

    Attributes:
        thread_id: null if the thread was forgotten.
        state: ``done``, ``undone``, ``refused`` (it changed nothing), ``abandoned`` (interrupted before anything was
            written), ``planned`` (interrupted; the next change finds out how it ended).
        summary: what was done to the thread.
        problem: why it was refused.
        rows: the number of physical rows that were changed.
        bytes: the size of the row images that the log keeps of it.
        forgotten: the number of its rows that were wiped from the log and can't be restored.
        details: the same as in `OperationLine`.
    """

    thread_id: str | None
    state: str
    summary: str
    problem: str
    rows: int
    bytes: int
    forgotten: int = 0
    details: tuple[str, ...] = ()


@dataclass
class OperationsView(View):
    """The operation log of one database, newest first.

    Attributes:
        log: the path of the log file; the first operation or tag creates it.
        accepted: triggers, rules and foreign keys that the user has accepted for this database.
        pruned: the number of operations that this command has just forgotten.
        reducers: channel to the reducer that the user has named for this database with ``--remember``.
        threads: the threads of the one operation that was asked for, if each was changed in a transaction of its own.
        to_wipe: whether the log still contains forgotten data, because a crash interrupted the wiping.
    """

    verb: ClassVar[str] = "operations"
    rows_field: ClassVar[str] = "operations"
    full = False
    """Whether one operation was asked for, whose texts a terminal shows whole."""

    log: str
    operations: list[OperationLine]
    pruned: int = 0
    to_wipe: bool = False
    accepted: list[SideEffectLine] = field(default_factory=list)
    reducers: dict[str, str] = field(default_factory=dict)
    threads: Iterable[PartLine] = ()
