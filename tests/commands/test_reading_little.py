"""Listings and drawings read the checkpoints of heads, tips and edits, and leave all others where they are."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from ckpt_cli.commands import log, threads, tree
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.state import State


class Watched(Reader):
    """A reader that records which checkpoints were read whole."""

    def __init__(self, path: Path) -> None:
        super().__init__(open_database(str(path), print), Codec(None))
        self.read: list[str] = []

    def states(self, refs: Iterable[Ref]) -> Iterator[State]:
        """As the reader does."""
        asked = list(refs)
        self.read += [ref.checkpoint_id[24:30] for ref in asked]
        return super().states(asked)


@pytest.fixture
def watched(database: Callable[[str], Path]) -> Iterator[Watched]:
    """A reader of the database ``real``."""
    reader = Watched(database("real"))
    yield reader
    reader.saver.close()


def test_a_tree_reads_the_head_of_a_straight_thread(watched: Watched) -> None:
    """A thousand checkpoints, folded or drawn: one is read."""
    watched.moment(lambda: tree.run(watched, "long-1000"))
    watched.moment(lambda: tree.run(watched, "long-1000", full=True))
    assert watched.read == ["0376ef", "0376ef"]


def test_a_log_reads_the_head(watched: Watched) -> None:
    """All of a thread, or its last lines."""
    watched.moment(lambda: log.run(watched, "long-1000", log.LogRequest()))
    watched.moment(lambda: log.run(watched, "long-1000", log.LogRequest(limit=3)))
    assert watched.read == ["0376ef", "0376ef"]


def test_branches_are_read_at_their_tips_and_edits_are_compared(watched: Watched) -> None:
    """Six tips, one edit that no write explains, and the parents that these two are compared with."""
    watched.moment(lambda: tree.run(watched, "forks"))
    tips = {"17bac9", "f667e9", "1e7c30", "2a9299", "886312", "c65df1"}
    assert set(watched.read) == tips | {"175f4e"} | {"f352f7", "9d66f1"}


def test_threads_are_read_at_their_heads(watched: Watched) -> None:
    """One checkpoint per thread is read, if its messages or writes give the title."""
    view = watched.moment(lambda: threads.run(watched, threads.ThreadsRequest(match="small-", limit=40)))
    assert watched.read == [one.head[24:30] for one in view.threads]
