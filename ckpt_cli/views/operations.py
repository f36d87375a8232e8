"""The view of ``ckpt operations``: what ckpt did to this database."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View
from ckpt_cli.views.side_effects import SideEffectLine


@dataclass(frozen=True, slots=True)
class OperationLine:
    """One operation.

    Attributes:
        at: when it was done, ISO 8601 in UTC.
        state: ``done``, ``undone``, ``abandoned`` (interrupted before anything was written), ``planned`` (interrupted;
            the next change finds out how it ended).
        undoes: the number of the operation that it takes back.
        rows: how many physical rows it changed.
        bytes: the size of its row images on disk.
        forgotten: how many of its rows were wiped from the log and can't be restored.
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


@dataclass
class OperationsView(View):
    """The operation log of one database, newest first.

    Attributes:
        log: the path of the log file, which exists once there was an operation or a tag.
        accepted: triggers, rules and foreign keys that the person has accepted for this database.
        pruned: how many operations this very command has forgotten.
        to_wipe: whether a crash left something in the file that was to be wiped.
    """

    verb: ClassVar[str] = "operations"
    rows_field: ClassVar[str] = "operations"

    log: str
    operations: list[OperationLine]
    pruned: int = 0
    to_wipe: bool = False
    accepted: list[SideEffectLine] = field(default_factory=list)
