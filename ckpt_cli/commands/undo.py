"""``ckpt undo``: takes back an operation."""

from typing import Annotated

import typer

from ckpt_cli.parameters.options import SameDatabase
from ckpt_cli.session import Session
from ckpt_cli.views.plan import PlanView


def undo(
    session: Session,
    operation: Annotated[
        int | None,
        typer.Argument(
            metavar="OPERATION",
            help="Its number in `ckpt operations`; default: the newest that isn't undone.",
            show_default=False,
        ),
    ] = None,
    same_database: SameDatabase = False,
) -> PlanView:
    """Take back what ckpt did: every row becomes what it was before, byte for byte.

    It is refused if a row was changed since, if a checkpoint that would go has been continued, or if no row proves that
    the log belongs to this database. An undo is an operation too, so it can be undone.

    Examples:
      ckpt undo
      ckpt undo 7 --dry-run
      ckpt undo 8 --yes --reason "it was right after all"
    """
    session.same_database = same_database
    return session.undo(operation)
