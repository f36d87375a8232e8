"""The writes of a checkpoint are shown although the checkpoint itself can't be read, or its row is lost."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from ckpt_cli.commands.writes import writes
from ckpt_cli.errors import CheckpointNotFound, CkptError, PayloadCorrupt
from ckpt_cli.views.steps import StepView
from tests.commands.asking import look

LOST = {
    "damaged": ("UPDATE checkpoints SET checkpoint = x'c1' WHERE checkpoint_id = ?", PayloadCorrupt),
    "lost": ("DELETE FROM checkpoints WHERE checkpoint_id = ?", CheckpointNotFound),
}
"""What happens to a checkpoint, and the error that says so."""

DATABASES = ("legacy/py-1.2.22", "legacy/py-0.6.11", "legacy/py-0.3.34", "legacy/py-0.2.76")
"""With task paths, and without them in three formats of task ids."""


def lose(path: Path, statement: str) -> str:
    """Do it to the step 1 of the thread ``fork``, which a run continued; gives its id."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT checkpoint_id FROM checkpoints WHERE thread_id = 'fork' ORDER BY 1"
        ).fetchall()
        connection.execute(statement, rows[2])
        connection.commit()
        return str(rows[2][0])


def continued(steps: list[StepView], checkpoint_id: str) -> StepView:
    """The oldest child of a checkpoint."""
    return next(step for step in reversed(steps) if step.parent_id == checkpoint_id)


@pytest.mark.parametrize("name", DATABASES)
@pytest.mark.parametrize("what", LOST)
def test_what_its_writes_show_is_still_shown(what: str, name: str, database: Callable[[str], Path]) -> None:
    """`writes` shows tasks, nodes and values; `log` the step that they made; `show` where they are."""
    statement, error = LOST[what]
    path, before = database(name), {}
    steps = look(path, lambda session: log(session, "fork", everything=True))[0].steps
    for checkpoint_id in (step.checkpoint_id for step in steps):
        before[checkpoint_id] = look(path, lambda session, i=checkpoint_id: writes(session, "fork", i))[0]  # type: ignore[misc]
    checkpoint_id = lose(path, statement)
    view, said = look(path, lambda session: writes(session, "fork", checkpoint_id))
    old = before[checkpoint_id]
    assert [(task.id, task.node, task.by, task.writes) for task in view.tasks] == [
        (task.id, task.node, task.by, task.writes) for task in old.tasks
    ]
    assert (view.step, view.consumed, view.short) == (old.step, True, old.short)
    assert view.problem and "the checkpoint is damaged" in said[0]
    now = continued(look(path, lambda session: log(session, "fork", everything=True))[0].steps, checkpoint_id)
    was = continued(steps, checkpoint_id)
    assert (now.nodes, [c.channel for c in now.changes or ()]) == (was.nodes, [c.channel for c in was.changes or ()])
    assert all(change.before is None or change in (was.changes or ()) for change in now.changes or ())
    with pytest.raises(error, match=r"\d writes are stored on it") as caught:
        look(path, lambda session: show(session, "fork", checkpoint_id))
    assert isinstance(caught.value, CkptError) and f"`ckpt writes fork {checkpoint_id}` shows them" in caught.value.hint


def test_a_checkpoint_that_never_was_is_not_found(database: Callable[[str], Path]) -> None:
    """Without a row and without writes there is no such checkpoint; a lost one is found by its short id too."""
    path = database("legacy/py-1.2.22")
    short = lose(path, LOST["lost"][0]).rpartition("-")[2][:6]
    assert run(["writes", "fork", short, "-d", str(path)]) == 0
    for verb in ("writes", "show"):
        assert run([verb, "fork", "0badbeef", "-d", str(path)]) == 4
