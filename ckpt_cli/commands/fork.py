"""``ckpt fork``: starts a branch at any checkpoint, or copies the checkpoint into a new thread."""

from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_revision
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.metadata_option import MetadataOption, metadata_changes
from ckpt_cli.parameters.options import Ns
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions
from ckpt_cli.parameters.target import ONE_THREAD, ManyOptions, OneThread, Target, for_one, parse_target
from ckpt_cli.plans import fork as plans
from ckpt_cli.plans import fork_to_thread
from ckpt_cli.plans.metadata import MetadataChanges
from ckpt_cli.plans.mint import Mint
from ckpt_cli.queries.thread_plans import change_target
from ckpt_cli.session import Session
from ckpt_cli.shell_words import command
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView

_REV = "The checkpoint to continue from; if it is left out with --to, the head."
_To = Annotated[
    str | None,
    typer.Option("--to", metavar="NEW_THREAD", help="Make a new thread, with the checkpoint's ancestors."),
]
_Shallow = Annotated[bool, typer.Option("--shallow", help="With --to: copy only this one checkpoint.")]
_Pending = Annotated[
    bool,
    typer.Option("--with-pending", help="With --to: copy pending writes too: finished tasks, questions, answers."),
]


def fork(
    session: Session,
    thread: OneThread = None,
    rev: Annotated[
        str | None,
        typer.Argument(metavar="REV", help=_REV, autocompletion=complete_revision, show_default=False),
    ] = None,
    selector: SelectorOptions = NOTHING_TYPED,
    many: ManyOptions = ONE_THREAD,
    to: _To = None,
    shallow: _Shallow = False,
    pending: _Pending = False,
    metadata: MetadataOption = None,
    ns: Ns = "",
) -> PlanView | BulkView:
    """Start a branch at a checkpoint: the application can continue from a copy of it.

    The copy is the same as update_state(config, None, as_node="__copy__") makes. It has the same parent, state and next
    nodes, and no writes of the tasks that ran there. Unlike that call, fork keeps your application's metadata, so that
    --where still finds the thread. The thread continues from the copy. The last line printed is the config for code.

    --to makes a new thread: it contains the checkpoint and its ancestors, with their subgraphs and writes. --metadata
    then changes all of these checkpoints. The tasks of the checkpoint itself start anew in it; with --with-pending it
    goes on as the original would: what has finished isn't run again, and an open question can be answered.

    Without THREAD, the options choose many threads: each is forked at the revision --at, in a transaction of its own.

    A subgraph with its own memory (checkpointer=True) doesn't start anew: it goes on from its newest checkpoint, or
    only returns its state. The plan says so, and what works instead.

    Examples:
      ckpt fork support-42 step:3 --reason "wrong route"
      ckpt fork --status failed --at failed --dry-run
      ckpt fork support-42 @~2 --to support-42-again
      ckpt fork support-42 --to support-42-test --with-pending
      ckpt fork support-42 --to snapshot --shallow
      ckpt fork support-42 --to trial --metadata user_id=test --metadata tenant=
    """
    changes = metadata_changes(metadata)
    whole_thread = rev is None and thread is not None and to is not None
    target = parse_target(session, (thread, "@" if whole_thread else rev), selector, many, ns=ns)
    for_one(target, {"--to": to is not None, "--shallow": shallow, "--with-pending": pending})
    if to is not None:
        return _fork_to(session, target, to, changes, shallow=shallow, pending=pending)
    _must_be_alone(target.thread, target.rev, changes, shallow=shallow, pending=pending)
    return change_target(session, "fork", target, lambda r, row: plans.plan(r, row, Mint(session.clock), changes))


def _fork_to(
    session: Session, target: Target, to: str, changes: MetadataChanges, *, shallow: bool, pending: bool
) -> PlanView:
    """Copy a checkpoint into a new thread."""
    thread, rev = target.thread, target.rev
    if shallow and pending:
        raise UsageError("--shallow copies one checkpoint alone", hint="leave out --shallow or --with-pending")
    if target.ns:
        raise _needs_the_root_graph(thread, to, changes)
    ways = {"shallow": shallow, "pending": pending}
    plan = session.make_plan(lambda r: fork_to_thread.plan(r, r.resolve(thread, rev), to, **ways, changes=changes))
    if _looks_like_a_database(to):
        plan = plan._replace(notes=(f"{to} is the id of a new thread in this database, not a file", *plan.notes))
    return session.change(plan)


def _looks_like_a_database(name: str) -> bool:
    return "://" in name or name.endswith((".sqlite", ".sqlite3", ".db", ".ckpt"))


def _needs_the_root_graph(thread: str, to: str, changes: MetadataChanges) -> UsageError:
    whole = command("ckpt fork", thread, "@", options=["--to", to, *changes.options])
    what = "--to needs a checkpoint of the root graph; its subgraphs are copied with it"
    return UsageError(what, hint=f"`{whole}` copies the thread up to its head")


def _must_be_alone(thread: str, rev: str, changes: MetadataChanges, *, shallow: bool, pending: bool) -> None:
    """Refuse options that only fit ``--to``."""
    if shallow:
        whole = command("ckpt fork", thread, rev, options=["--to", "NEW_THREAD", "--shallow", *changes.options])
        raise UsageError("--shallow belongs to --to NEW_THREAD", hint=f"`{whole}`")
    if pending:
        what = "a copy in the same thread has a new id, and with it its tasks have new ids"
        raise UsageError("--with-pending belongs to --to NEW_THREAD", hint=what)
