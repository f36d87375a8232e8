"""What goes over the wire: round trips don't grow with the database, and listings carry no values."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from langgraph.checkpoint.redis import RedisSaver

from ckpt_cli.app import run
from ckpt_cli.model import Payload, Plan, Ref
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis import open_url
from ckpt_cli.savers.redis.connection import Connection
from tests.savers import paged
from tests.savers.redis.records import TAG, RedisSamples
from tests.savers.redis.trips import counted
from tests.servers.redis import Server, load


@pytest.fixture
def url(redis_server: Server) -> str:
    """A database with the saver's index."""
    url = redis_server.empty()
    with RedisSaver.from_conn_string(url) as official:
        official.setup()
    return url


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[tuple[Any, ...]]]]:
    """Each round trip's commands, and what came back in place of the last word."""
    trips: list[list[tuple[Any, ...]]] = []
    original = Connection._sent

    def counted(self: Connection, page: Any, *, failing: bool) -> Any:
        answers = original(self, page, failing=failing)
        trips.append([(*command, answer) for command, answer in zip(page, answers, strict=True)])
        return answers

    monkeypatch.setattr(Connection, "_sent", counted)
    yield trips


def fill(url: str, threads: int, checkpoints: int) -> None:
    make, long = RedisSamples(), Payload("bytes", b"v" * 3000)
    records = [
        record
        for t in range(threads)
        for c in range(checkpoints)
        for record in (
            make.checkpoint(f"t{t}", f"{c:04}", parent_id=f"{c - 1:04}" if c else None, payload=long),
            make.write(f"t{t}", f"{c:04}", payload=long),
        )
    ]
    with closing(open_url(url)) as saver:
        saver.apply(Plan("", tuple(records)))


COMMANDS = {
    "threads": ["threads", "--limit", "5"],
    "log": ["log", "t1"],
    "tree": ["tree", "t1"],
    "show": ["show", "t1"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_round_trips(name: str, url: str, sent: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Four times as many threads of four times as many checkpoints take as many round trips."""
    counts = []
    for threads, checkpoints in ((6, 4), (24, 16)):
        fill(url, threads, checkpoints)
        sent.clear()
        assert run([*COMMANDS[name], "-d", url]) == 0, capsys.readouterr().err
        counts.append(len(sent))
        with RedisSaver.from_conn_string(url) as official:
            official._redis.flushall()
            official.setup()
    assert counts[1] <= counts[0] + 2  # heads and first checkpoints of a page of threads may be two pages
    assert counts[1] < 24


def test_listings_carry_no_values(url: str, sent: list[Any]) -> None:
    """Threads, rows, metadata and the writes' names come without a value of any of them."""
    fill(url, 3, 4)
    with closing(open_url(url)) as saver:
        sent.clear()
        threads = list(saver.threads())
        rows = [row for thread in threads for row in saver.rows(thread.thread_id)]
        assert (len(threads), len(rows)) == (3, 12)
        assert len(list(saver.metadata([row.ref for row in rows]))) == 12
        assert len(saver.newest("t1", "", 2)) == 2
        assert len(list(saver.writes("t1", values=100))) == 4
        assert len(list(saver.writes_on([row.ref for row in rows], values=0))) == 12
    assert all(b"dnZ2dnZ2" not in repr(answer).encode() for trip in sent for *_, answer in trip)


def test_without_an_index_one_scan_finds_all(redis_server: Server, sent: list[Any]) -> None:
    """All heads are told in a fixed number of round trips beside the scan."""
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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every round trip, those of scans too."""
    return counted(monkeypatch)


BODY = Payload(TAG, b'{"v":4,"channel_values":{"a":7},"channel_versions":{"a":"1"},"versions_seen":{}}')


def filled(server: Server, threads: int, *, indexed: bool) -> str:
    """A database of so many threads and tips, with the saver's index or without."""
    url = server.empty()
    with RedisSaver.from_conn_string(url) as official:
        official.setup()
    with closing(open_url(url)) as saver:
        saver.apply(Plan("", tuple(paged.records(RedisSamples(), threads, BODY))))
    if not indexed:
        with server.client() as client:
            client.execute_command("FT.DROPINDEX", "checkpoint_write")
    return url


@pytest.mark.parametrize("indexed", [True, False], ids=["index", "scan"])
@pytest.mark.parametrize("name", [*paged.COMMANDS, "undo"])
def test_commands_ask_by_the_page(
    name: str, indexed: bool, redis_server: Server, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 50 threads or tips a command asks by pages of 25, and twice as many take at most twice as many pages."""
    costs = []
    for threads in (50, 100):
        url = filled(redis_server, threads, indexed=indexed)
        words = paged.COMMANDS.get(name)
        costs.append(paged.cost_of_undo(url, asked, capsys) if words is None else paged.cost(words, url, asked, capsys))
    assert costs[0] <= 60
    assert costs[1] <= 2 * costs[0]


@pytest.mark.parametrize("indexed", [True, False], ids=["index", "scan"])
def test_several_threads_at_once(indexed: bool, redis_server: Server, asked: list[str]) -> None:
    """Skeletons and writes of many threads are what they are thread by thread, in a few round trips for all."""
    with closing(open_url(filled(redis_server, 50, indexed=indexed))) as saver:
        ids = [thread.thread_id for thread in saver.threads()]
        rows = [row for thread_id in sorted(ids) for row in saver.rows(thread_id)]
        writes = [write for thread_id in sorted(ids) for write in saver.writes(thread_id)]
        asked.clear()
        found = saver.moment(lambda: list(saver.rows_of(ids)))
        listed = saver.moment(lambda: list(saver.writes_on([row.ref for row in found])))
        assert (found, listed) == (rows, writes)
        assert (len(ids), len(rows), len(writes)) == (51, 151, 100)
        assert len(asked) <= 6


def test_pages_of_threads_share_a_scan(redis_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the index a moment scans the keys once, however many pages of threads are asked for."""
    url = filled(redis_server, 60, indexed=False)
    scans: list[str] = []
    original = Connection.keys

    def keys(self: Connection, pattern: str) -> Iterator[str]:
        scans.append(pattern)
        return original(self, pattern)

    with closing(open_url(url)) as saver:
        ids = [thread.thread_id for thread in saver.threads()]
        alone = [row for thread_id in ids for row in saver.rows(thread_id)]
        monkeypatch.setattr(Connection, "keys", keys)
        found = saver.moment(lambda: [row for page in pages(ids, 10) for row in saver.rows_of(page)])
    assert sorted(found) == sorted(alone)
    assert scans == ["checkpoint:*"]
