"""``ckpt demo``: writes a small example database to look around in."""

from pathlib import Path
from typing import Annotated

import typer

from ckpt_cli.model import Checkpoint, Plan
from ckpt_cli.session import Session
from ckpt_cli.shell_words import argument
from ckpt_cli.views.demo import DemoView, Suggestion

_THREAD = "support-42"
_SUGGESTIONS = (
    ("threads --status waiting", "who waits for me, and with which question?"),
    (f"show {_THREAD}", "everything at the newest checkpoint: state, next node, the open question"),
    (f"diff {_THREAD} branch:1 branch:2", "what did correcting the route change?"),
    ("writes support-41", "what failed, and what had its sibling already done?"),
    ("grep -i refund", "where was a refund first mentioned?"),
)


def run(session: Session, path: Path, plan: Plan) -> DemoView:
    """Write `plan` to a new database file; the view shows what to try next, and the tree of one thread.

    Raises:
        Refused: the file exists already.
    """
    from ckpt_cli.commands import tree

    _write(path, plan)
    written = Session(str(path), clock=session.clock)
    try:
        tree_view = written.read(lambda reader: tree.run(reader, _THREAD))
    finally:
        written.close()
    checkpoints = [record.row for record in plan.add if isinstance(record, Checkpoint)]
    return DemoView(
        path=str(path),
        threads=len({row.thread_id for row in checkpoints}),
        checkpoints=len(checkpoints),
        tree=tree_view,
        next=[Suggestion(f"ckpt {words} --db {argument(str(path))}", answers) for words, answers in _SUGGESTIONS],
    )


def _write(path: Path, plan: Plan) -> None:
    from ckpt_cli.savers.sqlite import create

    saver = create(path)
    try:
        saver.apply(plan)
    except BaseException:
        saver.close()
        path.unlink()
        raise
    saver.close()


def demo(
    session: Session,
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="Where to write it; nothing is ever overwritten.")
    ] = "ckpt-demo.sqlite",
) -> DemoView:
    """Write a small example database and look around in it.

    It holds what a real support agent would have left behind: a chat with tools, a fork where somebody corrected the
    route, a subgraph, a refund that waits to be approved, and a failed node beside a finished one.

    Examples:
      ckpt demo
      ckpt demo /tmp/try.sqlite
    """
    from ckpt_cli.demo.story import plan

    return run(session, Path(path), plan(session.clock()))
