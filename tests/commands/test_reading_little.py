"""Listings and drawings read the checkpoints around the lines that they show, and leave all others where they are."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckpt_cli.commands import threads, tree
from ckpt_cli.model import Checkpoint
from ckpt_cli.queries import checkpoint_list
from ckpt_cli.reading import Reader
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.state import State


class Watched(Reader):
    """A reader that records which checkpoints were read whole."""

    def __init__(self, path: Path) -> None:
        super().__init__(open_database(str(path), print), Codec(None))
        self.read: list[str] = []

    def decode(self, checkpoint: Checkpoint) -> State:
        """As the reader does."""
        self.read.append(checkpoint.row.checkpoint_id[24:30])
        return super().decode(checkpoint)


@pytest.fixture
def watched(database: Callable[[str], Path]) -> Iterator[Watched]:
    """A reader of the database ``real``."""
    reader = Watched(database("real"))
    yield reader
    reader.saver.close()


def test_a_tree_reads_the_states_around_its_lines(watched: Watched) -> None:
    """A folded thread of a thousand checkpoints: the drawn ones and their parents, each once."""
    view = watched.moment(lambda: tree.run(watched, "long-1000"))
    drawn = [row.step for row in view.rows if row.step is not None]
    around = {i[24:30] for step in drawn for i in (step.checkpoint_id, step.parent_id) if i is not None}
    assert set(watched.read) <= around
    assert len(watched.read) == len(set(watched.read)) < 20


def test_a_log_reads_the_states_around_its_lines(watched: Watched) -> None:
    """Three lines need four states; a state between two portions of a long log is read for both."""
    view = watched.moment(lambda: checkpoint_list.run(watched, "long-1000", checkpoint_list.LogRequest(limit=3)))
    ids = [step.checkpoint_id for step in view.steps] + [view.steps[-1].parent_id or ""]
    assert sorted(watched.read) == sorted(i[24:30] for i in ids)
    watched.read.clear()
    view = watched.moment(lambda: checkpoint_list.run(watched, "long-1000", checkpoint_list.LogRequest(limit=0)))
    assert len(set(watched.read)) <= len(view.steps) == 1000
    assert len(watched.read) <= 1000 * 51 / 50


def test_the_tips_of_branches_are_read(watched: Watched) -> None:
    """Each tip is read for its tasks, and what is drawn is read with its parents."""
    watched.moment(lambda: tree.run(watched, "forks"))
    tips = {"17bac9", "f667e9", "1e7c30", "2a9299", "886312", "c65df1"}
    assert set(watched.read) > tips | {"175f4e"} | {"f352f7", "9d66f1"}


def test_threads_are_read_at_their_heads(watched: Watched) -> None:
    """One checkpoint per thread is read, if its messages or writes give the title."""
    view = watched.moment(lambda: threads.run(watched, threads.ThreadsRequest(match="small-", limit=40)))
    assert watched.read == [one.head[24:30] for one in view.threads]
