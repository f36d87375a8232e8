"""Parses ``--reducer CHANNEL=NAME`` and ``--deferred``; adds remembered reducers, remembers new ones."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ckpt_cli.completion.names import complete_reducer
from ckpt_cli.errors import UsageError
from ckpt_cli.history.reducers.names import NamedReducers, named, names
from ckpt_cli.history.reducers.reducers import Reducer
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session

if TYPE_CHECKING:
    from ckpt_cli.plans.update import PlannedUpdate
    from ckpt_cli.views.plan import PlanView

_HELP = "How a channel combines writes: last, append, sum, messages, dict, …; may be repeated."


def _option(more: str) -> Any:
    """The option, with more about it in its help."""
    return typer.Option("--reducer", metavar="CHANNEL=NAME", help=f"{_HELP} {more}", autocompletion=complete_reducer)


ReducerOption = Annotated[list[str] | None, _option("With --remember, later changes of this database know it too.")]
ComparedReducer = Annotated[list[str] | None, _option("A step that it doesn't explain differs.")]
BlameReducer = Annotated[list[str] | None, _option("What it makes of a node's writes is the node's.")]

DeferredOption = Annotated[
    list[str] | None,
    typer.Option(
        "--deferred",
        metavar="NODE=yes|no",
        help="Whether a node was added with defer=True, whatever older runs show; may be repeated.",
    ),
]


def named_reducers(
    session: Session, texts: Sequence[str] | None, deferred: Sequence[str] | None = None
) -> NamedReducers:
    """What the options name, and the reducers that are remembered for the other channels of this database.

    Args:
        session: the command's session.
        texts: the values of ``--reducer``.
        deferred: the values of ``--deferred``.

    Raises:
        UsageError: there is no such reducer, or it isn't said whether a node is deferred.
    """
    typed = dict(parse_reducer(text) for text in texts or ())
    remembered = {
        channel: reducer
        for channel, name in session.remembered_reducers().items()
        if channel not in typed and (reducer := named(name)) is not None
    }
    return NamedReducers({**typed, **remembered}, remembered.keys(), dict(map(_parse_deferred, deferred or ())))


def _parse_deferred(text: str) -> tuple[str, bool]:
    node, _, answer = text.rpartition("=")
    if not node or answer not in ("yes", "no"):
        raise UsageError(f"--deferred {text}: it isn't yes or no", hint="--deferred NODE=no")
    return node, answer == "yes"


def parse_reducer(text: str) -> tuple[str, Reducer]:
    """The channel and the reducer of ``--reducer CHANNEL=NAME``.

    Raises:
        UsageError: there is no such reducer.
    """
    channel, _, name = text.rpartition("=")
    reducer = named(name)
    if reducer is None or not channel:
        raise UsageError(f"no reducer {name!r}", hint="--reducer CHANNEL=NAME", candidates=names())
    return channel, reducer


def change_and_remember(
    session: Session, texts: Sequence[str] | None, make_plan: "Callable[[Reader], tuple[CheckpointRow, PlannedUpdate]]"
) -> "PlanView":
    """Show, confirm and apply a plan, and then remember the named reducers if ``--remember`` says so.

    Args:
        session: the command's session.
        texts: the values of ``--reducer``.
        make_plan: gives the checkpoint that the plan starts from, and the plan.
    """
    row, (plan, changes) = session.make_plan(make_plan)
    if session.options.remember and texts:
        plan = plan._replace(notes=(*plan.notes, f"remembers for this database: {_in_words(texts)}"))
    view = session.change(plan, changes)
    if view.applied:
        remember(session, texts, row.ref)
    return view


def remember(session: Session, texts: Sequence[str] | None, ref: Ref) -> None:
    """With ``--remember``, remember the named reducers beside the operation log; the database isn't changed.

    Args:
        session: the command's session.
        texts: the values of ``--reducer``.
        ref: a checkpoint, whose digest proves later that the reducers belong to this database.
    """
    if not session.options.remember or session.options.dry_run or not texts:
        return
    from ckpt_cli.operations import remembered_reducers
    from ckpt_cli.operations.witnesses import read_witness

    typed = {channel: reducer.name for channel, reducer in map(parse_reducer, texts)}
    log, saver = session.logs.for_writing(), session.reader.saver
    witness = session.read(lambda reader: read_witness(reader.saver, ref))
    remembered_reducers.remember(log, typed, session.clock(), ref=ref, witness=witness, place=saver.place())
    session.say(f"remembered for this database: {_in_words(texts)}")


def _in_words(texts: Sequence[str]) -> str:
    typed = dict(parse_reducer(text) for text in texts)
    return ", ".join(f"{channel} {reducer.name}" for channel, reducer in typed.items())
