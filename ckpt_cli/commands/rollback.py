"""``ckpt rollback``: makes an earlier state current again."""

from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_revision
from ckpt_cli.parameters.metadata_option import MetadataOption, metadata_changes
from ckpt_cli.parameters.options import Ns
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions
from ckpt_cli.parameters.target import ONE_THREAD, ManyOptions, OneThread, parse_target
from ckpt_cli.plans import rollback as plans
from ckpt_cli.plans.mint import Mint
from ckpt_cli.queries.thread_plans import change_target
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView


def rollback(
    session: Session,
    thread: OneThread = None,
    rev: Annotated[
        str | None,
        typer.Argument(
            metavar="REV", help="The checkpoint to go back to.", autocompletion=complete_revision, show_default=False
        ),
    ] = None,
    selector: SelectorOptions = NOTHING_TYPED,
    many: ManyOptions = ONE_THREAD,
    metadata: MetadataOption = None,
    ns: Ns = "",
) -> PlanView | BulkView:
    """Make an earlier state of a thread current again, as a new child of that checkpoint; nothing is lost.

    The later checkpoints stay where they are, as a branch. The thread continues from the restored state with the nodes
    that were next there. Unlike a fork, the new checkpoint is a child of the old one, so its history stays complete.

    Without THREAD, the options choose many threads: each goes back to the revision --at, in a transaction of its own;
    all together are one operation, which undo takes back.

    Examples:
      ckpt rollback support-42 step:3
      ckpt rollback support-42 @{2h} --dry-run
      ckpt rollback support-42 tag:before-refund --yes --reason "wrong refund"
      ckpt rollback --match 'support-*' --since 2h --at 'before:text:rate limited' --skip-refused
    """
    changes = metadata_changes(metadata)
    target = parse_target(session, (thread, rev), selector, many, ns=ns)
    return change_target(session, "rollback", target, lambda r, row: plans.plan(r, row, Mint(session.clock), changes))
