"""ckpt changes a thread and the library changes its twin in the same database: both are shown alike and end alike."""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.model import Ref
from ckpt_cli.plans import evidence_window, other_threads
from ckpt_cli.savers.about import Ability
from tests.cross.backend import Backend, Fresh
from tests.cross.beside_results import TURNS, beside
from tests.cross.corrected import CORRECTED, deciders
from tests.cross.pending import HALF_DONE, flow, with_memory
from tests.graphs import Graph
from tests.graphs.building import Bag, line, on, says
from tests.graphs.kinds import failing
from tests.graphs.lines import asking, chat_graph, nested
from tests.graphs.recent import Deltas
from tests.graphs.scored import Added, Best, scored

Build = Callable[[Any], Graph]
MINE, THEIRS = "mine: 一/#1", "theirs"


def counters(saver: Any, schema: type = Bag, **options: Any) -> Graph:
    """Three nodes in a row, each of which shows what it was given, and counts on."""

    def counting(name: str) -> Callable[[Bag], dict[str, Any]]:
        return lambda s: {"log": [f"{name} {s['n']}"], "n": s["n"] + 1}

    return line(saver, "a", "b", "c", nodes={name: counting(name) for name in "abc"}, schema=schema, **options)


def mapped(saver: Any) -> Graph:
    """A fan-out by Send that stops before it begins."""
    builder = StateGraph(Bag)
    builder.add_node("split", says("split"))
    builder.add_node("work", lambda s: {"log": [s["i"]]})
    builder.add_node("reduce", lambda s: {"log": [f"reduce {s['n']}"]})
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda s: [Send("work", {"i": i}) for i in range(11)], ["work"])
    builder.add_edge("work", "reduce")
    return builder.compile(checkpointer=saver, interrupt_before=["work"])


def joined(saver: Any) -> Graph:
    """Two nodes side by side, and one that waits for both of them and for all else."""
    builder = StateGraph(Bag)
    for name in ("a", "b"):
        builder.add_node(name, says(name))
        builder.add_edge(START, name)
    builder.add_node("c", says("c"), defer=True)
    builder.add_edge(["a", "b"], "c")
    return builder.compile(checkpointer=saver)


def stopping(saver: Any) -> Graph:
    """A breakpoint in the middle."""
    return counters(saver, interrupt_before=["c"])


def stopping_deltas(saver: Any) -> Graph:
    """The same with a delta channel."""
    return counters(saver, schema=Deltas, interrupt_before=["c"])


@dataclass(frozen=True)
class Case:
    """A graph, what it is given, the words of ckpt, and what the library does instead.

    Attributes:
        twin: changes the twin by the library; None where only the end tells.
        given: to ckpt's thread; `right` to its twin where ckpt is to correct it.
        resume: goes on with the twin; ckpt's thread goes on with None, or with the same where `asks`.
    """

    build: Build
    given: Any
    words: list[str]
    twin: Callable[[Graph, Any], Any] | None = None
    right: Any = None
    resume: Any = None
    asks: bool = False


def said(text: str) -> Any:
    return {"messages": [HumanMessage(text, id="h")], "topic": "x"}


def past(graph: Graph, step: int) -> Any:
    """The config of the twin's checkpoint of that step."""
    (config,) = [s.config for s in graph.get_state_history(on(THEIRS)) if s.metadata["step"] == step]
    return config


def answers(graph: Graph, config: Any) -> Any:
    """An answer to every question that waits."""
    return Command(resume={one.id: "yes" for one in graph.get_state(config).interrupts})


CASES = {
    "copy": Case(
        stopping, {"log": [], "n": 1}, ["fork", "@"], lambda g, c: g.update_state(c, None, as_node="__copy__")
    ),
    "copy of the past": Case(
        chat_graph, said("the weather?"), ["fork", "step:1"], lambda g, c: g.update_state(past(g, 1), None, "__copy__")
    ),
    "rollback": Case(stopping_deltas, {"log": ["x"], "n": 1}, ["rollback", "step:1"]),
    "update": Case(
        stopping, {"log": [], "n": 1}, ["update", "--values", '{"n": 7}'], lambda g, c: g.update_state(c, {"n": 7})
    ),
    "update as a node": Case(
        stopping,
        {"log": [], "n": 1},
        ["update", "step:1", "--values", '{"n": 7, "log": ["x"]}', "--as-node", "b"],
        lambda g, c: g.update_state(past(g, 1), {"n": 7, "log": ["x"]}, as_node="b"),
    ),
    "update before a join": Case(
        joined,
        {"log": [], "n": 1},
        ["update", "step:0", "--values", '{"log": ["x"]}', "--as-node", "a", "--finished", "drop"],
        lambda g, c: g.update_state(past(g, 0), {"log": ["x"]}, as_node="a"),
    ),
    "update of a delta channel": Case(
        stopping_deltas,
        {"log": ["x"], "n": 1},
        ["update", "--values", '{"log": ["y"], "n": 5}', "--reducer", "log=append"],
        lambda g, c: g.update_state(c, {"log": ["y"], "n": 5}),
    ),
    "end": Case(
        failing,
        {"log": []},
        ["replay", "--commit", "--reducer", "log=append", "--deferred", "join=no"],
        lambda g, c: g.update_state(c, None, as_node=END),
    ),
    "edit": Case(stopping, {"log": [], "n": 1}, ["edit", "--set", "n=8", "--set", 'log=["a 6", "b 7"]'], right=6),
    "edit of Sends": Case(mapped, {"log": ["in"], "n": 1}, ["edit", "--set", "n=6"], right=6),
    "edit of a delta channel": Case(
        stopping_deltas,
        {"log": ["x"], "n": 1},
        ["edit", "--set", "n=8", "--set", 'log=["x", "a 6", "b 7"]'],
        right=6,
    ),
    "edit of a message": Case(
        chat_graph, said("hello"), ["edit", "step:0", "--set", 'messages[0].content="the weather?"'], right="weather"
    ),
    "answer": Case(asking, {"log": []}, ["resume", "--value", '"yes"'], resume=answers, asks=True),
    "answers": Case(
        lambda s: asking(s, many=True), {"log": []}, ["resume", "--value", '"yes"'], resume=answers, asks=True
    ),
    "answer two levels down": Case(
        lambda s: nested(s, ask=True), {"log": []}, ["resume", "--value", '"yes"'], resume=answers, asks=True
    ),
}

SERVERS = ("postgresql", "mysql", "redis", "valkey", "mongodb")

UNDONE = ("end", "update before a join")
"""After these nothing runs."""


class Travel:
    """Every way to change a thread."""

    @pytest.fixture
    def backend(self, fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
        """An empty database and an operation log of its own."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        return fresh()

    @pytest.mark.parametrize("name", CASES)
    def test_goes_on_like_its_twin(self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """Undone, nothing of a change is left; done, the thread is as its twin and runs to the same end, and stays."""
        case = CASES[name]
        with backend.official() as official:
            graph = case.build(official)
            start(graph, MINE, case.given)
            start(graph, THEIRS, given(case))
            before = contents(backend)
            for words in answered(graph, case):
                ckpt(backend, words, capsys)
            assert contents(backend) != before
            for _ in answered(graph, case):
                ckpt(backend, ["undo"], capsys, thread=False)
            assert contents(backend) == before
            for words in answered(graph, case):
                ckpt(backend, words, capsys)
            if case.twin is not None:
                case.twin(graph, on(THEIRS))
                assert history_of(graph, MINE) == history_of(graph, THEIRS)
            ends = finish(graph, MINE, None), finish(graph, THEIRS, case.resume and case.resume(graph, on(THEIRS)))
            if name != "rollback":
                assert ends[0] == ends[1]
            assert graph.get_state(on(MINE)).next == graph.get_state(on(THEIRS)).next == ()
            assert history_of(graph, MINE)[-1][2] == history_of(graph, THEIRS)[-1][2]
            assert run(["undo", "-d", backend.url, "--yes"]) == (0 if name in UNDONE else 7)  # where nothing came after

    def test_an_update_beside_results_is_kept(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """As a node that has finished there, an update leaves what its plan shows; SQLite's saver loses it."""
        with backend.official() as official:
            graph = beside(official)
            for turn in range(TURNS + 1):
                start(graph, MINE, {"n": turn})
            seen = graph.get_state(on(MINE)).values["seen"]
            words = ["update", "--as-node", "good", "--values", '{"seen": ["upd"], "n": 20}', "--finished", "drop"]
            planned = ckpt(backend, [*words, "--reducer", "seen=append"], capsys)
            assert [one["path"] for one in planned["changes"]] == ["n", "seen"]
            values = graph.get_state(on(MINE)).values
            assert (values["seen"], values["n"]) == ([*seen, "upd"], 20)
            assert verdicts(backend, capsys) <= {"agrees", "unknown"}

    def test_a_lost_write_is_not_suspect(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """`update_state` as a node that has finished there may not store a write: its value is then unknown."""
        with backend.official() as official:
            graph = beside(official)
            for turn in range(TURNS + 1):
                start(graph, MINE, {"n": turn})
            graph.update_state(on(MINE), {"log": ["upd"], "n": 20}, as_node="good")
            assert graph.get_state(on(MINE)).values["log"][-1] == "upd"
        assert verdicts(backend, capsys) <= {"agrees", "unknown"}

    def test_a_server_says_its_version_and_the_user(self, backend: Backend) -> None:
        """Every server that has users, by each of its savers; a file and a service in the cloud have none."""
        with backend.official() as official, closing(backend.saver()) as saver:
            start(stopping(official), THEIRS, {"log": [], "n": 1})
            facts = saver.about().facts
        is_server = backend.url.partition(":")[0] in SERVERS
        assert (bool(facts.get("user")), re.search(r"\d+\.\d", facts.get("server", "")) is not None) == (is_server,) * 2

    def test_one_moment_or_not(self, backend: Backend) -> None:
        """If the saver says so, all reads of a moment agree; other savers may see a new checkpoint in between."""
        with backend.official() as official, closing(backend.saver()) as saver:
            graph = stopping(official)
            start(graph, THEIRS, {"log": [], "n": 1})
            others = iter([{"n": 7}])  # one write, also where the look is taken again because of it

            def look() -> tuple[int, int]:
                before = len(list(saver.rows(THEIRS)))
                for values in others:
                    graph.update_state(on(THEIRS), values)
                return before, len(list(saver.rows(THEIRS)))

            before, after = saver.moment(look)
            assert (before == after) is (Ability.MOMENT in saver.abilities)

    def test_the_last_turn_is_deleted(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """Another turn then continues from the one before, as on a thread that never had the deleted one."""
        with backend.official() as official:
            graph = chat_graph(official)
            for thread_id, texts in ((MINE, ["hello", "the weather?"]), (THEIRS, ["hello"])):
                for text in texts:
                    graph.invoke({"messages": [HumanMessage(text, id=text)]}, on(thread_id))
            before = contents(backend)
            ckpt(backend, ["delete", "--after", "step:1"], capsys)
            assert history_of(graph, MINE) == history_of(graph, THEIRS)
            ckpt(backend, ["undo"], capsys, thread=False)
            assert contents(backend) == before
            ckpt(backend, ["delete", "--after", "step:1"], capsys)
            for thread_id in (MINE, THEIRS):
                graph.invoke({"messages": [HumanMessage("bye", id="bye")]}, on(thread_id))
            assert history_of(graph, MINE) == history_of(graph, THEIRS)

    def test_nothing_comes_back_without_its_parent(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """An undo that would restore children of a checkpoint that a later undo removed names that undo."""
        with backend.official() as official:
            graph = counters(official)
            graph.invoke({"log": [], "n": 1}, on(MINE))
            ckpt(backend, ["rollback", "step:1"], capsys)
            with closing(backend.saver()) as saver:
                made = saver.newest(MINE, "", 1)[0].checkpoint_id
            graph.invoke(None, on(MINE))
            ckpt(backend, ["delete", "--after", made], capsys)
            full = contents(backend)
            if run(["undo", "1", "--yes", "-d", backend.url]) == 7:  # Redis: both changed a row of the whole thread
                return
            before = contents(backend)
            capsys.readouterr()
            assert run(["undo", "2", "--yes", "-d", backend.url]) == 7
            said = capsys.readouterr().err
            assert made in said
            assert "`ckpt undo 3` first" in said
            assert contents(backend) == before
            ckpt(backend, ["undo", "3"], capsys, thread=False)
            assert contents(backend) == full
            ckpt(backend, ["undo", "2"], capsys, thread=False)

    def test_a_thread_is_deleted(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """Nothing of it is left, nothing of another goes, and undo brings all of it back."""
        with backend.official() as official:
            graph = nested(official, ask=True)
            for thread_id in (MINE, THEIRS):
                start(graph, thread_id, {"log": []})
            before, other = contents(backend), history_of(graph, THEIRS)
            ckpt(backend, ["delete"], capsys)
            assert official.get_tuple(on(MINE)) is None
            assert history_of(graph, THEIRS) == other
            with closing(backend.saver()) as saver:
                assert [thread.thread_id for thread in saver.threads()] == [THEIRS]
            ckpt(backend, ["undo"], capsys, thread=False)
            assert contents(backend) == before
            assert finish(graph, MINE, answers(graph, on(MINE))) == finish(graph, THEIRS, answers(graph, on(THEIRS)))

    def test_a_person_is_found_and_goes(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """Whatever changes a thread keeps whose it is; with --any also what ran without it is found, and deleted."""
        with backend.official() as official:
            graph = stopping(official)
            for thread_id, user in ((MINE, "u-1"), (THEIRS, "u-2")):
                graph.invoke({"log": [], "n": 1}, {**on(thread_id), "metadata": {"user_id": user}})
                if "user_id" not in graph.get_state(on(thread_id)).metadata:  # Redis' saver drops it
                    words = ["edit", thread_id, "--metadata", f"user_id={user}", "-d", backend.url, "--yes"]
                    assert run(words) == 0, capsys.readouterr().err
            for words in PERSONS:
                ckpt(backend, words, capsys)
                assert whose(backend, capsys) == [MINE]
            others = contents_of(backend, THEIRS)
            ckpt(backend, ["fork", "@~1", "--to", "copy"], capsys)
            assert whose(backend, capsys) == sorted(["copy", MINE])
            graph.update_state(on(MINE), {"n": 1})
            graph.update_state(on("copy"), {"n": 1})
            assert whose(backend, capsys) == []
            assert whose(backend, capsys, "--any") == sorted(["copy", MINE])
            assert run(["delete", "--where", PERSON, "-d", backend.url, "--dry-run"]) == 4
            assert "2 more threads match in older checkpoints: --any takes them too" in capsys.readouterr().err
            ckpt(backend, ["edit", "--metadata", "user_id=u-1"], capsys)
            plan = ckpt(backend, ["delete", "--where", PERSON, "--dry-run"], capsys, thread=False)
            assert plan["notes"][-1] == "1 more thread matches in older checkpoints: --any takes it too"
            ckpt(backend, ["delete", "--where", PERSON, "--any"], capsys, thread=False)
            assert "u-1" not in repr(contents(backend))
            assert contents_of(backend, THEIRS) == others

    def test_a_text_is_found_exactly(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """A server that looks for a text in metadata finds what Python finds: no other case, no number, no part."""
        texts = ["5", "u-1", "U-1", "u-1 ", "ü", "u\u0308", '"', "\\", "%", "null"]
        held = {f"t{place}": value for place, value in enumerate([*texts, 5, True, None, 2.5])}
        with backend.official() as official:
            for thread_id, value in held.items():
                config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
                metadata: Any = {"source": "update", "step": 0, "parents": {}, "kind": value}
                official.put(config, empty_checkpoint(), metadata, {})
        for text in [*texts, "u", "a\u0000b", "\ud800"]:
            words = ["--where", f"{text!a} == kind", "--any"]
            found = ckpt(backend, ["threads", *words, "--limit", "0"], capsys, thread=False)
            assert [thread["thread_id"] for thread in found["threads"]] == [t for t, v in held.items() if v == text]

    def test_other_threads_of_the_same_graph_decide(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """A channel that was written once is decided by others; another graph is no evidence; one step cancels it."""
        words = ["update", MINE, "--values", '{"score": 0.2}', "--as-node", "judge", "-d", backend.url]
        words += ["--dry-run", "--json"]
        with backend.official() as official:
            scored(official, MINE, 0.3)
            scored(official, "of another graph", 0.5, 0.4, schema=Added, nodes="judge check")
            assert run(words) == 7
            refusal = " ".join(capsys.readouterr().err.split())
            assert all(way in refusal for way in ("--reducer score=NAME", "--remember", "ckpt edit")), refusal
            for name in ("a", "b", "c"):
                scored(official, name, 0.5, 0.4)
            assert run(words) == 0, capsys.readouterr().err
            plan = json.loads(capsys.readouterr().out)
            assert "reducers: score last value (from 4 threads, 7 steps)" in plan["notes"]
            scored(official, "honest", 0.9, 0.2, schema=Best)
        assert run(words) == 7
        what = "no reducer explains the 9 recorded steps of channel 'score' in 5 threads"
        assert what in capsys.readouterr().err

    def test_other_threads_are_read_by_pages_and_within_bounds(
        self, backend: Backend, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Twice as many long threads cost no more reads; where a read is a round trip, it takes a page."""
        monkeypatch.setattr(other_threads, "THREADS", 4)
        monkeypatch.setattr(evidence_window, "STEPS", 40)
        monkeypatch.setattr(evidence_window, "STEPS_OF_THREAD", 20)
        words = ["update", MINE, "--values", '{"score": 0.2}', "--as-node", "judge", "-d", backend.url, "--dry-run"]
        costs = []
        with backend.official() as official, closing(backend.saver()) as saver:
            scored(official, MINE, 0.3)
            reads = counted_reads(type(saver), monkeypatch)
            for first in (0, 4):
                for number in range(first, first + 4):
                    scored(official, f"other {number}", *[0.5, 0.4] * 4)
                reads.clear()
                assert run(words) == 0, capsys.readouterr().err
                assert "last value (from 3 threads, 15 steps)" in capsys.readouterr().out
                costs.append(reads.total())
            assert costs[1] <= costs[0] + 2
            assert saver.page == 1 or costs[1] < 40, reads

    @pytest.mark.parametrize("name", HALF_DONE)
    def test_pending_writes_come_along(self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """A copy with pending writes runs what the original would run, asks what it asks, and comes to the same end.

        The original stays as it is; undo leaves nothing of the copy.
        """
        case, ran = HALF_DONE[name], list[str]()
        with backend.official() as official:
            graph = case.build(official, ran)
            for _ in range(2 if case.build is with_memory else 1):
                start(graph, MINE, case.given)
            if case.words:
                ckpt(backend, list(case.words), capsys)
            before, mine, history = contents(backend), contents_of(backend, MINE), history_of(graph, MINE)
            plan = ckpt(backend, ["fork", "@", "--to", "copy", "--with-pending"], capsys)
            assert any(note.startswith("taken along: ") for note in plan["notes"])
            ckpt(backend, ["undo"], capsys, thread=False)
            assert contents(backend) == before
            ckpt(backend, ["fork", "@", "--to", "copy", "--with-pending"], capsys)
            assert (contents_of(backend, MINE), history_of(graph, "copy")) == (mine, history)
            ends, runs = [], []
            for thread_id in ("copy", MINE):
                ran.clear()
                resume = None if case.words else answers(graph, on(thread_id))
                ends.append(finish(graph, thread_id, resume if resume and resume.resume else None))
                runs.append(sorted(ran))
                if thread_id == "copy":
                    assert history_of(graph, MINE) == history
            assert (ends[0], runs[0]) == (ends[1], runs[1])
            assert history_of(graph, "copy") == history_of(graph, MINE)
            assert graph.get_state(on("copy")).next == () and ran and "good" not in ran

    @pytest.mark.parametrize("name", CORRECTED)
    def test_only_the_corrected_task_runs(
        self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A task has another argument, and runs with it; what its siblings finished or asked is kept.

        The old checkpoint stays as it is; undo leaves nothing of the new one.
        """
        case, ran = CORRECTED[name], list[str]()
        with backend.official() as official:
            graph = case.build(official, ran)
            start(graph, MINE, case.given)
            if case.first:
                ckpt(backend, ["edit", *case.first], capsys)
                notes = ckpt(backend, ["fork", "@", "--dry-run"], capsys)["notes"]
                of_whom = "main" if any(stored_paths(backend)) else "a task"
                assert any(note.startswith(f"2 calls of {of_whom} finished at that checkpoint") for note in notes), (
                    notes
                )
            before, old = contents(backend), contents_of(backend, MINE)
            ckpt(backend, ["edit", *case.words], capsys)
            ckpt(backend, ["undo"], capsys, thread=False)
            assert contents(backend) == before
            ckpt(backend, ["edit", *case.words], capsys)
            assert all(one in kept for mine, kept in zip(old, contents_of(backend, MINE), strict=True) for one in mine)
            now = graph.get_state(on(MINE))
            asked = {one.id for one in now.interrupts}
            shown, paths = ckpt(backend, ["show"], capsys)["next"], stored_paths(backend)
            assert sorted(shown or []) == sorted(now.next) if shown is not None or any(paths) else now.next
            ran.clear()
            with contextlib.suppress(ValueError):
                graph.invoke(None, on(MINE))
            assert sorted(ran) == sorted(case.ran)
            waiting = graph.get_state(on(MINE)).interrupts
            assert [one.value for one in waiting] == [*case.asks]
            assert case.build is flow or asked == {one.id for one in waiting}
            if case.end is not None:
                if case.asks:
                    graph.invoke(answers(graph, on(MINE)), on(MINE))
                values = graph.get_state(on(MINE)).values
                assert (values["log"] if isinstance(values, dict) else values)[: len(case.end)] == case.end
            assert case.end is None or graph.get_state(on(MINE)).next == ()

    def test_a_task_that_failed_with_its_answer_asks_again(
        self, backend: Backend, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """`resume` names the command; its siblings keep what they finished, and the question that waits."""
        ran = list[str]()
        with backend.official() as official:
            graph = deciders(official, ran)
            start(graph, MINE, {"log": [], "n": 0})
            by_question = {one.value: one.id for one in graph.get_state(on(MINE)).interrupts}
            first = {"first 0?": "a", "first 1?": "b", "first 2?": "bad"}
            graph.invoke(Command(resume={by_question[asked]: answer for asked, answer in first.items()}), on(MINE))
            by_question = {one.value: one.id for one in graph.get_state(on(MINE)).interrupts}
            second = {"second 0?": "c", "second 2?": "d"}
            with contextlib.suppress(ValueError):
                graph.invoke(Command(resume={by_question[asked]: a for asked, a in second.items()}), on(MINE))
            ckpt(backend, ["edit", "--task", "decide[3]", "--again"], capsys)
            ran.clear()
            graph.invoke(None, on(MINE))
            waiting = {one.value: one.id for one in graph.get_state(on(MINE)).interrupts}
            assert sorted(ran) == ["decide 1", "decide 2"] and sorted(waiting) == ["first 2?", "second 1?"]
            graph.invoke(Command(resume={waiting["first 2?"]: "x", waiting["second 1?"]: "y"}), on(MINE))
            graph.invoke(answers(graph, on(MINE)), on(MINE))
            assert graph.get_state(on(MINE)).values["log"] == [0, "a", "c", 1, "b", "y", 2, "x", "yes"]
            assert "decided 0" not in ran

    def test_a_thread_of_its_own(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """A thread forked with its ancestry continues to the same end as the one it was forked from."""
        with backend.official() as official:
            graph = stopping_deltas(official)
            start(graph, THEIRS, {"log": ["x"], "n": 1})
            assert run(["fork", THEIRS, "@", "--to", MINE, "-d", backend.url, "--yes"]) == 0, capsys.readouterr().err
            assert history_of(graph, MINE) == history_of(graph, THEIRS)
            assert finish(graph, MINE, None) == finish(graph, THEIRS, None)


def counted_reads(kind: type, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the calls of a saver's methods that read records."""
    counts = Counter[str]()

    def counted(name: str) -> Callable[..., Any]:
        original = getattr(kind, name)

        def call(*args: Any, **options: Any) -> Any:
            counts[name] += 1
            return original(*args, **options)

        return call

    for name in ("rows", "newest", "headers", "checkpoints", "metadata", "writes", "writes_on"):
        monkeypatch.setattr(kind, name, counted(name))
    return counts


PERSON = 'user_id == "u-1"'
PERSONS = [
    ["fork", "@"],
    ["edit", "--set", "n=8"],
    ["rollback", "@~1"],
    ["update", "--values", '{"n": 7}'],
    ["update", "--values", '{"n": 7}', "--as-input"],
    ["replay", "--commit", "--reducer", "log=append", "--deferred", "join=no"],
]
"""Every way of making a checkpoint."""


def whose(backend: Backend, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The threads that are found as that person's."""
    found = ckpt(backend, ["threads", "--where", PERSON, "--limit", "0", *words], capsys, thread=False)
    return sorted(thread["thread_id"] for thread in found["threads"])


def contents_of(backend: Backend, thread_id: str) -> Any:
    """All that the database holds of a thread."""
    with closing(backend.saver()) as saver:
        refs = [row.ref for row in saver.rows(thread_id)]
        return list(saver.checkpoints(refs)), list(saver.writes(thread_id))


def stored_paths(backend: Backend) -> list[str]:
    """The task paths of a thread's writes; Valkey's saver stores none, so that nothing names a workflow's function."""
    with closing(backend.saver()) as saver:
        return [write.task_path for write in saver.writes(MINE)]


def ckpt(backend: Backend, words: list[str], capsys: pytest.CaptureFixture[str], *, thread: bool = True) -> Any:
    """What a command prints as JSON, which must succeed."""
    verb, *rest = words
    capsys.readouterr()
    asked = [] if verb in ("threads", "show", "writes") else ["--yes"]
    code = run([verb, *([MINE] if thread else []), *rest, "-d", backend.url, *asked, "--json"])
    seen = capsys.readouterr()
    assert code == 0, seen.err
    return json.loads(seen.out)


def contents(backend: Backend) -> Any:
    """All that the database holds, through ckpt's saver."""
    with closing(backend.saver()) as saver:
        return everything(saver)


def given(case: Case) -> Any:
    """What the twin is given: the right thing from the start, where ckpt corrects it."""
    if isinstance(case.right, str):
        return said(f"the {case.right}?")
    return case.given if case.right is None else {**case.given, "n": case.right}


def start(graph: Graph, thread_id: str, values: Any, **metadata: Any) -> None:
    with contextlib.suppress(ValueError):
        graph.invoke(values, on(thread_id, **metadata))


def answered(graph: Graph, case: Case) -> list[list[str]]:
    """The words for each change: one, or one for every question."""
    if not case.asks:
        return [case.words]
    return [[*case.words, "--interrupt", one.id] for one in graph.get_state(on(MINE)).interrupts]


def verdicts(backend: Backend, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The verdicts of `verify` on the steps."""
    run(["verify", MINE, "-d", backend.url, "--json"])
    return {*json.loads(capsys.readouterr().out)["verdicts"]}


def finish(graph: Graph, thread_id: str, resume: Any) -> Any:
    """Go on until nothing is left, and give the state."""
    for _ in range(3):
        with contextlib.suppress(ValueError):
            graph.invoke(resume, on(thread_id))
        resume = None
        if not graph.get_state(on(thread_id)).next:
            break
    return plain(graph.get_state(on(thread_id)).values)


def plain(values: Any) -> Any:
    """Values without the random ids of tool messages."""
    if isinstance(values, dict) and "messages" in values:
        shown = [m.model_copy(update={"id": m.type}) for m in values["messages"]]
        return {**values, "messages": shown}
    return values


def history_of(graph: Graph, thread_id: str) -> list[Any]:
    """A thread's history without what is never twice the same, oldest first; parents by their place in it."""
    history = list(graph.get_state_history(on(thread_id)))[::-1]
    places = {Ref("", "", s.config["configurable"]["checkpoint_id"]): at for at, s in enumerate(history)}

    def shown(state: Any) -> Any:
        parent = state.parent_config and Ref("", "", state.parent_config["configurable"]["checkpoint_id"])
        tasks = Counter((t.name, t.error, *(str(i.value) for i in t.interrupts)) for t in state.tasks)
        metadata = state.metadata["source"], state.metadata["step"]
        return metadata, places.get(parent), plain(state.values), sorted(state.next), tasks

    return [shown(state) for state in history]
