"""Applies a plan that isn't logged: inside an open transaction, or in transactions of its own."""

from typing import TYPE_CHECKING

from ckpt_cli.model import Plan
from ckpt_cli.savers.about import Ability

if TYPE_CHECKING:
    from ckpt_cli.savers.contract import Saver


def apply_plan(saver: "Saver", plan: Plan) -> None:
    """Apply a plan inside the open transaction; if the engine has no transactions, an error takes back the changes.

    Raises:
        Refused: a record to add exists already, or a record to replace or remove doesn't exist; nothing was written.
    """
    if Ability.ATOMIC in saver.abilities:
        saver.change(saver.expand(plan))
        return
    changes = list(saver.expand(plan))
    try:
        saver.change(changes)
    except BaseException:
        saver.take_back(changes)
        raise


def apply_in_transactions(saver: "Saver", plan: Plan) -> None:
    """Apply a plan; without `Ability.ATOMIC` its expansion, its changes and taking them back have a transaction each.

    Raises:
        Refused: a record to add exists already, or a record to replace or remove doesn't exist; nothing was written.
    """
    if Ability.ATOMIC in saver.abilities:
        saver.transaction(lambda: saver.change(saver.expand(plan)))
        return
    changes = saver.transaction(lambda: list(saver.expand(plan)))
    try:
        saver.transaction(lambda: saver.change(changes))
    except Exception:
        saver.transaction(lambda: saver.take_back(changes))
        raise
