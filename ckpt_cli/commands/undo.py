"""``ckpt undo``: undoes an operation of ckpt."""

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

    ckpt refuses if one of the rows was changed since, if it would delete a checkpoint from which the application has
    continued, or if no row proves that the log belongs to this database. An undo is an operation too: you can undo it.

    Examples:
      ckpt undo
      ckpt undo 7 --dry-run
      ckpt undo 8 --yes --reason "it was right after all"
    """
    session.same_database = same_database
    return session.undo(operation)
