"""A trigger, rule or foreign key as views show it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SideEffectLine:
    """What the database does by itself when rows change.

    Attributes:
        kind: ``trigger``, ``rule`` or ``foreign key``.
        table: the table it is defined on.
        relation: the checkpoint table whose rows set it off.
        on: what is done to a row then: ``add``, ``change``, ``remove``.
        accepted: whether a person said that it is all right, now or for this database.
        altered: whether a person accepted it for this database as it was earlier, and it has changed since.
    """

    kind: str
    name: str
    table: str
    relation: str
    on: list[str]
    accepted: bool
    altered: bool = False
