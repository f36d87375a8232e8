"""Threads are read a page at a time, and look as if each was read by itself."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.queries.input_title import title_of_input, titles_of_inputs
from ckpt_cli.queries.quick_threads import QuickThreads, read_statuses
from ckpt_cli.queries.thread_status import ThreadStatus
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite.saver import open_file
from ckpt_cli.serde.codec import Codec
from tests.databases import DATABASES, KEYS

SERVERS = [
    *(("postgres", name) for name in ("pg", "pg-shallow", "legacy/pg-shallow-0.2.76", "legacy/js-pg-0.2.41")),
    *(("mysql", name) for name in ("mysql", "mysql-shallow")),
]


def _check(reader: Reader) -> tuple[int, int]:
    """Compare both ways for all threads; the numbers of threads and of titles of inputs that were read quickly."""

    def compare() -> tuple[int, int]:
        threads = list(reader.saver.threads())
        slowly = [ThreadStatus(reader, thread).view() for thread in threads]
        assert [one.view() for one in read_statuses(reader, threads)] == slowly
        quickly = QuickThreads(reader).views(threads)
        assert [quickly[one.thread_id] for one in slowly if one.thread_id in quickly] == [
            one for one in slowly if one.thread_id in quickly
        ]
        rows = reader.saver.rows_of([thread.thread_id for thread in threads])
        found = titles_of_inputs(reader, {row.ref: row for row in rows})
        assert found == {ref: title_of_input(reader, ref) for ref in found}
        return len(quickly), len(found)

    return reader.moment(compare)


@pytest.mark.parametrize("name", DATABASES)
def test_the_same_views(name: str, database: Callable[[str], Path]) -> None:
    """In files of every generation."""
    with closing(open_file(database(name))) as saver:
        _check(Reader(saver, Codec(KEYS.get(name))))


@pytest.mark.parametrize(("kind", "name"), SERVERS)
def test_the_same_views_on_servers(request: pytest.FixtureRequest, kind: str, name: str) -> None:
    """Where channels have payloads of their own."""
    from ckpt_cli.savers.url import open_database

    server = request.getfixturevalue(kind)
    with closing(open_database(server.url(server.loaded(name)), print)) as saver:
        _check(Reader(saver, Codec(None)))


def test_most_are_read_quickly(database: Callable[[str], Path]) -> None:
    """Nearly all of the newest generation, so that the comparison is no empty one; of every status but unknown."""
    with closing(open_file(database("real"))) as saver:
        reader = Reader(saver, Codec(None))
        views, titles = _check(reader)
        assert (views > 280, titles > 280) == (True, True), (views, titles)
        quickly = reader.moment(lambda: QuickThreads(reader).views(list(saver.threads())))
        assert {one.status for one in quickly.values()} >= {"done", "waiting", "failed", "unfinished"}
