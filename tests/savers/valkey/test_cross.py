"""The official Valkey saver and ckpt on the same server."""

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
from tests.cross.forget import Forget
from tests.cross.identity import Identity
from tests.cross.look import Look, Run, mine, theirs
from tests.cross.since import Since
from tests.cross.steps import Steps
from tests.cross.travel import CASES, Travel
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


class TestLook(Look):
    """Reading, without the paths of tasks: an entrypoint that never finished has no name."""

    def test_values(self, run: Run) -> None:
        """As elsewhere, but that the saver folds what parallel tasks wrote to a delta channel in the order they did."""
        named = [(name, graph) for name, graph in run.threads if name not in ("delta-wide", "delta-exit")]
        super().test_values(replace(run, threads=named))

    def test_next_and_tasks(self, run: Run) -> None:
        """Tasks have the graph's ids, names where they are known, errors and interrupts, and `next` is theirs."""
        for ref, state in run.states():
            shot = Inspection(run.reader, ref).snapshot()
            nameless = {task.id for task in shot.tasks if task.node is None}
            assert not nameless or ref.thread_id.startswith("flow")
            told = [one._replace(name=None) if one.id in nameless else one for one in state.tasks]
            assert Counter(map(mine, shot.tasks)) == Counter(map(theirs, told)), ref
            assert nameless or sorted(task.node or "" for task in shot.tasks) == sorted(state.next)

    def test_heads(self, run: Run) -> None:
        """As elsewhere, where names are known."""
        named = [(name, graph) for name, graph in run.threads if not name.startswith("flow")]
        super().test_heads(replace(run, threads=named))


class TestTravel(Travel):
    """Changing; which generation goes on isn't told by paths of tasks, so an update among finished tasks must say."""

    @pytest.fixture(autouse=True)
    def said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Say it."""
        name = "update as a node"
        words = [*CASES[name].words, "--finished", "drop"]
        monkeypatch.setitem(CASES, name, replace(CASES[name], words=words))


class TestSince(Since):
    """Meanwhile; a key beside the checkpoints lists them or names the head."""

    one_line = True


class TestSteps(Steps):
    """Being killed."""


class TestForget(Forget):
    """Forgetting."""

    def stored(self, backend: Backend) -> bytes:
        """Every key with what it holds."""
        return repr([*Server(backend.url).contents()]).encode()


class TestIdentity(Identity):
    """In another's place, and at another address."""
