"""``ckpt rollback``: makes an earlier state current again."""

from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_revision
from ckpt_cli.parameters.metadata_option import MetadataOption, metadata_changes
from ckpt_cli.parameters.options import Ns, Thread
from ckpt_cli.plans import rollback as plans
from ckpt_cli.plans.mint import Mint
from ckpt_cli.session import Session
from ckpt_cli.views.plan import PlanView


def rollback(
    session: Session,
    thread: Thread,
    rev: Annotated[
        str,
        typer.Argument(
            metavar="REV", help="The checkpoint to go back to.", autocompletion=complete_revision, show_default=False
        ),
    ],
    metadata: MetadataOption = None,
    ns: Ns = "",
) -> PlanView:
    """Make an earlier state of a thread current again, as a new child of that checkpoint; nothing is lost.

    The later checkpoints stay where they are, as a branch. The thread continues from the restored state with the nodes
    that were next there. Unlike a fork, the new checkpoint is a child of the old one, so its history stays complete.

    Examples:
      ckpt rollback support-42 step:3
      ckpt rollback support-42 @{2h} --dry-run
      ckpt rollback support-42 tag:before-refund --yes --reason "wrong refund"
    """
    changes = metadata_changes(metadata)
    plan = session.make_plan(lambda r: plans.plan(r, r.resolve(thread, rev, ns), Mint(session.clock), changes))
    return session.change(plan)
