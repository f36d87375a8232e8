"""What goes over the wire: round trips don't grow with the database, and listings carry no values."""

from contextlib import closing
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.conformance.samples import Samples
from ckpt_cli.model import Payload, Plan, Write
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.valkey import open_url
from tests.savers import paged
from tests.savers.redis.trips import counted
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


class PathlessSamples(Samples):
    """The usual records, but for the task's path."""

    def write(self, *place: Any, **given: Any) -> Write:
        """Without a path."""
        return super().write(*place, **{**given, "path": ""})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every round trip, those of scans too."""
    return counted(monkeypatch)


def filled(server: Server, threads: int) -> str:
    """A database of so many threads and tips."""
    url = server.empty()
    with closing(open_url(url)) as saver:
        saver.apply(Plan("", tuple(paged.records(PathlessSamples(), threads))))
    return url


@pytest.mark.parametrize("name", [*paged.COMMANDS, "undo"])
def test_commands_ask_by_the_page(
    name: str, valkey_server: Server, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 50 threads or tips a command asks by pages of 25, and twice as many take at most twice as many pages."""
    costs = []
    for threads in (50, 100):
        url, words = filled(valkey_server, threads), paged.COMMANDS.get(name)
        costs.append(paged.cost_of_undo(url, asked, capsys) if words is None else paged.cost(words, url, asked, capsys))
    assert costs[0] <= 60
    assert costs[1] <= 2 * costs[0]


def test_several_threads_at_once(valkey_server: Server, asked: list[str]) -> None:
    """Skeletons and writes of many threads are what they are thread by thread, in a few round trips for all."""
    with closing(open_url(filled(valkey_server, 50))) as saver:
        ids = [thread.thread_id for thread in saver.threads()]
        rows = [row for thread_id in sorted(ids) for row in saver.rows(thread_id)]
        writes = [write for thread_id in sorted(ids) for write in saver.writes(thread_id)]
        asked.clear()
        found = saver.moment(lambda: list(saver.rows_of(ids)))
        listed = saver.moment(lambda: list(saver.writes_on([row.ref for row in found])))
        assert (found, listed) == (rows, writes)
        assert (len(ids), len(rows), len(writes)) == (51, 151, 100)
        assert len(asked) <= 6
