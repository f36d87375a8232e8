"""What goes over the wire: round trips don't grow with the database, and listings carry no values."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from langgraph.checkpoint.redis import RedisSaver

from ckpt_cli.app import run
from ckpt_cli.model import Payload, Plan, Ref
from ckpt_cli.savers.redis import open_url
from ckpt_cli.savers.redis.connection import Connection
from tests.savers.redis.records import RedisSamples
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
