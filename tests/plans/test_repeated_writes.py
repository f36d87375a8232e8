"""A key, element or item that comes again is known only from steps with such a one, held against the real graph."""

import json
import operator
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send, StateUpdate

from ckpt_cli.app import run
from tests.graphs.building import on
from tests.graphs.waiting import until_stored

_TURNS = 10
_NEXT = ["--next", "END"]


def _count(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    return old | {key: old.get(key, 0) + value for key, value in new.items()}


def _highest(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    return old | {key: max(old.get(key, 0), value) for key, value in new.items()}


def _deep(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return old | {key: old.get(key, {}) | value for key, value in new.items()}


def _toggle(old: set[str], new: set[str]) -> set[str]:
    return old ^ new


def _replace(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({item["id"]: item for item in (*old, *new)}.values())


def _if_new(old: list[Any], new: list[Any]) -> list[Any]:
    return old + [item for item in new if item not in old]


def _unite(old: Any, new: Any) -> Any:
    return old | new


class Graph(NamedTuple):
    """A graph with one channel, the writes of its turns, and two writes of tasks of one step."""

    reducer: Any
    turns: Callable[[int], Any]
    again: Any

    def build(self, saver: Any, turns: int = _TURNS, *, fails: bool = True) -> Any:
        """The graph; after its last turn three tasks start, of which the middle one fails."""

        class State(TypedDict, total=False):
            turn: int
            x: self.reducer  # type: ignore[name-defined]

        def work(sent: dict[str, int]) -> dict[str, Any]:
            if fails and sent["k"] == 1:
                until_stored(saver, others=2)
                raise ZeroDivisionError
            return {"x": self.again(sent["k"]) if callable(self.again) else self.again}

        def route(at: dict[str, int]) -> Any:
            last = [Send("work", {"k": k}) for k in range(3)] if fails else END
            return "one" if at["turn"] < turns else last

        graph = StateGraph(State)
        graph.add_node("one", lambda at: {"turn": at["turn"] + 1, "x": self.turns(at["turn"])})
        graph.add_node("work", work)
        graph.add_edge(START, "one")
        graph.add_conditional_edges("one", route, ["one", "work", END])
        graph.add_edge("work", END)
        return graph.compile(checkpointer=saver)


def _new_key(turn: int) -> dict[str, int]:
    return {f"k{turn}": 1}


COUNTS = Graph(Annotated[dict[str, int], _count], _new_key, {"new": 1})
HIGHEST = Graph(Annotated[dict[str, int], _highest], lambda turn: {"k": turn + 1, f"k{turn}": 1}, {"k": 3})
DEEP = Graph(Annotated[dict[str, Any], _deep], lambda turn: {"k": {"a": turn}, f"{turn}": {}}, {"k": {"b": 1}})
TOGGLES = Graph(Annotated[set[str], _toggle], lambda turn: {f"k{turn}"}, {"new"})
REPLACES = Graph(
    Annotated[list[Any], _replace], lambda turn: [{"id": turn // 2, "w": turn // 2}], [{"id": 0, "w": "changed"}]
)
ONE_WRITE = Graph(
    Annotated[list[Any], _replace], lambda turn: [{"id": turn, "w": 0}], [{"id": 99, "w": 1}, {"id": 99, "w": 2}]
)
DATES = Graph(
    Annotated[list[date], _if_new], lambda turn: [date(2026, 1, 1) + timedelta(turn)], lambda _: [date(2026, 1, 3)]
)
UNDECIDED = {"counts": COUNTS, "highest": HIGHEST, "deep": DEEP, "replaces": REPLACES}


def _play(path: Path, graph: Graph, *, fails: bool) -> None:
    with SqliteSaver.from_conn_string(str(path)) as saver:
        built = graph.build(saver, fails=fails)
        if fails:
            with pytest.raises(ZeroDivisionError):
                built.invoke({"turn": 0}, on("t"))
        else:
            built.invoke({"turn": 0}, on("t"))


def _bulk(path: Path, supersteps: Sequence[Sequence[Any]]) -> list[str]:
    file = path.with_suffix(".jsonl")
    lines = [[{"values": {"x": value}, "as_node": "one", "next": ["END"]} for value in step] for step in supersteps]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return ["update", "t", "--bulk", str(file), "-d", str(path)]


def _refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run([*words, "--dry-run"]) == 7
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", UNDECIDED)
def test_a_case_that_no_step_shows_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pending writes of one step, and updates with them; a reducer that fits the steps would be wrong here."""
    _play(path := tmp_path / "t.sqlite", UNDECIDED[name], fails=True)
    assert "no step that counts shows what channel 'x' does with" in _refusal(
        ["replay", "t", "--commit", "-d", str(path)], capsys
    )
    assert run(["replay", "t", "-d", str(path), "--json"]) == 0
    assert "no step that counts shows" in json.loads(capsys.readouterr().out)["unknown"]["x"]


@pytest.mark.parametrize("supersteps", [((0, 0),), ((0,), (0,))])
@pytest.mark.parametrize("name", UNDECIDED)
def test_updates_one_after_the_other_are_refused_as_one_is(
    name: str, supersteps: Sequence[Sequence[int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second write of a superstep, or of the next one, finds what the first one wrote."""
    graph = UNDECIDED[name]
    _play(path := tmp_path / "t.sqlite", graph, fails=False)
    words = _bulk(path, [[graph.again for _ in step] for step in supersteps])
    assert "no step that counts shows" in _refusal(words, capsys)


def test_an_object_that_comes_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A date that the list has is known to be kept only from a step with such a one; also one that a person types."""
    _play(path := tmp_path / "t.sqlite", DATES, fails=True)
    assert "an object that it has already" in _refusal(["replay", "t", "--commit", "-d", str(path)], capsys)
    typed = json.dumps({"x": [{"$type": "datetime.date", "$value": "2026-01-02"}]})
    words = ["update", "t", "--values", typed, "--as-node", "one", *_NEXT, "-d", str(path)]
    assert "an object that it has already" in _refusal(words, capsys)


def test_the_elements_of_a_set_that_come_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A toggle and a set union are alike until an element comes again."""
    _play(path := tmp_path / "t.sqlite", TOGGLES, fails=True)
    words = ["replay", "t", "--commit", "-d", str(path)]
    assert "with an element that it has already" in _refusal(words, capsys)


def test_items_of_one_write_that_are_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No step shows what becomes of two items with one id in one write; the graph keeps the second one."""
    _play(path := tmp_path / "t.sqlite", ONE_WRITE, fails=False)
    assert "two items of one write with the same 'id'" in _refusal(_bulk(path, [[ONE_WRITE.again]]), capsys)


def test_elements_that_came_again_are_kept(tmp_path: Path) -> None:
    """Steps in which an element of a set came again show that the set keeps it."""
    united = Graph(Annotated[set[str], _unite], lambda turn: {"a", f"{turn}"}, {"a", "new"})
    _play(path := tmp_path / "t.sqlite", united, fails=True)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = united.build(saver)
        start = graph.get_state(on("t")).config
        assert run(["replay", "t", "--commit", "--yes", "-d", str(path)]) == 0
        mine = graph.get_state(on("t")).values
        graph.update_state(start, None, as_node=END)
        assert mine == graph.get_state(on("t")).values
        assert "new" in mine["x"]


def test_replay_names_weak_evidence_as_its_commit_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list that keeps the last three looks like an append for three turns; both say that few steps show it."""
    kept = Annotated[list[str], lambda old, new: (old + new)[-3:]]
    recent = Graph(kept, lambda turn: [f"{turn}"], lambda k: [f"new {k}"])
    path, said = tmp_path / "t.sqlite", "only a few steps show what x makes of writes"
    with SqliteSaver.from_conn_string(str(path)) as saver, pytest.raises(ZeroDivisionError):
        recent.build(saver, 3).invoke({"turn": 0}, on("t"))
    for words in (["--commit", "--dry-run"], ["--json"]):
        assert run(["replay", "t", *words, "-d", str(path)]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert said in shown


def test_replay_says_that_a_plain_reducer_is_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list that keeps the last ten looks like an append for nine turns: replay counts on none that nobody named."""
    kept = Annotated[list[str], lambda old, new: (old + new)[-10:]]
    recent = Graph(kept, lambda turn: [f"{turn}"], lambda k: [f"new {k}"])
    path, said = tmp_path / "t.sqlite", "what x makes of writes is learned from recorded steps"
    with SqliteSaver.from_conn_string(str(path)) as saver, pytest.raises(ZeroDivisionError):
        recent.build(saver, 9).invoke({"turn": 0}, on("t"))
    for words, is_said in (([], True), (["--reducer", "x=append"], False)):
        assert run(["replay", "t", *words, "--json", "-d", str(path)]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert [change["path"] for change in shown["changes"]] == ["x"]
        assert (said in shown["doubt"]) is is_said
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert len(recent.build(saver, 9, fails=False).invoke(None, on("t"))["x"]) == 10


@pytest.mark.parametrize("value", [1, 5])
def test_an_equal_value_is_refused_as_another_one_is(
    value: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``update_state`` adds 1 to a counter that is 1: it isn't the same as before."""
    _play(path := tmp_path / "t.sqlite", COUNTS, fails=False)
    write = {"x": {"k1": value}}
    words = ["update", "t", "--as-node", "one", "--values", json.dumps(write), *_NEXT, "-d", str(path)]
    assert "a key under which it has already" in _refusal(words, capsys)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = COUNTS.build(saver, fails=False)
        graph.update_state(on("t"), write, as_node="one")
        assert graph.get_state(on("t")).values["x"]["k1"] == 1 + value


PLAIN_DICT = Annotated[dict[str, Any], _unite]
LIST = Annotated[list[Any], operator.add]
DECIDED = {
    "new keys": (Graph(PLAIN_DICT, _new_key, {}), [[{"new": 1}, {"newer": 1}], [{"newest": {"a": 1}}]]),
    "counted new keys": (COUNTS._replace(again={}), [[{"new": 1}, {"newer": 4}], [{"newest": 1}]]),
    "keys again": (
        Graph(PLAIN_DICT, lambda turn: {"k": -turn, "l": turn, f"{turn}": 0}, {}),
        [[{"k": -99}], [{"k": -99, "l": 100}]],
    ),
    "dicts again": (
        Graph(PLAIN_DICT, lambda turn: {"k": {f"{turn}": 1}, f"{turn}": 0}, {}),
        [[{"k": {"a": 1}}, {"k": {"a": 1}}]],
    ),
    "new items": (
        Graph(LIST, lambda turn: [{"id": turn, "tags": []}], []),
        [[[{"id": 98, "tags": [1]}], [{"id": 99}]], [[{"id": 100}]]],
    ),
    "texts again": (Graph(LIST, lambda turn: [f"{turn % 3}"], []), [[["1"], ["1"]], [["1"]]]),
    "titles again": (Graph(LIST, lambda turn: [{"title": "t", "n": turn}], []), [[[{"title": "t", "n": 99}]]]),
    "last value": (Graph(dict[str, int], lambda turn: {f"{turn}": 1}, {}), [[{"1": 1}], [{"1": 1}]]),
    "messages": (
        Graph(Annotated[list[AnyMessage], add_messages], lambda turn: [HumanMessage(f"{turn}", id=f"{turn // 2}")], []),
        [[[{"role": "user", "content": "new", "id": "n"}], [{"role": "user", "content": "newer", "id": "n"}]]],
    ),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_steps_show_is_as_the_graph_has_it(name: str, tmp_path: Path) -> None:
    """New keys and items, and those again of which steps show what becomes of them, as ``bulk_update_state`` has it."""
    graph, supersteps = DECIDED[name]
    _play(path := tmp_path / "t.sqlite", graph, fails=False)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        built = graph.build(saver, fails=False)
        start = built.get_state(on("t")).config
        assert run([*_bulk(path, supersteps), "--yes"]) == 0
        mine = built.get_state(on("t")).values
        updates = [[StateUpdate({"x": value}, as_node="one") for value in step] for step in supersteps]
        built.bulk_update_state(start, updates)
        assert built.get_state(on("t")).values == mine
