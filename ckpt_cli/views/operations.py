"""What ``ckpt operations`` tells: what was done to this database with ckpt."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View
from ckpt_cli.views.side_effects import SideEffectLine


@dataclass(frozen=True, slots=True)
class OperationLine:
    """One operation.

    Attributes:
        at: when, ISO 8601 in UTC.
        state: ``done``, ``undone``, ``abandoned`` (interrupted before anything was written), ``planned`` (interrupted;
            the next change finds out).
        undoes: the operation that it takes back.
        rows: physical rows it touched.
        bytes: what its images take on disk.
        forgotten: how many of its rows were wiped from the log and don't come back.
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
        log: the file; it exists once there was an operation or a tag.
        accepted: triggers, rules and foreign keys that may act when ckpt changes this database.
        pruned: how many were forgotten by this very command.
        to_wipe: whether a crash left something in the file that was to be forgotten.
    """

    verb: ClassVar[str] = "operations"
    rows_field: ClassVar[str] = "operations"

    log: str
    operations: list[OperationLine]
    pruned: int = 0
    to_wipe: bool = False
    accepted: list[SideEffectLine] = field(default_factory=list)
