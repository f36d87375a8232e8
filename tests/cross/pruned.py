"""Threads of every kind pruned by random policies: what stays is what it was, for ckpt and for LangGraph."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.verify import verify
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.serde.codec import Codec
from ckpt_cli.session import Session
from tests.cross.backend import Backend, Fresh
from tests.cross.look import Run, mine
from tests.cross.pending import calls, flow, siblings, two_levels, with_memory
from tests.cross.travel import MINE, THEIRS, contents
from tests.graphs import SCENARIOS, Graph
from tests.graphs.building import line, on
from tests.graphs.recent import Deltas
from tests.truth_rendering import rendered

Build = Callable[[Any, list[str]], Graph]


def policies(chance: random.Random) -> list[str]:
    """The options of one to three policies."""
    each = (
        ["--keep-last", str(chance.randint(1, 4))],
        ["--keep-daily", str(chance.randint(1, 2))],
        ["--keep-inputs"],
        ["--keep-source", chance.choice(["loop", "update", "fork"])],
        ["--keep-tips"],
        ["--keep-tag"],
    )
    return [word for one in chance.sample(each, chance.choice([1, 1, 1, 2, 3])) for word in one]


def deltas(saver: Any, ran: list[str]) -> Graph:
    """A delta channel, several steps after its last stored value, and a question."""

    def ask(_: Any) -> dict[str, Any]:
        ran.append("ask")
        return {"log": [interrupt("go on?")]}

    return line(saver, "a", "b", "ask", "c", schema=Deltas, nodes={"ask": ask})


HALTING = (siblings, two_levels, with_memory, calls, flow, deltas)


class Pruned:
    """`ckpt prune`."""

    plans = 2
    """The number of random plans for each thread."""
    forgetful = ("bare_pregel",)
    """Scenarios in which ckpt knows less of a checkpoint without the others: what triggers a node."""

    @pytest.fixture(scope="class", params=SCENARIOS)
    @classmethod
    def ran(cls, request: pytest.FixtureRequest, fresh: Fresh) -> Iterator[Run]:
        """Each scenario once."""
        backend = fresh()
        with backend.official() as official:
            threads = list(SCENARIOS[request.param](official))
            with closing(backend.saver()) as saver:
                yield Run(backend, Reader(saver, Codec()), threads, request.param)

    def test_what_stays_is_what_it_was(
        self, ran: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Values, writes, tasks, questions and next nodes of each survivor, also for the library; undo brings all."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        chance, gone, before = random.Random(ran.scenario), 0, contents(ran.backend)
        for thread_id, graph in ran.threads:
            one = replace(ran, threads=[(thread_id, graph)])
            was = look(one)
            for _ in range(self.plans):
                words = policies(chance)
                view = ran.backend.ckpt("prune", thread_id, *words, "--yes", capsys=capsys)
                kept = {Ref(thread_id, row["ns"], row["checkpoint_id"]) for row in view["checkpoints"] if row["stays"]}
                now = look(one)
                assert now.theirs == {ref: was.theirs[ref] for ref in kept}, words
                differing = [ref for ref in kept if now.ours[ref] != was.ours[ref]]
                assert differing == [] or ran.scenario in self.forgetful, words
                assert now.parents == nearest(was.parents, kept), words
                check_verified(ran.backend)
                if view["applied"]:
                    gone += 1
                    assert run(["undo", "-d", ran.backend.url, "--yes"]) == 0
                assert contents(ran.backend) == before
        assert gone

    @pytest.mark.parametrize("build", HALTING, ids=lambda build: build.__name__)
    def test_it_goes_on_to_the_same_end(
        self,
        build: Build,
        fresh: Fresh,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Pruned to the least while it waits, a thread goes on like its twin: finished tasks don't run again."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        backend = fresh()
        with backend.official() as official:
            ran: dict[str, list[str]] = {MINE: [], THEIRS: []}
            graphs = {thread_id: build(official, notes) for thread_id, notes in ran.items()}
            for thread_id, graph in graphs.items():
                graph.invoke(given(build), on(thread_id))
                finish(graph, thread_id)
                graph.invoke(given(build), on(thread_id))
                assert graph.get_state(on(thread_id)).interrupts
            view = backend.ckpt("prune", MINE, "--keep-tips", "--yes", capsys=capsys)
            assert any(not one["stays"] for one in view["checkpoints"])
            counts = {thread_id: len(notes) for thread_id, notes in ran.items()}
            ends = [finish(graph, thread_id) for thread_id, graph in graphs.items()]
            assert ends[0] == ends[1]
            assert Counter(ran[MINE][counts[MINE] :]) == Counter(ran[THEIRS][counts[THEIRS] :])


def given(build: Build) -> Any:
    """What each turn begins with."""
    return 3 if build is flow else {"log": ["in"], "n": 0}


def finish(graph: Graph, thread_id: str) -> Any:
    """Answer every question with yes until nothing is left, and give the state."""
    for _ in range(5):
        state = graph.get_state(on(thread_id))
        if not state.next:
            break
        graph.invoke(Command(resume={one.id: "yes" for one in state.interrupts}), on(thread_id))
    state = graph.get_state(on(thread_id))
    assert not state.next
    return state.values


class Seen(NamedTuple):
    """A thread as LangGraph and ckpt read it.

    Attributes:
        theirs: each checkpoint as its graph gives it, without its parent.
        ours: the same as ckpt reads it.
        parents: the parent of each checkpoint.
    """

    theirs: dict[Ref, str]
    ours: dict[Ref, Any]
    parents: dict[Ref, Ref | None]


def look(ran: Run) -> Seen:
    """Read the threads anew."""
    with closing(ran.backend.reader().saver) as saver:
        now = replace(ran, reader=Reader(saver, Codec()))
        theirs = {ref: repr(state._replace(parent_config=None)) for ref, state in now.states()}
        rows = {row.ref: row for thread_id, _ in ran.threads for row in now.reader.rows(thread_id)}
        parents = {ref: row.parent_id and ref._replace(checkpoint_id=row.parent_id) for ref, row in rows.items()}
        return Seen(theirs, {ref: shown(now.reader, ref) for ref in rows}, parents)


def shown(reader: Reader, ref: Ref) -> tuple[Any, ...]:
    """A checkpoint as ckpt reads it: values, tasks, status, writes."""
    inspection = Inspection(reader, ref)
    shot = inspection.snapshot()
    writes = [(write.row._replace(payload=None), rendered(write.value)) for write in reader.writes(ref)]
    return rendered(inspection.values()), sorted(map(mine, shot.tasks)), str(shot.status), shot.complete, writes


def nearest(parents: Mapping[Ref, Ref | None], kept: Collection[Ref]) -> dict[Ref, Ref | None]:
    """The nearest ancestor that stays, of each checkpoint that stays; a parent that never was there is left alone."""
    found: dict[Ref, Ref | None] = {}
    for ref in kept:
        parent = parents[ref]
        while parent in parents and parent not in kept:
            parent = parents[parent]
        found[ref] = parent
    return found


def check_verified(backend: Backend) -> None:
    """`verify` suspects nothing."""
    with closing(Session(backend.url)) as session:
        found = [one for thread in verify(session).threads for one in thread.findings]
    assert [one for one in found if one.verdict != "unknown"] == []
