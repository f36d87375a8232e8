"""A trigger, rule or foreign key as views show it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SideEffectLine:
    """A trigger, rule or foreign key, which acts by itself when rows change.

    Attributes:
        kind: ``trigger``, ``rule`` or ``foreign key``.
        table: the table on which it is defined.
        relation: the checkpoint table whose changed rows fire the side effect.
        on: the changes of a row that fire the side effect: ``add``, ``change``, ``remove``.
        accepted: whether the user has accepted it, for this command or for this database.
        altered: whether the user accepted it earlier, but it was changed since then.
    """

    kind: str
    name: str
    table: str
    relation: str
    on: list[str]
    accepted: bool
    altered: bool = False
