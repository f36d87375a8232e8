"""A trigger, rule or foreign key as views show it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SideEffectLine:
    """What the database does by itself when rows change.

    Attributes:
        kind: ``trigger``, ``rule`` or ``foreign key``.
        table: the table it is defined on.
        relation: the checkpoint table on whose rows it fires.
        on: the changes of a row on which it fires: ``add``, ``change``, ``remove``.
        accepted: whether the person has accepted it, now or for this database.
        altered: whether the person accepted it earlier and it was changed since.
    """

    kind: str
    name: str
    table: str
    relation: str
    on: list[str]
    accepted: bool
    altered: bool = False
