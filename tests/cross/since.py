"""The application writes between a plan and the person's yes, or between a delete and its undo: nothing is mixed."""

import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shlex import quote, split
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Command

from ckpt_cli.app import run
from ckpt_cli.commands.delete import delete
from ckpt_cli.commands.edit import edit
from ckpt_cli.commands.fork import fork
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.resume import resume
from ckpt_cli.commands.rollback import rollback
from ckpt_cli.commands.update import update
from ckpt_cli.errors import Refused
from ckpt_cli.model import NULL_TASK
from ckpt_cli.parameters.selector import SelectorOptions
from ckpt_cli.plans.pending_writes import Finished
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView
from tests.cross.backend import Backend, Fresh
from tests.cross.corrected import CORRECTED
from tests.cross.pending import HALF_DONE, with_memory
from tests.cross.travel import MINE, THEIRS, answers, ckpt, contents, finish, history_of, start, stopping
from tests.graphs import Graph
from tests.graphs.building import on
from tests.graphs.lines import asking, chat_graph, nested

Act = Callable[[Session], Any]


def going_on(graph: Graph) -> None:
    """The application's next run."""
    graph.invoke(None, on(MINE))


def answering(graph: Graph) -> None:
    """The application's next run, of a thread that waits."""
    graph.invoke(Command(resume="from the application"), on(MINE))


def updating(graph: Graph) -> None:
    """The root graph continues; none of its subgraphs does."""
    graph.update_state(on(MINE), {"log": ["from the application"]}, as_node="root")


def writing(graph: Graph) -> None:
    """A task of the head ends, and its step is not over."""
    head = graph.get_state(on(MINE)).config
    graph.checkpointer.put_writes(head, [("log", ["from the application"])], NULL_TASK)


@dataclass(frozen=True)
class Plan:
    """A thread, what a person does to it, and what the application does before the person says yes."""

    build: Callable[[Any], Graph]
    act: Act
    meanwhile: Callable[[Graph], None] = going_on


def deep(act: Callable[[Session, str], Any]) -> Act:
    """The same in the innermost subgraph."""
    return lambda s: act(s, max(s.reader.saver.namespaces(MINE), key=len))


PLANS = {
    "rollback": Plan(stopping, lambda s: rollback(s, MINE, "step:0")),
    "rollback, a write": Plan(stopping, lambda s: rollback(s, MINE, "step:0"), writing),
    "fork": Plan(stopping, lambda s: fork(s, MINE, "@")),
    "fork of the past": Plan(stopping, lambda s: fork(s, MINE, "step:1")),
    "edit": Plan(stopping, lambda s: edit(s, MINE, set_=["n=5"])),
    "edit of the past": Plan(stopping, lambda s: edit(s, MINE, "step:1", set_=["n=5"], rerun=True), writing),
    "update": Plan(stopping, lambda s: update(s, MINE, values='{"n": 5}')),
    "update of the past": Plan(
        stopping, lambda s: update(s, MINE, "step:1", values='{"n": 5}', as_node="b", finished=Finished.DROP)
    ),
    "replay": Plan(asking, lambda s: replay(s, MINE, commit=True), answering),
    "resume": Plan(asking, lambda s: resume(s, MINE, value='"mine"'), answering),
    "resume in a subgraph": Plan(lambda s: nested(s, ask=True), lambda s: resume(s, MINE, value='"mine"'), updating),
    "edit in a subgraph": Plan(
        lambda s: nested(s, ask=True), deep(lambda s, ns: edit(s, MINE, set_=['log=["x"]'], ns=ns)), updating
    ),
    "rollback in a subgraph": Plan(
        lambda s: nested(s, ask=True), deep(lambda s, ns: rollback(s, MINE, "@", ns=ns)), updating
    ),
    "fork in a subgraph": Plan(lambda s: nested(s, ask=True), deep(lambda s, ns: fork(s, MINE, "@", ns=ns)), updating),
    "delete": Plan(stopping, lambda s: delete(s, [MINE])),
    "delete after": Plan(stopping, lambda s: delete(s, [MINE], after="step:0")),
    "delete after, a write": Plan(stopping, lambda s: delete(s, [MINE], after="step:0"), writing),
}


class Since:
    """What an application does behind a person's back.

    Attributes:
        one_line: what was deleted doesn't come back beside what an application did since, so undo refuses.
        replaces_tasks: when LangGraph's saver stores a write of a task, it may remove earlier ones of the task.
    """

    one_line = False
    replaces_tasks = False

    @pytest.fixture
    def backend(self, fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
        """An empty database and an operation log of its own."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        return fresh()

    @pytest.mark.parametrize("name", PLANS)
    def test_a_plan_confirmed_too_late(self, name: str, backend: Backend) -> None:
        """If the thread continued before the yes, nothing is written; the plan warned about a running application."""
        plan, notes, before = PLANS[name], list[str](), list[Any]()
        with backend.official() as official:
            graph = plan.build(official)
            start(graph, MINE, {"log": [], "n": 1})

            def late(view: PlanView) -> bool:
                plan.meanwhile(graph)
                notes.extend(view.notes)
                before.append(contents(backend))
                return True

            with pytest.raises(Refused, match="nothing was written") as refused:
                acted(backend, plan.act, late)
            assert refused.value.hint == "run the command again"
            assert before == [contents(backend)]
            assert any("the application may be running" in note for note in notes)

    def test_an_answer_between_the_plan_of_many_and_the_yes(
        self, backend: Backend, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The thread is refused because it continued, and the log counts the threads that were changed."""
        with backend.official() as official:
            graph = asking(official)
            for thread_id in (MINE, THEIRS):
                start(graph, thread_id, {"log": [], "n": 1})

            def late(_: BulkView | PlanView) -> bool:
                answering(graph)
                return True

            with closing(Session(backend.url, may_change=True, ask=late)) as session:
                view = resume(session, value='"mine"', selector=SelectorOptions(status=["waiting"]))
                assert isinstance(view, BulkView)
                [refused] = [line.problem for line in view.threads if line.problem]
            assert refused.startswith(f"thread {MINE!r} has continued since the plan was begun")
            capsys.readouterr()
            assert run(["operations", "-d", backend.url, "--json"]) == 0
            [made] = json.loads(capsys.readouterr().out)["operations"]
            assert made["summary"] == "of 1 of 2 threads"
            graph.invoke(None, on(THEIRS))
            assert graph.get_state(on(THEIRS)).next == ()

    def test_an_answer_after_a_change_in_the_subgraph_that_asked(
        self, backend: Backend, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The next run takes it, although the question is asked under another id by then."""
        with backend.official() as official:
            graph = nested(official, ask=True)
            start(graph, MINE, {"log": []})
            with closing(backend.saver()) as saver:
                ns = max(saver.namespaces(MINE), key=len)
            assert [one["changed"] for one in ckpt(backend, ["resume"], capsys)["questions"]] == [None]
            ckpt(backend, ["edit", "--set", 'log=["edited"]', "--ns", ns], capsys)
            assert [one["changed"] for one in ckpt(backend, ["resume"], capsys)["questions"]] == [ns]
            ckpt(backend, ["resume", "--value", '"mine"'], capsys)
            log = graph.invoke(None, on(MINE))["log"]
            assert "edited" in log and log.count("mine") == 1
            assert graph.get_state(on(MINE)).next == ()

    def test_a_thread_made_anew(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """A deleted thread doesn't come back into one of the same id; by the commands that are named both are kept."""
        with backend.official() as official:
            graph = chat_graph(official)
            talk(graph, "another", "which proves whose log it is")
            talk(graph, MINE, "hello", "the weather?")
            old = history_of(graph, MINE)
            ckpt(backend, ["delete"], capsys)
            talk(graph, MINE, "anew")
            new, before = history_of(graph, MINE), contents(backend)
            error = refused_undo(backend, capsys)
            assert f"thread {MINE!r} was created again since" in error
            assert all(f"`{words}" in error for words in (f"ckpt delete {quote(MINE)}`", f"ckpt fork {quote(MINE)} @"))
            assert contents(backend) == before
            ckpt(backend, ["fork", "@", "--to", THEIRS], capsys)
            ckpt(backend, ["delete"], capsys)
            ckpt(backend, ["undo", "1"], capsys, thread=False)
            assert (history_of(graph, MINE), history_of(graph, THEIRS)) == (old, new)

    def test_a_turn_comes_back_beside_another(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """If the application continued from what stayed, a deleted turn is restored as a branch, and the head stays."""
        with backend.official() as official:
            graph = chat_graph(official)
            talk(graph, MINE, "hello", "the weather?")
            count = len(history_of(graph, MINE))
            ckpt(backend, ["delete", "--after", "step:1"], capsys)
            stays = graph.get_state(on(MINE)).config["configurable"]["checkpoint_id"]
            talk(graph, MINE, "another")
            head, new = graph.get_state(on(MINE)), len(history_of(graph, MINE)) - 3
            if self.one_line:
                assert f"has continued from {stays} since, and the restored" in refused_undo(backend, capsys)
                assert graph.get_state(on(MINE)) == head
                return
            view = ckpt(backend, ["undo"], capsys, thread=False)
            assert f"the head stays {head.config['configurable']['checkpoint_id']}" in view["notes"][0]
            assert graph.get_state(on(MINE)) == head
            assert len(history_of(graph, MINE)) == count + new
            talk(graph, MINE, "bye")
            assert [m.content for m in graph.get_state(on(MINE)).values["messages"]][-4:-1] == [
                "another",
                "so another",
                "bye",
            ]

    def test_a_task_that_ran_again(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """What a task had left doesn't come back once its checkpoint has another child; the commands named do it."""
        with backend.official() as official:
            graph = stopping(official)
            start(graph, MINE, {"log": [], "n": 1})
            before = contents(backend)
            ckpt(backend, ["delete", "--after", "step:0"], capsys)
            at = graph.get_state(on(MINE)).config["configurable"]["checkpoint_id"]
            graph.update_state(on(MINE), {"n": 9}, as_node="b")
            after = contents(backend)
            error = refused_undo(backend, capsys)
            assert f"has continued from {at} since" in error and f"ckpt delete {quote(MINE)} --after {at}`" in error
            assert contents(backend) == after
            ckpt(backend, ["delete", "--after", at], capsys)
            ckpt(backend, ["undo", "1"], capsys, thread=False)
            assert contents(backend) == before

    def test_a_deletion_between_that_was_undone(self, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """It changed nothing on the whole, so the commands named are those that take the earlier one back."""
        with backend.official() as official:
            graph = stopping(official)
            start(graph, "another", {"log": [], "n": 1})
            start(graph, MINE, {"log": [], "n": 1})
            before = contents(backend)
            ckpt(backend, ["delete", "--after", "step:0"], capsys)
            graph.update_state(on(MINE), {"n": 9}, as_node="b")
            ckpt(backend, ["delete"], capsys)
            assert "`ckpt undo 2` first; `ckpt undo 1` is refused then too" in refused_undo(backend, capsys, "1")
            ckpt(backend, ["undo", "2"], capsys, thread=False)
            commands = re.findall("`ckpt ([^`]*)`", refused_undo(backend, capsys, "1"))
            assert [split(words)[0] for words in commands] == ["delete", "fork", "undo"]
            for words in (commands[0], commands[2]):
                assert run([*split(words), "--yes", "-d", backend.url]) == 0, capsys.readouterr().err
            assert contents(backend) == before

    def test_what_an_operation_added_was_gone_on_from(
        self, backend: Backend, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The commands that the refusal names delete what came after and then take the operation back."""
        with backend.official() as official:
            graph = chat_graph(official)
            talk(graph, MINE, "hello", "the weather?")
            before = contents(backend)
            ckpt(backend, ["fork", "step:1"], capsys)
            talk(graph, MINE, "another")
            after = contents(backend)
            commands = re.findall("`ckpt ([^`]*)`", refused_undo(backend, capsys))
            assert contents(backend) == after
            assert [split(words)[0] for words in commands] == ["delete", "undo"]
            for words in commands:
                assert run([*split(words), "--yes", "-d", backend.url]) == 0, capsys.readouterr().err
            assert contents(backend) == before

    @pytest.mark.parametrize("name", CORRECTED)
    def test_what_came_after_a_corrected_task(
        self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is deleted, but not what the edit kept of other tasks; then the edit can be undone as well."""
        case, ran = CORRECTED[name], list[str]()
        with backend.official() as official:
            graph = case.build(official, ran)
            start(graph, MINE, case.given)
            if case.first:
                ckpt(backend, ["edit", *case.first], capsys)
            before = contents(backend)
            number = ckpt(backend, ["edit", *case.words], capsys)["operation"]
            edited, head = sorted_contents(backend), graph.get_state(on(MINE)).config["configurable"]["checkpoint_id"]
            ran.clear()
            finish(graph, MINE, None)
            first = sorted(ran)
            notes = ckpt(backend, ["delete", "--after", head], capsys)["notes"]
            if self.replaces_tasks and any(note.startswith("not kept: ") for note in notes):
                return
            assert sorted_contents(backend) == edited
            ran.clear()
            finish(graph, MINE, None)
            assert sorted(ran) == first
            follow_hints(backend, capsys, str(number))
            assert contents(backend) == before

    @pytest.mark.parametrize("name", HALF_DONE)
    def test_what_came_after_a_copy_with_pending_writes(
        self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is deleted, but not the pending writes; then the copy can be undone as well."""
        case, copy, ran = HALF_DONE[name], "copy", list[str]()
        with backend.official() as official:
            graph = case.build(official, ran)
            for _ in range(2 if case.build is with_memory else 1):
                start(graph, MINE, case.given)
            if case.words:
                ckpt(backend, list(case.words), capsys)
            before = contents(backend)
            number = ckpt(backend, ["fork", "@", "--to", copy, "--with-pending"], capsys)["operation"]
            copied, head = sorted_contents(backend), graph.get_state(on(copy)).config["configurable"]["checkpoint_id"]
            resume = None if case.words else answers(graph, on(copy))
            ran.clear()  # then what failed doesn't fail again
            finish(graph, copy, resume if resume and resume.resume else None)
            notes = ckpt(backend, ["delete", copy, "--after", head], capsys, thread=False)["notes"]
            if self.replaces_tasks and any(note.startswith("not kept: ") for note in notes):
                return
            assert sorted_contents(backend) == copied
            finish(graph, copy, resume if resume and resume.resume else None)
            follow_hints(backend, capsys, str(number))
            assert contents(backend) == before


def sorted_contents(backend: Backend) -> Any:
    """All that the database holds, as sorted texts: the library may move a write that it stores again."""
    return [sorted(map(repr, records)) for records in contents(backend)]


def follow_hints(backend: Backend, capsys: pytest.CaptureFixture[str], number: str) -> None:
    """Undo an operation, by the commands that the refusals name."""
    for _ in range(4):
        capsys.readouterr()
        if run(["undo", number, "-d", backend.url, "--yes"]) == 0:
            return
        said = capsys.readouterr().err
        assert "instead of this undo" not in said, said
        for words in re.findall("`ckpt ([^`]*)`", said.partition("hint: ")[2])[:-1]:
            assert run([*split(words), "--yes", "-d", backend.url]) == 0, said + capsys.readouterr().err
    raise AssertionError(said)


def talk(graph: Graph, thread_id: str, *texts: str) -> None:
    """So many turns of a chat."""
    for text in texts:
        graph.invoke({"messages": [HumanMessage(text, id=text)]}, on(thread_id))


def refused_undo(backend: Backend, capsys: pytest.CaptureFixture[str], *number: str) -> str:
    """What ``ckpt undo`` says that refuses."""
    capsys.readouterr()
    assert run(["undo", *number, "-d", backend.url, "--yes"]) == 7
    return capsys.readouterr().err


def acted(backend: Backend, act: Act, ask: Callable[[PlanView], bool]) -> PlanView:
    """What a command does that asks."""
    with closing(Session(backend.url, may_change=True, ask=ask)) as session:
        view = act(session)
        assert isinstance(view, PlanView)
        return view
