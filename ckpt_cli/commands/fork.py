"""``ckpt fork``: a branch of its own from any checkpoint, or a thread of its own."""

from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_revision
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.metadata import MetadataOption, metadata_changes
from ckpt_cli.parameters.options import Ns, Thread
from ckpt_cli.plans import fork as plans
from ckpt_cli.plans import transplant
from ckpt_cli.plans.mint import Mint
from ckpt_cli.session import Session
from ckpt_cli.views.plan import PlanView


def fork(
    session: Session,
    thread: Thread,
    rev: Annotated[
        str,
        typer.Argument(
            metavar="REV", help="The checkpoint to go on from.", autocompletion=complete_revision, show_default=False
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="NEW_THREAD", help="Make a thread of its own, with all it came from."),
    ] = None,
    shallow: Annotated[bool, typer.Option("--shallow", help="With --to: only this one checkpoint.")] = False,
    metadata: MetadataOption = None,
    ns: Ns = "",
) -> PlanView:
    """Start a branch at a checkpoint: a copy of it beside it, from which the application can go on.

    The copy is what update_state(config, None, as_node="__copy__") makes: same parent, same state, same next nodes, and
    nothing of what ran there. Unlike that one it keeps your application's metadata (user_id, …), so that --where still
    finds the thread. It is the newest, so the thread goes on from it. The config to go on with in code is printed last.

    With --to the thread goes on under another id: the checkpoint with its ancestors, their subgraphs and writes.
    --metadata then changes all of them.

    Examples:
      ckpt fork support-42 step:3 --reason "wrong route"
      ckpt fork support-42 @~2 --to support-42-again
      ckpt fork support-42 @ --to snapshot --shallow --dry-run
      ckpt fork support-42 @ --to trial --metadata user_id=test --metadata tenant=
    """
    changes = metadata_changes(metadata)
    if to is None:
        if shallow:
            raise UsageError("--shallow belongs to --to NEW_THREAD")
        plan = session.make_plan(lambda r: plans.plan(r, r.resolve(thread, rev, ns), Mint(session.clock), changes))
    elif ns:
        raise UsageError("--to takes a checkpoint of the root graph, whose subgraphs come along")
    else:
        plan = session.make_plan(
            lambda r: transplant.plan(r, r.resolve(thread, rev), to, shallow=shallow, changes=changes)
        )
    return session.change(plan)
