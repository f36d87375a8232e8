"""`ckpt operations`: listed, pruned, and settled after a crash."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ckpt_cli.commands import operations
from ckpt_cli.operations.log import Heading, OperationLog
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.operations.witnesses import Choice, sample_checkpoints
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.session import ChangeOptions, Session
from tests import golden
from tests.commands.changes import SUMMARY, THREAD, Json, row_changes


def test_reading_makes_no_log(ckpt: Callable[..., Json], path: Path) -> None:
    """Commands that look, a revision by tag among them, leave no log."""
    ckpt("operations")
    ckpt("tag", "--list")
    ckpt("show", THREAD, "tag:none", code=4)
    ckpt("undo", "--yes", code=4)
    assert not default_path(f"sqlite:{path.resolve()}").parent.exists()


def answered(path: Path, answer: str) -> tuple[int, list[str]]:
    """The exit code where a person answers the question that ``--prune --keep 1`` asks, and what it forgets."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "ckpt_cli", "operations", "--prune", "--keep", "1", "-d", str(path)]
    with subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        os.write(controller, f"{answer}\n".encode())
        err = process.communicate(timeout=30)[1].decode()
    os.close(terminal)
    os.close(controller)
    return process.returncode, [line for line in err.splitlines() if "forgets" in line]


def test_pruning(ckpt: Callable[..., Json], path: Path) -> None:
    """Old operations are forgotten only once that was shown and confirmed; the words must fit together."""
    ckpt("tag", THREAD, "step:1", "here")
    for _ in range(3):
        ckpt("fork", THREAD, "tag:here", "--yes")
    assert ckpt("operations", "--prune", "--older", "1")["pruned"] == 0
    assert answered(path, "n") == (
        7,
        ["operations --prune forgets operations 1 to 2, for which there is no undo then"],
    )
    planned = ckpt("operations", "--prune", "--keep", "1", "--dry-run")
    assert (planned["applied"], row_changes(planned)) == (False, [("remove", "the operation log")] * 2)
    ckpt("operations", "--prune", "--keep", "1", code=2)
    assert len(ckpt("operations")["operations"]) == 3
    pruned = ckpt("operations", "--prune", "--keep", "1", "--yes")
    assert (pruned["pruned"], [o["number"] for o in pruned["operations"]]) == (2, [3])
    ckpt("undo", "1", "--yes", code=4)
    ckpt("operations", "--prune", code=2)
    ckpt("operations", "--keep", "1", code=2)
    ckpt("operations", "--yes", code=2)


def test_an_interrupted_operation_is_settled_by_the_next(path: Path) -> None:
    """The next change reports an operation that a crash interrupted, and the list marks it."""
    log = OperationLog(default_path(f"sqlite:{path.resolve()}"))
    saver = open_file(path)
    log.begin(Heading(1.0, "fork", "", "cut off"), [], witnessing=Choice(saver, sample_checkpoints(saver)))
    log.close()
    saver.close()
    lines: list[str] = []
    session = Session(str(path), say=lines.append, options=ChangeOptions(yes=True), may_change=True)
    from ckpt_cli.commands.fork import fork

    fork(session, THREAD, "step:1")
    assert lines == ["operation 1 (fork) was interrupted: `ckpt operations` shows how it ended"]
    assert [o.state for o in operations.run(session.log).operations] == ["done", "abandoned"]
    session.close()


def test_the_log_looks(tmp_path: Path) -> None:
    """The operation log on every kind of output."""
    log = OperationLog(tmp_path / "log" / "x" / "log.sqlite")
    log.begin(
        Heading(golden.NOW - 7200, "fork", "the customer got the wrong answer, so we go back and try again", SUMMARY),
        [],
    )
    log.finish(1)
    log.begin(Heading(golden.NOW - 60, "undo", "", "of operation 1 (fork)", 1), [])
    log.finish(2)
    log.begin(Heading(golden.NOW - 5, "edit", "", "cut off"), [])
    view = operations.run(log)
    view.log = "log.sqlite"
    golden.check("operations/listed", view)
    view.operations, view.pruned = [], 3
    golden.check("operations/none", view)
    log.close()
