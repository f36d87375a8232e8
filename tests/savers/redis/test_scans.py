"""The number of key scans doesn't grow with the number of threads."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from ckpt_cli.app import run
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis.connection import Connection
from tests.savers import paged
from tests.savers.redis.kinds import Kind


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pattern of each scan from now on."""
    made: list[str] = []
    original = Connection.keys

    def keys(self: Connection, pattern: str) -> Iterator[str]:
        made.append(pattern)
        return original(self, pattern)

    monkeypatch.setattr(Connection, "keys", keys)
    return made


@pytest.mark.parametrize(
    "words", [["7"], ["nowhere"], ["7", "t-001", "t-002", "t-003", "tips"]], ids=["all", "nothing", "four"]
)
def test_a_search_scans_as_often_however_many_threads_there_are(
    words: Sequence[str], kind: Kind, scans: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A search over pages of threads, each in a moment of its own, uses the names that its first scans found."""
    made = []
    for threads in (10, 80):
        url = kind.filled(paged.records(kind.samples, threads, kind.body))
        scans.clear()
        assert run(["grep", *words, "-d", url, "--count"]) == 0, capsys.readouterr().err
        line_count = len(capsys.readouterr().out.splitlines())
        assert line_count == {"7": threads + 1, "nowhere": 0}[words[0]] if len(words) == 1 else line_count == 4
        made.append([*scans])
    assert made[0] == made[1]
    assert len(made[0]) <= 6


def test_pages_of_threads_share_a_scan(kind: Kind, scans: list[str]) -> None:
    """A moment scans the keys once, however many pages of threads it reads."""
    with closing(kind.open_url(kind.filled(paged.records(kind.samples, 60, kind.body)))) as saver:
        ids = [thread.thread_id for thread in saver.threads()]
        alone = [row for thread_id in ids for row in saver.rows(thread_id)]
        scans.clear()
        rows = saver.moment(lambda: [row for page in pages(ids, 10) for row in saver.rows_of(page)])
    assert sorted(rows) == sorted(alone)
    assert len(scans) == (0 if kind.index else 1)
