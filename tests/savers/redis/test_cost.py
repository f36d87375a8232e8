"""Network traffic: round trips don't grow with the database, and listings carry no values."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.model import Checkpoint, Payload, Ref, Write
from ckpt_cli.savers.redis import open_url
from ckpt_cli.savers.redis.connection import Connection
from tests.savers import paged
from tests.savers.redis.kinds import Kind
from tests.savers.redis.trips import counted
from tests.servers.redis import Server, load

LONG = Payload("bytes", b"v" * 3000)
STORED = b"dnZ2dnZ2"  # LONG has 500 of these in base64


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The answers of each round trip, except those of scans."""
    trips: list[list[Any]] = []
    original = Connection._send

    def counted(self: Connection, page: Any, *, failing: bool) -> Any:
        trips.append(original(self, page, failing=failing))
        return trips[-1]

    monkeypatch.setattr(Connection, "_send", counted)
    return trips


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every round trip, including those of scans."""
    return counted(monkeypatch)


def long(kind: Kind, threads: int, checkpoints: int) -> Iterator[Checkpoint | Write]:
    """`threads` threads of `checkpoints` checkpoints, each with a write."""
    for thread_id in (f"t{t}" for t in range(threads)):
        for c in range(checkpoints):
            parent_id = f"{c - 1:04}" if c else None
            yield kind.samples.checkpoint(thread_id, f"{c:04}", parent_id=parent_id, payload=LONG)
            yield kind.samples.write(thread_id, f"{c:04}", payload=LONG)


@pytest.mark.parametrize("words", ["threads --limit 5", "log t1", "tree t1", "show t1"])
def test_round_trips(words: str, kind: Kind, sent: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Four times as many threads of four times as many checkpoints take as many round trips."""
    counts = []
    for threads, checkpoints in ((6, 4), (24, 16)):
        url = kind.filled(long(kind, threads, checkpoints))
        sent.clear()
        assert run([*words.split(), "-d", url]) in (0, 5), capsys.readouterr().err
        counts.append(len(sent))
    assert counts[1] <= counts[0] + 2  # heads and first checkpoints of a page of threads may be two pages
    assert counts[1] < 30


def test_listings_carry_no_values(kind: Kind, sent: list[Any]) -> None:
    """Threads, rows, metadata and the names of writes are read without any value."""
    with closing(kind.open_url(kind.filled(long(kind, 3, 4)))) as saver:
        sent.clear()
        rows = [row for thread in saver.threads() for row in saver.rows(thread.thread_id)]
        assert len(rows) == 12
        assert len(saver.newest("t1", "", 2)) == 2
        assert len(list(saver.writes("t1", values=100))) == 4
        assert [w.size for w in saver.writes_on([row.ref for row in rows], values=0)] == [3000] * 12
        assert STORED * 100 not in repr(sent).encode()
        assert len(list(saver.metadata([row.ref for row in rows]))) == 12
        assert STORED * 400 not in repr(sent).encode()  # Valkey's end in metadata, and their ends are read


def test_a_thread_called_one_costs_no_more(kind: Kind, sent: list[Any]) -> None:
    """The index gives the text 1 like the boolean true; a thread of that name takes as many answers as any other."""
    counts = []
    for name in ("1", "x"):
        records = [
            one
            for c in range(9)
            for one in (kind.samples.checkpoint(name, f"{c:04}"), kind.samples.write(name, f"{c:04}"))
        ]
        with closing(kind.open_url(kind.filled(records))) as saver:
            sent.clear()
            assert [thread.thread_id for thread in saver.threads()] == [name]
            assert len(list(saver.rows(name))) == len(list(saver.writes(name))) == saver.count(name) == 9
            counts.append(sum(len(answers) for answers in sent))
    assert counts[0] <= counts[1] + 1  # one question for booleans, where all threads are listed


def test_without_an_index_one_scan_finds_all(redis_server: Server, sent: list[Any]) -> None:
    """All heads are read in a fixed number of round trips beside the scan."""
    url = redis_server.empty()
    with redis_server.client() as client:
        load(client, "redis")
    with closing(open_url(url)) as saver:
        sent.clear()
        assert len(list(saver.threads())) == 298
        assert len(sent) <= 6
        refs = [Ref("chat-linear", "", row.checkpoint_id) for row in saver.rows("chat-linear")]
        sent.clear()
        assert len(list(saver.checkpoints(refs))) == len(refs) == 44
        assert len(sent) <= 6


@pytest.mark.parametrize("name", [*paged.COMMANDS, "undo"])
def test_commands_ask_by_the_page(name: str, kind: Kind, trips: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Commands read 50 threads or tips in pages of 25, and twice as many in at most twice as many pages."""
    costs = []
    for threads in (50, 100):
        url, words = kind.filled(paged.records(kind.samples, threads, kind.body)), paged.COMMANDS.get(name)
        costs.append(paged.cost_of_undo(url, trips, capsys) if words is None else paged.cost(words, url, trips, capsys))
    assert costs[0] <= 60
    assert costs[1] <= 2 * costs[0]


def test_several_threads_at_once(kind: Kind, trips: list[str]) -> None:
    """Skeletons and writes of many threads, read in a few round trips, equal those read thread by thread."""
    with closing(kind.open_url(kind.filled(paged.records(kind.samples, 50, kind.body)))) as saver:
        ids = [thread.thread_id for thread in saver.threads()]
        rows = [row for thread_id in sorted(ids) for row in saver.rows(thread_id)]
        writes = [write for thread_id in sorted(ids) for write in saver.writes(thread_id)]
        trips.clear()
        together = saver.moment(lambda: list(saver.rows_of(ids)))
        listed = saver.moment(lambda: list(saver.writes_on([row.ref for row in together])))
        assert (together, listed) == (rows, writes)
        assert (len(ids), len(rows), len(writes)) == (51, 151, 100)
        assert len(trips) <= 6
