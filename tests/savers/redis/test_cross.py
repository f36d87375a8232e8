"""LangGraph's Redis saver and ckpt on the same server."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, get_checkpoint_metadata
from langgraph.checkpoint.redis import RedisSaver
from langgraph.types import PregelTask

from ckpt_cli.history.state.channels import ERROR
from ckpt_cli.history.tasks.snapshot import Task
from ckpt_cli.inspection import Inspection
from tests.cross.backend import Backend, Fresh
from tests.cross.broken_fleet import BrokenFleet
from tests.cross.busy_fleet import BusyFleet
from tests.cross.fleet import ManyThreads
from tests.cross.forget import Forget
from tests.cross.identity import Identity
from tests.cross.listing import Listing
from tests.cross.look import Look, Run, mine, theirs
from tests.cross.memories import SomeMemories
from tests.cross.since import Since
from tests.cross.steps import Steps
from tests.cross.tool_calls import ToolCalls
from tests.cross.travel import Travel
from tests.servers.redis import Server


class Ordered(RedisSaver):
    """The official saver with some of its faults kept away.

    Writes wait for their checkpoint, as with ``durability="sync"``: a checkpoint that comes late says again that it has
    none, and the saver doesn't see them any more. What is listed is asked one by one: ``list`` gives every namespace
    where the root's is wanted, and values as they are stored. Of an error the class is enough: what else is kept of it
    names the task.
    """

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        named = config["configurable"]
        place = (named["thread_id"], named.get("checkpoint_ns", ""), named["checkpoint_id"])
        key = self._make_redis_checkpoint_key(*place)
        for _ in range(200):
            if self._redis.exists(key):
                break
            time.sleep(0.001)
        super().put_writes(config, writes, task_id, task_path)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        writes = [(task, c, str(v["id"]) if c == ERROR and isinstance(v, dict) else v) for task, c, v in _writes(found)]
        return found and found._replace(pending_writes=writes)

    def list(self, config: Any, **options: Any) -> Iterator[CheckpointTuple]:
        ns = config["configurable"].get("checkpoint_ns", "")
        for found in super().list(config, **options):
            if found.config["configurable"]["checkpoint_ns"] == ns and (one := self.get_tuple(found.config)):
                yield one


def _writes(found: CheckpointTuple | None) -> list[Any]:
    return [] if found is None else found.pending_writes or []


@pytest.fixture(scope="module")
def fresh(redis_server: Server) -> Fresh:
    """The server's only database that can have an index, emptied each time."""

    def give() -> Backend:
        url = redis_server.empty()

        @contextmanager
        def official() -> Iterator[BaseCheckpointSaver[Any]]:
            with Ordered.from_conn_string(url) as saver:
                saver.setup()
                yield saver

        with official():
            return Backend(url, official)

    return give


class TestListing(Listing):
    """Counting and sorting threads."""


class TestLook(Look):
    """Commands that read."""

    def test_values(self, run: Run) -> None:
        """As elsewhere, except that the saver folds parallel tasks' writes to a delta channel in the order of ids."""
        threads = [
            (thread_id, graph) for thread_id, graph in run.threads if thread_id not in ("delta-wide", "delta-exit")
        ]
        super().test_values(replace(run, threads=threads))

    def test_next_and_tasks(self, run: Run) -> None:
        """Tasks have the graph's ids, names and interrupts; the saver stores only an error's class."""
        for ref, state in run.states():
            shot = Inspection(run.reader, ref).snapshot()
            assert Counter(map(_mine, shot.tasks)) == Counter(map(_theirs, state.tasks)), ref
            assert shot.complete
            assert sorted(task.node or "" for task in shot.tasks) == sorted(state.next)


def _mine(task: Task) -> str:
    return mine(task._replace(error=task.error is not None))


def _theirs(task: PregelTask) -> str:
    return theirs(task._replace(error=task.error is not None))


class TestTravel(Travel):
    """Commands that change."""


class TestMemories(SomeMemories):
    """Subgraphs with their own memory."""


class TestBusyFleet(BusyFleet):
    """The application never rests."""


class TestManyThreads(ManyThreads):
    """One command for many threads."""


class TestToolCalls(ToolCalls):
    """Tool calls without answers."""


class TestBrokenFleet(BrokenFleet):
    """A fleet that breaks in three ways."""

    def stored(self, backend: Backend) -> list[str]:
        """Every key with its value."""
        return sorted(map(repr, Server(backend.url).contents()))


class TestSince(Since):
    """Changes that an application makes meanwhile; a key beside the checkpoints lists them or names the head."""

    one_line = True
    replaces_tasks = True


class TestSteps(Steps):
    """Killed at every step."""


class Knowing(Ordered):
    """LangGraph's own saver under an application that stores its config's metadata, which the saver drops."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return super().put(config, checkpoint, get_checkpoint_metadata(config, metadata), new_versions)


class TestForget(Forget):
    """What `--forget` leaves."""

    @pytest.fixture
    def backend(self, fresh: Fresh) -> Backend:
        """Databases where the owner of a thread is known."""
        url = fresh().url

        @contextmanager
        def official() -> Iterator[BaseCheckpointSaver[Any]]:
            with Knowing.from_conn_string(url) as saver:
                saver.setup()  # else it can't read pending writes
                yield saver

        return Backend(url, official)

    def stored(self, backend: Backend) -> bytes:
        """Every key with its value."""
        return repr([*Server(backend.url).contents()]).encode()


class TestIdentity(Identity):
    """Another database at the same address, and the same one at another."""
