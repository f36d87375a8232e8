"""The view of ``ckpt operations N``: one operation, thread by thread."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ckpt_cli.views.base import View
from ckpt_cli.views.operations import OperationLine


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
    """

    thread_id: str | None
    state: str
    summary: str
    problem: str
    rows: int
    bytes: int
    forgotten: int = 0


@dataclass
class OperationPartsView(View):
    """One operation with its threads, in the order in which they were changed.

    Attributes:
        operation: the operation, as ``ckpt operations`` lists it.
        threads: its threads; empty if the operation is one transaction (see `operation.where`).
    """

    verb: ClassVar[str] = "operation_parts"
    rows_field: ClassVar[str] = "threads"

    operation: OperationLine
    threads: Iterable[PartLine]
