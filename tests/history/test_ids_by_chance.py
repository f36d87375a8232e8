"""Task ids are hashes: one of 43,000 begins like the ids that ``durability="exit"`` makes of the numbers of steps."""

import sqlite3
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.history.lineage.ids import SEQUENCES
from ckpt_cli.history.tasks.task_ids import Place
from tests.cross.explained import explained
from tests.graphs import SCENARIOS

_FIRST_OF = "SELECT min(checkpoint_id) FROM checkpoints WHERE thread_id = ?"
_RENAMES = (
    "UPDATE checkpoints SET checkpoint_id = :new WHERE checkpoint_id = :old",
    "UPDATE checkpoints SET parent_checkpoint_id = :new WHERE parent_checkpoint_id = :old",
    "UPDATE writes SET task_id = :task WHERE checkpoint_id = :old",
    "UPDATE writes SET checkpoint_id = :new WHERE checkpoint_id = :old",
)


def _numbered(checkpoint_id: str) -> tuple[str, str]:
    """A checkpoint id of the same time and step, and the id of its ``__start__``, which begins like a step's number.

    The step isn't one of the next thousand: without paths, such an id looks like a run's.
    """
    for node in count():
        changed = str(UUID(int=UUID(checkpoint_id).int >> 48 << 48 | node))
        task_id = next(Place(changed, "", 0, 4).pull("__start__", ["__start__"]))
        if task_id.startswith("000") and task_id[:8].isdecimal() and int(task_id[:8]) % SEQUENCES > 1_000:
            return changed, task_id
    raise AssertionError


@pytest.mark.parametrize("has_paths", [True, False], ids=["paths", "no-paths"])
def test_a_task_whose_id_begins_like_a_number_is_a_task(has_paths: bool, tmp_path: Path) -> None:
    """`graph` and `trace` say the same of an input before and after its ids are such ones."""
    path = tmp_path / "a.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        list(SCENARIOS["deltas"](saver))
    with sqlite3.connect(path) as connection:
        if not has_paths:
            connection.execute("UPDATE writes SET task_path = ''")
        (old,) = connection.execute(_FIRST_OF, ("delta",)).fetchone()
        connection.commit()
        before = explained(str(path), ["delta"])
        new, task_id = _numbered(old)
        for statement in _RENAMES:
            connection.execute(statement, {"new": new, "old": old, "task": task_id})
    assert explained(str(path), ["delta"]) == before
