"""Two equal copies of a database, one for ckpt and one for the library, and what both must have in common after."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ckpt_cli.app import run
from ckpt_cli.model import Plan
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.graphs import SCENARIOS

RELEASES = ("installed", "0.6.11")
KINDS = [
    (release, name)
    for release in RELEASES
    for name in sorted(SCENARIOS)
    if release == "installed" or not SCENARIOS[name].__module__.endswith(".recent")
]
"""Every release with the kinds of graphs that it can run."""


class Release(Protocol):
    """A `Library`, here or in another process."""

    def call(self, method: str, args: list[Any]) -> Any:
        """Ask one question by name."""


@dataclass
class Twin:
    """A copy of a scenario's database, with one thread of it."""

    library: Release
    path: Path
    name: str
    thread_id: str

    def ask(self, method: str, *args: Any) -> Any:
        """Ask the library about this thread."""
        return self.library.call(method, [str(self.path), self.name, self.thread_id, *args])

    def shape(self) -> tuple[list[str], list[str]]:
        """The nodes and the channels of the graph."""
        nodes, channels = self.library.call("shape", [self.name, self.thread_id])
        return nodes, channels

    def targets(self, most: int) -> list[dict[str, Any]]:
        """The config of the head by the thread alone, then of checkpoints by their ids."""
        configs: list[dict[str, Any]] = self.ask("targets", most)
        return configs

    def ckpt(self, verb: str, *words: str) -> None:
        """One command on this thread, which must succeed."""
        code = run([verb, self.thread_id, *words, "-d", str(self.path), "--yes"])
        assert code == 0, (code, verb, self.thread_id, words)

    def apply(self, make: Callable[[Reader], Plan]) -> Plan:
        """What ckpt would do, done."""
        with closing(open_file(self.path)) as saver:
            reader = Reader(saver, Codec())
            plan = reader.moment(lambda: make(reader))
            saver.apply(plan)
        return plan


class Copies:
    """Makes twins in a folder."""

    def __init__(self, library: Release, folder: Path) -> None:
        self._library = library
        self._folder = folder
        self._count = 0

    def threads(self, name: str) -> list[str]:
        """The threads of a scenario."""
        threads: list[str] = self._library.call("made", [name])[1]
        return threads

    def pair(self, name: str, thread_id: str) -> tuple[Twin, Twin]:
        """Two equal copies of a scenario's database."""
        return self._copy(name, thread_id), self._copy(name, thread_id)

    def _copy(self, name: str, thread_id: str) -> Twin:
        self._count += 1
        path = self._folder / f"{self._count}.sqlite"
        shutil.copy(self._library.call("made", [name])[0], path)
        return Twin(self._library, path, name, thread_id)


def compare(mine: Twin, theirs: Twin, *, counters: bool = True) -> None:
    """The two are equal in everything that a graph shows, and run to the same end.

    Without `counters` those of delta channels may differ: ckpt stores no snapshot of a value that nothing proves.
    """
    before = [twin.ask("read_all") for twin in (mine, theirs)]
    for history in () if counters else (answer[0] for answer in before):
        _leave_counters(history)
    must_be_equal(*before)
    ends = [twin.ask("carried_on") for twin in (mine, theirs)]
    must_be_equal(*ends)
    histories = [twin.ask("read_all")[0] for twin in (mine, theirs)]  # siblings' rows come in an order of chance
    for history in () if counters else histories:
        _leave_counters(history)
    if isinstance(ends[0], list):  # it failed, and which siblings finish before that is chance too
        for head, *_ in histories:
            del head["tasks"], head["next"]
    must_be_equal(*histories)


def _leave_counters(history: list[dict[str, Any]]) -> None:
    for state in history:
        state["metadata"].pop("counters_since_delta_snapshot", None)


def must_be_equal(mine: Any, theirs: Any) -> None:
    """Check that two answers are equal; the error says where they differ."""
    found = [f"{path or '.'}: {left!r} is not {right!r}" for path, left, right in parted(mine, theirs)]
    assert not found, "\n".join(found)


def parted(mine: Any, theirs: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The places where two answers differ."""
    if isinstance(mine, dict) and isinstance(theirs, dict) and mine.keys() == theirs.keys():
        for key in mine:
            yield from parted(mine[key], theirs[key], f"{path}.{key}")
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for place, (left, right) in enumerate(zip(mine, theirs, strict=True)):
            yield from parted(left, right, f"{path}[{place}]")
    elif isinstance(mine, list) and isinstance(theirs, list):
        yield path, [one for one in mine if one not in theirs], [one for one in theirs if one not in mine]
    elif mine != theirs:
        yield path, mine, theirs
