"""`ckpt watch` on Postgres where deletions left room: new rows go into old blocks, and are still found at once."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from ckpt_cli.parameters.selector import SelectorOptions, parse_selector
from ckpt_cli.queries.watching import Look, Watch
from ckpt_cli.session import Session
from tests.cross.live_agent import NODES, official
from tests.graphs.building import line, on
from tests.savers.postgres.large import fill
from tests.servers.postgres import PostgresServer

SIZES = {"read whole": 500, "read at its end": 5000}


@pytest.fixture(params=SIZES.values(), ids=SIZES)
def holes(postgres: PostgresServer, request: pytest.FixtureRequest) -> Iterator[tuple[PostgresServer, str]]:
    """A server, and a database whose older half was deleted and vacuumed."""
    name = postgres.fresh()
    fill(postgres.url(name), request.param, 20)
    postgres.run(
        f"DELETE FROM checkpoints WHERE thread_id < 'thread-{request.param // 2:06}'", "VACUUM checkpoints", on=name
    )
    yield postgres, name


def say(url: str, thread_id: str) -> None:
    """One more run of a thread, in LangGraph's own saver."""
    with official(url) as saver:
        line(saver, *NODES).invoke({"log": []}, on(thread_id), durability="sync")


class Ticking:
    """A clock by which each look takes ten seconds, so that those at all threads are rare."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        self.now += 10
        return self.now


def shown(look: Look, thread_id: str) -> list[str]:
    """The checkpoints of a thread, as they are shown."""
    return [event.step.checkpoint_id for event in look.events if event.is_new and event.thread_id == thread_id]


def test_rows_in_the_room_of_deleted_ones_are_found_at_once(holes: tuple[PostgresServer, str]) -> None:
    """The next look has all checkpoints of a followed thread, in the order of their ids; in a small table of any."""
    server, name = holes
    url, clock = server.url(name), Ticking()
    say(url, "followed")
    with closing(Session(url, clock=clock)) as session:
        watch = Watch(parse_selector(session, SelectorOptions(), None))
        watch.take(session.read(watch.look))
        before = {*_ids(server, name, "followed")}
        for number in range(2):
            say(url, "followed")
            say(url, f"new-{number}")
        blocks = server.run("SELECT pg_relation_size('checkpoints') / 8192", on=name)[0][0]
        assert max(_blocks(server, name)) < blocks - 32, "the new rows are at the end of the table"
        look = session.read(watch.look)
        watch.take(look)
        assert not look.is_whole
        assert shown(look, "followed") == [one for one in _ids(server, name, "followed") if one not in before]
        if blocks > 4096:
            clock.now += 1000
            look = session.read(watch.look)
            assert look.is_whole
        for number in range(2):
            assert shown(look, f"new-{number}") == _ids(server, name, f"new-{number}") != []


def _ids(server: PostgresServer, name: str, thread_id: str) -> list[str]:
    rows = server.run(f"SELECT checkpoint_id FROM checkpoints WHERE thread_id = '{thread_id}' ORDER BY 1", on=name)
    return [one for (one,) in rows]


def _blocks(server: PostgresServer, name: str) -> list[int]:
    rows = server.run("SELECT ctid::text FROM checkpoints WHERE thread_id !~ '^thread-'", on=name)
    return [int(ctid[1:].partition(",")[0]) for (ctid,) in rows]
