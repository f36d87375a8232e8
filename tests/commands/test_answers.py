"""Answers that ckpt records for the real middleware, older requests and plain questions; ``invoke`` continues."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.errors import NotFound
from ckpt_cli.plans.open_questions import Question, find_question
from tests.graphs.building import Bag
from tests.graphs.human_in_the_loop import ASK, BOTH, CAREFUL, DELETE, RAN, agent, asking, nested, on
from tests.graphs.human_in_the_loop import older as request_of

THREAD = "t-1"
GIVEN = {"messages": [("user", "go")]}
Build = Callable[[Any], Any]


class Asked:
    """A graph that was run up to its question, and ckpt on its database."""

    def __init__(self, path: Path, saver: SqliteSaver, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self._saver, self._capsys = path, saver, capsys

    def start(self, build: Build, given: Any = GIVEN) -> Any:
        self.graph = build(self._saver)
        RAN.clear()
        self.graph.invoke(given, on(THREAD))
        return self.graph

    def ids(self) -> list[str]:
        return [one.id for one in self.graph.get_state(on(THREAD)).interrupts]

    def ckpt(self, *words: str, code: int = 0) -> Any:
        assert run(["resume", THREAD, *words, "-d", str(self.path), "--json"]) == code
        shown = self._capsys.readouterr()
        return json.loads(shown.err.splitlines()[-1])["error"] if code else json.loads(shown.out)

    def answer(self, *words: str) -> Any:
        return self.ckpt(*words, "--yes")

    def go_on(self) -> Any:
        return self.graph.invoke(None, on(THREAD))

    def rows(self) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as connection:
            return [row for table in ("checkpoints", "writes") for row in connection.execute(f"select * from {table}")]


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Asked]:
    path = tmp_path / "agents.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield Asked(path, SqliteSaver(connection), capsys)


ROB = ("delete_user", {"name": "rob"})
SHORT = ("send_email", {"to": "bob@example.org", "body": "Hi"})
REASON = "User rejected the tool call for `delete_user` with reason: "
EVERY = {"delete_user": True, "send_email": True}
MIXED = {"delete_user": CAREFUL, "send_email": True}


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize(
    ("interrupt_on", "calls", "words", "ran", "said"),
    [
        (EVERY, [DELETE], ["--approve"], [DELETE], ["deleted bob"]),
        (EVERY, [DELETE], ["--value", "approve"], [DELETE], ["deleted bob"]),
        (EVERY, [DELETE], ["--reject", "not him"], [], [f"{REASON}not him"]),
        (EVERY, [DELETE], ["--reject", ""], [], ["User rejected the tool call for `delete_user` with id"]),
        (CAREFUL, [DELETE], ["--value", "reject"], [], ["User rejected the tool call for `delete_user` with id"]),
        (EVERY, [DELETE], ["--respond", "he left"], [], ["he left"]),
        (ASK, [DELETE], ["--respond", ""], [], [""]),
        (EVERY, [DELETE], ["--edit", '{"name": "rob"}'], [ROB], ["Note: a human reviewer replaced"]),
        (EVERY, [DELETE], ["--value", '{"type": "respond", "message": "none"}'], [], ["none"]),
        (EVERY, BOTH, ["--approve", "--answer-all"], BOTH, ["deleted bob", "sent to bob@example.org"]),
        (MIXED, BOTH, ["--reject", "no", "--answer-all"], [], [f"{REASON}no", "User rejected"]),
        ({"send_email": True}, BOTH, ["--approve"], BOTH, ["deleted bob", "sent to bob@example.org"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value and isinstance(value[0], str) else "",
)
def test_the_middleware_continues_with_the_answer(
    mode: str,
    interrupt_on: dict[str, Any],
    calls: Sequence[Any],
    words: list[str],
    ran: list[Any],
    said: list[str],
    asked: Asked,
) -> None:
    """With one question for all calls or one for each, exactly the approved tools run, and the agent ends."""
    rules = interrupt_on if "allowed_decisions" not in interrupt_on else {"delete_user": interrupt_on}
    asked.start(lambda saver: agent(saver, mode, rules, calls))
    asked.answer(*words)
    messages = asked.go_on()["messages"]
    assert sorted(RAN, key=str) == sorted(ran, key=str)
    assert all(one.text.startswith(text) for one, text in zip(messages[2:-1], said, strict=True))
    assert messages[-1].text == "all done"
    assert not asked.graph.get_state(on(THREAD)).next


APPROVE, REJECT = {"type": "approve"}, {"type": "reject", "message": "no"}
EDIT = {"type": "edit", "edited_action": {"name": SHORT[0], "args": SHORT[1]}}


@pytest.mark.parametrize("value", [{"decisions": [REJECT, EDIT]}, [REJECT, EDIT]], ids=["enveloped", "bare"])
def test_one_answer_decides_about_several_calls(value: Any, asked: Asked) -> None:
    """Each call gets its own decision, in order, whether the list has its envelope or not; the plan shows each."""
    asked.start(lambda saver: agent(saver, "batched", MIXED, BOTH))
    notes = asked.answer("--value", json.dumps(value))["notes"]
    assert notes[0] == 'reject delete_user {"name": "bob"}: “no”'
    assert notes[1].startswith("edit send_email ") and notes[1].endswith(
        'calls send_email {"to": "bob@example.org", "body": "Hi"} instead'
    )
    asked.go_on()
    assert RAN == [SHORT]


def test_parallel_questions_get_an_answer_each(asked: Asked) -> None:
    """Questions of parallel calls are answered by id, also one after the other, and run at the next ``invoke``."""
    asked.start(lambda saver: agent(saver, "per_call", MIXED, BOTH))
    first, second = asked.ids()
    notes = asked.answer("-i", f"{first[:9]}=reject")["notes"]
    assert notes[1].startswith("still waits: tools")
    asked.answer("-i", second, "--edit", json.dumps(SHORT[1]))
    asked.go_on()
    assert RAN == [SHORT]


@pytest.mark.parametrize("length", [1, 3])
def test_a_short_start_of_an_id_names_no_question(length: int, asked: Asked) -> None:
    """It may be the number of another question as it was shown, so it is refused with the names of both."""
    asked.start(lambda saver: agent(saver, "per_call", EVERY, BOTH))
    first, second = asked.ids()
    error = asked.ckpt("-i", f"{second[:length]}=approve", "--dry-run", code=4)
    assert [one.rpartition(" ")[2] for one in error["candidates"]] == [f"({first})", f"({second})"]
    assert "the first 4 characters" in error["hint"]
    enough = next(at for at in range(4, 33) if not first.startswith(second[:at]))
    assert second in asked.ckpt("-i", f"{second[:enough]}=approve", "--dry-run")["summary"]


def test_the_number_of_a_question_is_no_start_of_an_id() -> None:
    """Of a thousand questions the one with this number might be meant, and not the one whose id begins so."""
    waiting = [Question(f"{at:04}{'a' * 28}", None, None, None) for at in range(2, 1002)]
    with pytest.raises(NotFound):
        find_question(waiting, "1000")
    assert find_question(waiting, "1001") is waiting[-1]


def test_a_question_in_a_subgraph(asked: Asked) -> None:
    """The agent may be a subgraph: its answer is recorded where it asked."""
    asked.start(nested)
    asked.answer("--approve")
    asked.go_on()
    assert RAN == [DELETE]


OLDER = request_of("accept", "edit", "response", "ignore")
LS, LS_LONG = {"command": "ls"}, {"action": "run_command", "args": {"command": "ls -l"}}


@pytest.mark.parametrize(
    ("values", "words", "answers"),
    [
        ([[OLDER]], ["--approve"], [[{"type": "accept", "args": None}]]),
        ([[OLDER]], ["--ignore"], [[{"type": "ignore", "args": None}]]),
        ([[OLDER]], ["--respond", "later"], [[{"type": "response", "args": "later"}]]),
        ([[OLDER]], ["--edit", '{"command": "ls -l"}'], [[{"type": "edit", "args": LS_LONG}]]),
        ([[OLDER]], ["--value", "accept"], [[{"type": "accept", "args": None}]]),
        ([[OLDER, OLDER]], ["--accept", "--answer-all"], [[{"type": "accept", "args": None}] * 2]),
        ([[OLDER], [OLDER]], ["--response", "x", "--answer-all"], [[{"type": "response", "args": "x"}]] * 2),
        ([OLDER], ["--value", '{"type": "accept", "args": null}'], [{"type": "accept", "args": None}]),
        ([OLDER], ["--value", '[{"type": "ignore", "args": null}]'], [[{"type": "ignore", "args": None}]]),
        (["Ship it?"], ["--value", "yes, today"], ["yes, today"]),
        (["Ship it?"], ["--value", '"True"'], ["True"]),
        (["Ship it?"], ["--value", "true"], [True]),
        (["Whom?"], ["--respond", "Ada"], ["Ada"]),
        (["a?", "b?", "c?"], ["--answer-all", "--value", '{"ok": 1}'], [{"ok": 1}] * 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value and isinstance(value[0], str) else "",
)
def test_other_questions_continue_with_the_answer(
    values: list[Any], words: list[str], answers: list[Any], asked: Asked
) -> None:
    """Older requests get their own words for decisions, plain questions the value; each node receives it as it is."""
    asked.start(lambda saver: asking(saver, *values), {"answers": []})
    asked.answer(*words)
    assert asked.go_on()["answers"] == answers


BATCH: Build = lambda saver: agent(saver, "batched", MIXED, BOTH)  # noqa: E731
EACH: Build = lambda saver: agent(saver, "per_call", {"delete_user": CAREFUL}, [DELETE])  # noqa: E731
FREE: Build = lambda saver: agent(saver, "per_call", {"delete_user": True}, [DELETE])  # noqa: E731
LISTED: Build = lambda saver: asking(saver, [request_of("accept", "ignore")])  # noqa: E731
BARE: Build = lambda saver: asking(saver, request_of("accept", "ignore"))  # noqa: E731
LOOKALIKES = ("True", "FALSE", "None", "Null", "NaN", "nil", "Infinity", "undefined")
PLAIN: Build = lambda saver: asking(saver, "Ship it?")  # noqa: E731


@pytest.mark.parametrize(
    ("build", "words", "code", "message"),
    [
        (BATCH, ["--approve"], 2, "the question is about 2 tool calls"),
        (BATCH, ["--respond", "x", "--answer-all"], 7, "respond is not allowed for delete_user"),
        (BATCH, ["--edit", "{}", "--answer-all"], 2, "--edit has the arguments of one tool call"),
        (BATCH, ["--value", json.dumps({"decisions": [APPROVE]})], 2, "the answer has 1 decision"),
        (BATCH, ["--value", json.dumps({"decisions": [EDIT, APPROVE]})], 7, "edit is not allowed for delete_user"),
        (BATCH, ["--value", json.dumps([APPROVE, {"type": "respond"}])], 2, "respond needs a text"),
        (BATCH, ["--value", json.dumps([APPROVE, {"type": "edit", "args": {}}])], 2, "edit needs 'edited_action'"),
        (BATCH, ["--value", json.dumps([{**APPROVE, "message": "no"}, APPROVE])], 2, "approve takes no text"),
        (BATCH, ["--value", '{"approved": true}'], 2, "this is no answer to a question about tool calls"),
        (BATCH, ["--value", "true"], 2, "this is no answer to a question about tool calls"),
        (EACH, ["--edit", '{"name": "rob"}'], 7, "edit is not allowed for delete_user"),
        (EACH, ["--respond", "x"], 7, "respond is not allowed for delete_user"),
        (EACH, ["--ignore"], 7, "ignore is not allowed for delete_user"),
        (EACH, ["--value", "maybe"], 2, "“maybe” is no answer"),
        (EACH, ["--approve", "--reject", "x"], 2, "--approve and --reject are several answers"),
        (EACH, ["--reject", "TEXT"], 2, "--reject is still TEXT"),
        (EACH, ["--value", '{"type": "reject", "message": "TEXT"}'], 2, "TEXT is the placeholder"),
        (EACH, ["--answer-all"], 2, "what is the answer to all questions?"),
        (FREE, ["--edit", "[1]"], 2, "--edit needs the tool's arguments as an object"),
        (
            FREE,
            ["--value", '{"type": "edit", "edited_action": {"name": "send_email", "args": {}}}'],
            7,
            "an edit can't call send_email instead of delete_user",
        ),
        (LISTED, ["--reject", "x"], 7, "reject is not allowed for run_command"),
        (LISTED, ["--edit", '{"command": "x"}'], 7, "edit is not allowed for run_command"),
        (BARE, ["--accept"], 7, "whether the graph expects one response or a list with one isn't stored"),
        (PLAIN, ["--approve"], 7, "doesn't ask about a tool call"),
        *((PLAIN, ["--value", word], 2, f"--value: {word} is no JSON") for word in LOOKALIKES),
        (PLAIN, ["--value", "JSON"], 2, "--value is still JSON"),
        (PLAIN, ["--value", "5 apples"], 2, "--value is no JSON"),
        (PLAIN, ["--value", "-Infinity"], 2, "--value can't be used as JSON"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_the_graph_would_refuse_is_not_recorded(
    build: Build, words: list[str], code: int, message: str, asked: Asked
) -> None:
    """The message says what is wrong, no row changes, and the question still waits."""
    asked.start(build, GIVEN if build in (BATCH, EACH, FREE) else {"answers": []})
    before = asked.rows()
    assert message in asked.ckpt(*words, "--yes", code=code)["message"]
    assert asked.rows() == before
    assert len(asked.ids()) == 1


@pytest.mark.parametrize(
    ("build", "answer"),
    [
        (EACH, {"type": "respond", "message": "x"}),
        (BATCH, {"decisions": [{"type": "respond", "message": "x"}, APPROVE]}),
        (BATCH, {"decisions": [APPROVE]}),
        (BATCH, [APPROVE, APPROVE]),
    ],
)
def test_the_library_refuses_it_too(build: Build, answer: Any, asked: Asked) -> None:
    """What ckpt refuses or puts into an envelope, the library itself doesn't take as it is."""
    graph = asked.start(build)
    with pytest.raises((ValueError, TypeError)):
        graph.invoke(Command(resume=answer), on(THREAD))
    assert RAN == []


def test_no_schema_records_it_all_the_same(asked: Asked) -> None:
    """``--no-schema`` is for a question that only looks like one of LangChain's."""
    asked.start(lambda saver: asking(saver, [request_of("accept")]), {"answers": []})
    asked.answer("--value", '{"mine": 1}', "--no-schema")
    assert asked.go_on()["answers"] == [{"mine": 1}]


def test_a_word_is_said_to_be_text(asked: Asked) -> None:
    """The plan says that a word is recorded as text; JSON needs no such note."""
    asked.start(PLAIN, {"answers": []})
    assert asked.ckpt("--value", "yes", "--dry-run")["notes"][0] == "“yes” is recorded as text"
    assert "recorded as text" not in str(asked.ckpt("--value", '"yes"', "--dry-run")["notes"])


def test_one_word_for_several_questions_is_said_to_be_text_once(asked: Asked) -> None:
    """Of questions of one node, each is named by its Send; the note about the word is there once."""

    def build(saver: Any) -> Any:
        builder = StateGraph(Bag)
        builder.add_node("ask", lambda state: {"log": [interrupt(f"number {state['n']}?")]})
        builder.add_conditional_edges(START, lambda _: [Send("ask", {"n": n}) for n in range(3)], ["ask"])
        return builder.compile(checkpointer=saver)

    asked.start(build, {"log": []})
    notes = asked.ckpt("--value", "yes", "--answer-all", "--dry-run")["notes"]
    assert [note for note in notes if "recorded as text" in note] == ["“yes” is recorded as text"]
    assert [n for n in notes if "asks" in n] == [f'ask [{n + 1}/3] asks "number {n}?"' for n in range(3)]
