"""What goes over the wire: round trips don't grow with the database, and listings carry no values."""

from contextlib import closing
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.model import Payload, Plan
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.valkey import open_url
from tests.servers.redis import Server

LONG = Payload("bytes", b"v" * 3000)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """What came back in each round trip."""
    trips: list[list[Any]] = []
    original = Connection._sent

    def counted(self: Connection, page: Any, *, failing: bool) -> Any:
        answers = original(self, page, failing=failing)
        trips.append(answers)
        return answers

    monkeypatch.setattr(Connection, "_sent", counted)
    return trips


def fill(url: str, threads: int, checkpoints: int) -> None:
    with closing(open_url(url)) as saver:
        for t in range(threads):
            saver.apply(
                Plan(
                    "",
                    tuple(
                        record
                        for c in range(checkpoints)
                        for record in (
                            checkpoint(f"t{t}", f"{c:04}", parent_id=f"{c - 1:04}" if c else None, body=LONG),
                            write(f"t{t}", f"{c:04}", payload=LONG),
                        )
                    ),
                )
            )


COMMANDS = (["threads", "--limit", "5"], ["log", "t1"], ["tree", "t1"], ["show", "t1"])


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_round_trips(
    words: list[str], valkey_server: Server, sent: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Four times as many threads of four times as many checkpoints take as many round trips."""
    counts = []
    for threads, checkpoints in ((6, 4), (24, 16)):
        url = valkey_server.empty()
        fill(url, threads, checkpoints)
        sent.clear()
        assert run([*words, "-d", url]) in (0, 5), capsys.readouterr().err
        counts.append(len(sent))
    assert counts[1] <= counts[0] + 2  # heads and first checkpoints of a page of threads may be two pages
    assert counts[1] < 40


def test_listings_carry_no_values(valkey_server: Server, sent: list[Any]) -> None:
    """Threads, rows, metadata and the writes' names come without a value of any of them."""
    url = valkey_server.empty()
    fill(url, 3, 4)
    with closing(open_url(url)) as saver:
        sent.clear()
        rows = [row for thread in saver.threads() for row in saver.rows(thread.thread_id)]
        assert len(rows) == 12
        assert len(list(saver.writes("t1", values=100))) == 4
        assert [w.size for w in saver.writes_on([row.ref for row in rows], values=0)] == [3000] * 12
        assert b"dnZ2dnZ2" * 100 not in repr(sent).encode()
        assert len(list(saver.metadata([row.ref for row in rows]))) == 12
        assert b"dnZ2dnZ2" * 400 not in repr(sent).encode()
