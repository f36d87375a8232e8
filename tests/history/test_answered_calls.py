"""A question that a ``@task`` asked isn't open once the call has finished, whatever became of its caller."""

import json
import re
import shlex
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.history.tasks.untaken_answers import mark_untaken
from ckpt_cli.model import Payload

CONFIG: Any = {"configurable": {"thread_id": "t"}}
FAILED = ("failed", ["RuntimeError('bad answer')"], [])


class Word(TypedDict, total=False):
    """What a node leaves."""

    word: str


@task
def confirm() -> Any:
    """Asks once."""
    return interrupt("really?")


@task
def confirm_in_call() -> Any:
    """Asks through a call of its own, and fails with a bad answer."""
    return judged(confirm().result())


def judged(answer: str) -> str:
    """The answer; "bad" is an error."""
    if answer == "bad":
        raise RuntimeError("bad answer")
    return answer


def node(_: Word) -> Word:
    """Asks through a call, and fails with a bad answer."""
    return {"word": judged(confirm().result())}


def flow(_: Any) -> Any:
    """The same as an entrypoint."""
    return judged(confirm().result())


def outer(_: Any) -> Any:
    """An entrypoint whose call fails, after the call in it has finished."""
    return confirm_in_call().result()


def graph(run_by: Any, saver: Any = None) -> Any:
    """A graph of one node."""
    return StateGraph(Word).add_node("node", run_by).add_edge(START, "node").compile(checkpointer=saver)


def fan_out(saver: SqliteSaver) -> Any:
    """A graph whose node is started by a Send."""
    built = StateGraph(Word).add_node("node", node)
    return built.add_conditional_edges(START, lambda _: [Send("node", {})], ["node"]).compile(checkpointer=saver)


APPS: dict[str, Any] = {
    "node": lambda saver: graph(node, saver),
    "node of a subgraph": lambda saver: graph(graph(node), saver),
    "node started by a Send": fan_out,
    "entrypoint": lambda saver: entrypoint(checkpointer=saver)(flow),
    "call in a call": lambda saver: entrypoint(checkpointer=saver)(outer),
}
WAYS = ("resume", "resume by id", "ckpt resume")


def asked(kind: str, saver: SqliteSaver) -> Any:
    """An application that waits."""
    app = APPS[kind](saver)
    app.invoke({"word": ""}, CONFIG)
    return app


def answer(app: Any, way: str, value: str, path: Path) -> None:
    """Answer the question in one of three ways."""
    given: Any = Command(resume=value)
    if way == "resume by id":
        given = Command(resume={app.get_state(CONFIG).tasks[0].interrupts[0].id: value})
    elif way == "ckpt resume":
        assert run(["resume", "t", "--value", value, "--yes", "-d", str(path)]) == 0
        given = None
    with suppress(RuntimeError):
        app.invoke(given, CONFIG)


class Looks:
    """What ckpt says about the thread."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._path = path
        self._capsys = capsys

    def __call__(self, *words: str) -> Any:
        """The JSON that a command prints."""
        self._capsys.readouterr()
        assert run([*words, "--json", "-d", str(self._path)]) == 0
        return json.loads(self._capsys.readouterr().out)

    def thread(self) -> tuple[str, list[str], list[str]]:
        """The status, the errors and the questions of the thread; every quick way to its status agrees."""
        (one,) = self("threads")["threads"]
        for status in ("waiting", "failed", "unfinished"):
            assert len(self("threads", "--status", status)["threads"]) == (status in one["statuses"])
        stats = self("stats")
        assert [stats[name] for name in ("waiting", "failed")] == [x in one["statuses"] for x in ("waiting", "failed")]
        questions = [i["value"] for i in one["interrupts"]]
        return one["status"], [error["error"] for error in one["errors"]], questions


@pytest.fixture
def looks(path: Path, capsys: pytest.CaptureFixture[str]) -> Looks:
    """What ckpt says."""
    return Looks(path, capsys)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", APPS)
def test_the_caller_failed(kind: str, way: str, saver: SqliteSaver, path: Path, looks: Looks) -> None:
    """A caller that failed after its call took the answer has failed, and asks nothing; another answer is refused."""
    app = asked(kind, saver)
    assert looks.thread()[0] == "waiting"
    answer(app, way, "bad", path)
    assert app.get_state(CONFIG).tasks[0].error
    assert looks.thread() == FAILED
    assert run(["resume", "t", "--value", "good", "--yes", "-d", str(path)]) == 4


@pytest.mark.parametrize("kind", APPS)
def test_the_hint_asks_again(kind: str, saver: SqliteSaver, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After the command in the hint of a refused answer, the call asks again, and the next answer counts."""
    app = asked(kind, saver)
    answer(app, "resume", "bad", path)
    capsys.readouterr()
    assert run(["resume", "t", "--value", "good", "--yes", "-d", str(path)]) == 4
    hint = re.search("`ckpt (.+?)`", capsys.readouterr().err)
    assert hint is not None
    assert run([*shlex.split(hint[1]), "--yes", "-d", str(path)]) == 0
    app.invoke(None, CONFIG)
    assert [one.value for one in app.get_state(CONFIG).interrupts][:1] == ["really?"]
    answer(app, "ckpt resume", "good", path)
    assert not app.get_state(CONFIG).next


@pytest.mark.parametrize("kind", [kind for kind in APPS if kind != "call in a call"])
def test_no_task_paths(kind: str, saver: SqliteSaver, path: Path, looks: Looks) -> None:
    """Without the paths of tasks nothing waits either, once the caller has failed."""
    app = asked(kind, saver)
    answer(app, "resume", "bad", path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE writes SET task_path = ''")
    assert looks.thread() == FAILED


@pytest.mark.parametrize("kind", APPS)
def test_a_second_answer(kind: str, saver: SqliteSaver, path: Path, looks: Looks) -> None:
    """An answer that is recorded for the caller itself changes nothing: no call takes it."""
    app = asked(kind, saver)
    answer(app, "resume", "bad", path)
    head = app.get_state(CONFIG)
    saver.put_writes(head.config, [("__resume__", ["good"])], head.tasks[0].id)
    with closing(sqlite3.connect(path)) as database, database:  # as `ckpt resume` spells it
        (payload,) = map(mark_untaken, [Payload("msgpack", b"\x91\xa4good")])
        done = database.execute("UPDATE writes SET value = ? WHERE value = x'91a4676f6f64'", [payload.data])
        assert done.rowcount == 1
    assert looks.thread() == FAILED
    answer(app, "resume", "good", path)
    assert app.get_state(CONFIG).tasks[0].error
    assert looks.thread() == FAILED


def test_one_of_two_calls(saver: SqliteSaver, path: Path, looks: Looks) -> None:
    """While another call of the same caller asks, the thread waits; it fails with the second answer."""

    @entrypoint(checkpointer=saver)
    def both(_: Any) -> Any:
        calls = [confirm(), confirm()]
        return [judged(call.result()) for call in calls]

    both.invoke(1, CONFIG)
    answer(both, "resume by id", "good", path)
    assert looks.thread() == ("waiting", [], ["really?"])
    answer(both, "ckpt resume", "bad", path)
    assert looks.thread() == FAILED


@pytest.mark.parametrize("kind", APPS)
def test_the_caller_was_killed(kind: str, saver: SqliteSaver, path: Path, looks: Looks) -> None:
    """Without an error, after a kill, the thread neither waits nor has failed: its next run goes on with the answer."""
    app = asked(kind, saver)
    answer(app, "resume", "bad", path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM writes WHERE channel = '__error__'")
    assert looks.thread() == ("unfinished", [], [])
    with pytest.raises(RuntimeError, match="bad answer"):
        app.invoke(None, CONFIG)


@pytest.mark.parametrize("send", [False, True], ids=["edge", "Send"])
@pytest.mark.parametrize("call", [False, True], ids=["node asks", "call asks"])
def test_it_failed_before(send: bool, call: bool, saver: SqliteSaver, path: Path, looks: Looks) -> None:
    """If a task of a subgraph first fails and asks when it runs again, the thread waits, and takes the answer."""
    runs = iter([1, 2, 3])

    def late(_: Word) -> Word:
        if next(runs) == 1:
            raise RuntimeError("bad answer")
        return {"word": confirm().result() if call else interrupt("really?")}

    built = StateGraph(Word).add_node("node", late)
    if send:
        built.add_conditional_edges(START, lambda _: [Send("node", {})], ["node"])
    else:
        built.add_edge(START, "node")
    app = graph(built.compile(), saver)
    with pytest.raises(RuntimeError):
        app.invoke({"word": ""}, CONFIG)
    assert looks.thread() == FAILED
    app.invoke(None, CONFIG)
    status, _, questions = looks.thread()
    assert (status, set(questions)) == ("waiting", {"really?"})
    answer(app, "ckpt resume", "good", path)
    assert app.get_state(CONFIG).values == {"word": "good"}
