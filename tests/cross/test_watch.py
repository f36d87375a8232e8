"""`ckpt watch` with a real agent in another process: every checkpoint once, also across a restart of the server."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from uuid6 import uuid6

from ckpt_cli.commands.watch import watch
from ckpt_cli.session import Session
from ckpt_cli.views.watch import EventView
from tests.cross.live_agent import NODES, official, run
from tests.servers import redis
from tests.servers.restartable import (
    Restartable,
    restartable_mysql,
    restartable_postgres,
    restartable_redis,
    restartable_sqlite,
)

ROOT = Path(__file__).parent.parent.parent
AGENTS = 12
"""How many threads the agent runs, one after the other."""
_PATIENCE = 240.0  # seconds
_TICKS = 10_000_000  # of a uuid6 in a second
DATABASES = {
    "sqlite": restartable_sqlite,
    "postgres": restartable_postgres,
    "mysql": restartable_mysql,
    "redis": restartable_redis,
}


@pytest.fixture(params=DATABASES.values(), ids=DATABASES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Restartable]:
    """A database with one thread."""
    for server in request.param(request.config, tmp_path):
        run(server.url, "before")
        yield server


class Clock:
    """The time of a watch, which a test can let pass."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@contextmanager
def watching(url: str, clock: Callable[[], float] = time.time) -> Iterator[Iterator[EventView]]:
    """The events of a watch; it fails if nothing is seen for long."""
    until = time.monotonic() + _PATIENCE

    def still_patient(line: str) -> None:
        assert not line or time.monotonic() < until

    session = Session(url, clock=clock, show_status=still_patient)
    try:
        yield watch(session, every=0.05).events
    finally:
        session.close()


def until_done(events: Iterator[EventView], thread_id: str) -> list[EventView]:
    """The events up to the one with which a thread is done."""
    shown = [next(events)]
    while (shown[-1].thread_id, *shown[-1].statuses) != (thread_id, "done"):
        shown.append(next(events))
    return shown


def name(event: EventView) -> tuple[str, str, str]:
    """The checkpoint of an event."""
    assert event.checkpoint is not None
    return event.thread_id or "", event.checkpoint.ns, event.checkpoint.checkpoint_id


def stored(url: str) -> dict[tuple[str, str, str], Any]:
    """Every checkpoint, as LangGraph's own saver lists them."""
    with official(url) as saver:
        configs = [one.config["configurable"] for one in saver.list(None)]
    return {(c["thread_id"], c.get("checkpoint_ns", ""), c["checkpoint_id"]): c for c in configs}


def test_every_checkpoint_once(database: Restartable) -> None:
    """Each checkpoint of a running agent is shown once, those of a thread in their order, across a restart."""
    before = set(stored(database.url))
    words = [sys.executable, "-m", "tests.cross.live_agent", database.url, str(AGENTS)]
    with watching(database.url) as events, subprocess.Popen(words, cwd=ROOT) as agent:
        shown = [next(events) for _ in range(2 * len(NODES))]
        database.restart()
        shown += until_done(events, f"agent-{AGENTS - 1}")
        assert agent.wait(_PATIENCE) == 0
        wanted = set(stored(database.url)) - before
        while len({name(event) for event in shown if event.event == "checkpoint"}) < len(wanted):
            shown.append(next(events))  # what appeared late
        run(database.url, "after")
        shown += until_done(events, "after")
    names = [name(event) for event in shown if event.event == "checkpoint"]
    assert sorted(names) == sorted(set(stored(database.url)) - before)
    for thread_id, some in groupby(sorted(names, key=lambda one: one[0]), key=lambda one: one[0]):
        assert (ordered := [one[2] for one in some]) == sorted(ordered), thread_id


def late(seconds: float) -> str:
    """The id that a clock gives which is slow by so many seconds."""
    made = uuid6()
    ticks = made.time - int(seconds * _TICKS)
    return str(UUID(fields=(ticks >> 28, ticks >> 12 & 0xFFFF, ticks & 0xFFF | 0x6000, 0x80, 0, made.node)))


def test_late_lower_ids(database: Restartable) -> None:
    """Checkpoints from writers with slow clocks are shown, in new threads and below the head of one that goes on."""
    clock = Clock()
    with watching(database.url, clock) as events:
        run(database.url, "first")
        until_done(events, "first")
        slow = {(thread_id, "", late(seconds)) for thread_id in ("first", "slow") for seconds in (5, 600, 3000)}
        with official(database.url) as saver:
            for thread_id, ns, checkpoint_id in slow:
                config = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}
                saver.put(config, {**empty_checkpoint(), "id": checkpoint_id}, {"source": "loop", "step": 1}, {})
        clock.ahead += 600  # in which a look for all that is late is due
        names: list[tuple[str, str, str]] = []
        while len(names) < len(slow):
            event = next(events)
            names += [name(event)] if event.event == "checkpoint" else []
    assert set(names) == slow


def test_keyspace_events_end_the_wait(tmp_path: Path) -> None:
    """Where Redis sends messages about keys, a wait of an hour ends when a checkpoint is stored."""
    until = time.monotonic() + _PATIENCE
    with redis.started(tmp_path, "--notify-keyspace-events", "KEA") as server:
        with official(server.url) as saver:
            saver.setup()
        run(server.url, "before")
        session = Session(server.url)
        waiting = threading.Thread(target=session.reader.saver.await_change, args=(3600,), daemon=True)
        waiting.start()
        while waiting.is_alive() and time.monotonic() < until:
            run(server.url, "again")
            waiting.join(0.05)
        assert not waiting.is_alive()
        session.close()
