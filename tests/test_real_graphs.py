"""Real graphs on the real SqliteSaver: all that ckpt says about every checkpoint is what the graph itself says."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.inspection import Inspection
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.cross.backend import Backend, Fresh
from tests.cross.forget import Forget
from tests.cross.listing import Listing
from tests.cross.look import Look, Run, mine, theirs
from tests.cross.memories import Memories
from tests.cross.pruned import Pruned
from tests.cross.since import Since
from tests.cross.steps import Steps
from tests.cross.travel import Travel
from tests.graphs import SCENARIOS


@contextmanager
def official(path: Path) -> Iterator[SqliteSaver]:
    """LangGraph's own saver on a file, without syncing: a test needn't survive a crash of the machine."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("pragma synchronous=off")
        saver = SqliteSaver(connection)
        saver.setup()
        yield saver


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """A new file each time."""
    folder, numbers = tmp_path_factory.mktemp("graphs"), count()

    def make() -> Backend:
        path = folder / f"{next(numbers)}.sqlite"
        with official(path):
            return Backend(str(path), lambda: official(path))

    return make


NAMELESS = {"flow", "flow-waiting", "flow-failed"}
"""Without a path, the entrypoint of the functional API is only known once it has finished."""


class TestListing(Listing):
    """Counting and sorting threads."""


class TestLook(Look):
    """SQLite."""

    def test_tasks_without_paths(self, run: Run, tmp_path: Path) -> None:
        """Without task paths (checkpoint-sqlite < 3.1.2), the same tasks are found by their ids."""
        reader = _without_paths(run, tmp_path / "pathless.sqlite")
        for ref, state in run.states():
            shot = Inspection(reader, ref).snapshot()
            wanted = Counter(map(theirs, state.tasks))
            if ref.thread_id in NAMELESS:
                named = Counter(mine(task) for task in shot.tasks if task.node is not None)
                assert named <= wanted and len(shot.tasks) == len(state.tasks), ref
            else:
                assert Counter(map(mine, shot.tasks)) == wanted, ref
        reader.saver.close()


class TestTravel(Travel):
    """SQLite."""


class TestPruned(Pruned):
    """SQLite."""

    plans = 2


class TestMemories(Memories):
    """Subgraphs with their own memory."""


class TestSince(Since):
    """SQLite."""


class TestSteps(Steps):
    """SQLite."""


def _without_paths(run: Run, path: Path) -> Reader:
    with closing(sqlite3.connect(path)) as copy, closing(sqlite3.connect(run.backend.url)) as original:
        original.backup(copy)
        copy.execute("update writes set task_path = ''")
        copy.commit()
        copy.execute("pragma journal_mode = delete")
    return Reader(open_file(path), Codec())


def test_every_kind_is_there() -> None:
    """The scenarios leave every trace that tasks can leave."""
    assert len(SCENARIOS) == 17


class TestForget(Forget):
    """SQLite."""

    def stored(self, backend: Backend) -> bytes:
        """The bytes of the file after running the commands that the plan names."""
        with closing(sqlite3.connect(backend.url)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path = Path(backend.url)
        return b"".join(one.read_bytes() for one in path.parent.glob(f"{path.name}*"))
