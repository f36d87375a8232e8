"""LangGraph's Valkey saver and ckpt on the same server."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph_checkpoint_aws import ValkeySaver

from ckpt_cli.inspection import Inspection
from tests.cross.backend import Backend, Fresh
from tests.cross.fleet import ManyThreads
from tests.cross.forget import Forget
from tests.cross.identity import Identity
from tests.cross.listing import Listing
from tests.cross.look import Look, Run, mine, theirs
from tests.cross.memories import SomeMemories
from tests.cross.since import Since
from tests.cross.steps import Steps
from tests.cross.tool_calls import ToolCalls
from tests.cross.travel import CASES, Travel
from tests.cross.unseen_joins import UnseenJoins
from tests.servers.redis import Server


@pytest.fixture(scope="module")
def fresh(valkey_server: Server) -> Fresh:
    """The server, emptied each time."""

    def give() -> Backend:
        url = valkey_server.empty()

        @contextmanager
        def official() -> Iterator[BaseCheckpointSaver[Any]]:
            with ValkeySaver.from_conn_string(url, pool_size=100) as saver:
                yield saver

        return Backend(url, official)

    return give


class TestListing(Listing):
    """Counting and sorting threads."""


class TestLook(Look):
    """Commands that read, without task paths: an entrypoint that never finished has no name."""

    def test_values(self, run: Run) -> None:
        """As elsewhere, except that the saver folds parallel tasks' writes to a delta channel as they came."""
        named = [(name, graph) for name, graph in run.threads if name not in ("delta-wide", "delta-exit")]
        super().test_values(replace(run, threads=named))

    def test_next_and_tasks(self, run: Run) -> None:
        """Tasks have the graph's ids, errors, interrupts and known names, and `next` follows from them."""
        for ref, state in run.states():
            shot = Inspection(run.reader, ref).snapshot()
            nameless = {task.id for task in shot.tasks if task.node is None}
            assert not nameless or ref.thread_id.startswith("flow")
            expected = [one._replace(name=None) if one.id in nameless else one for one in state.tasks]
            assert Counter(map(mine, shot.tasks)) == Counter(map(theirs, expected)), ref
            assert nameless or sorted(task.node or "" for task in shot.tasks) == sorted(state.next)

    def test_heads(self, run: Run) -> None:
        """As elsewhere, if names are known."""
        named = [(name, graph) for name, graph in run.threads if not name.startswith("flow")]
        super().test_heads(replace(run, threads=named))


class TestTravel(Travel):
    """Commands that change; without task paths the generation is unknown, so updates among finished tasks name it."""

    @pytest.fixture(autouse=True)
    def named_generation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Name the generation."""
        name = "update as a node"
        words = [*CASES[name].words, "--finished", "drop"]
        monkeypatch.setitem(CASES, name, replace(CASES[name], words=words))


class TestMemories(SomeMemories):
    """Subgraphs with their own memory."""


class TestSince(Since):
    """Changes that an application makes meanwhile; a key beside the checkpoints lists them or names the head."""

    one_line = True
    replaces_tasks = True


class TestSteps(Steps):
    """Killed at every step."""


class TestForget(Forget):
    """What `--forget` leaves."""

    def stored(self, backend: Backend) -> bytes:
        """Every key with its value."""
        return repr([*Server(backend.url).contents()]).encode()


class TestIdentity(Identity):
    """Another database at the same address, and the same one at another."""


class TestToolCalls(ToolCalls):
    """Tool calls without answers."""


class TestManyThreads(ManyThreads):
    """One command for many threads."""


class TestUnseenJoins(UnseenJoins):
    """Tasks that their paths would name."""
