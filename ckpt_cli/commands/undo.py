"""``ckpt undo``: undoes an operation of ckpt."""

from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_changed_thread
from ckpt_cli.parameters.options import SameDatabase
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView

_ThreadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--thread",
        metavar="THREAD",
        help="Take back an operation on many threads on this one only; may be repeated.",
        autocompletion=complete_changed_thread,
        show_default=False,
    ),
]
_SkipRefused = Annotated[
    bool, typer.Option("--skip-refused", help="Take it back on the other threads if it can't be on some of them.")
]


def undo(
    session: Session,
    operation: Annotated[
        int | None,
        typer.Argument(
            metavar="OPERATION",
            help="Its number in `ckpt operations`; default: the newest that is neither an undo nor undone.",
            show_default=False,
        ),
    ] = None,
    thread: _ThreadOption = None,
    skip_refused: _SkipRefused = False,
    same_database: SameDatabase = False,
) -> PlanView | BulkView:
    """Take back what ckpt did: every row becomes what it was before, byte for byte.

    ckpt refuses if one of the rows was changed since, if it would delete a checkpoint from which the application has
    continued, or if no row proves that the log belongs to this database. An undo is an operation too: you can undo
    it by its number.

    An operation on many threads is taken back on each thread where it is still in effect, in a transaction for each.

    Examples:
      ckpt undo
      ckpt undo 7 --dry-run
      ckpt undo 7 --thread support-42 --thread support-43
      ckpt undo 8 --yes --reason "it was right after all"
    """
    session.same_database = same_database
    return session.undo(operation, thread or (), skip_refused=skip_refused)
