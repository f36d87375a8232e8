"""Plans refuse writes in a case that no recorded step was in: there, a reducer of the graph's own may do otherwise."""

import json
import operator
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run

_TURNS = 12


def _count(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    return old | {key: old.get(key, 0) + value for key, value in new.items()}


def _unite(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    return old | new


def _by_url(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return old + [page for page in new if page["url"] not in {one["url"] for one in old}]


class Counted(TypedDict):
    turn: int
    hits: Annotated[dict[str, int], _count]


class United(TypedDict):
    turn: int
    hits: Annotated[dict[str, int], _unite]


class Listed(TypedDict):
    turn: int
    hits: Annotated[list[dict[str, Any]], _by_url]


def _emptied(old: list[Any], new: list[Any]) -> list[Any]:
    return old + new if new else []


class Emptied(TypedDict):
    turn: int
    hits: Annotated[list[dict[str, Any]], _emptied]


class Appended(TypedDict):
    turn: int
    hits: Annotated[list[dict[str, Any]], operator.add]


def _newer(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return old | {key: one for key, one in new.items() if key not in old or one["ts"] >= old[key]["ts"]}


class Newest(TypedDict):
    turn: int
    hits: Annotated[dict[str, dict[str, Any]], _newer]


def _deep(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    merged = {
        key: _deep(old[key], one) if isinstance(one, dict) and isinstance(old.get(key), dict) else one
        for key, one in new.items()
    }
    return {key: one for key, one in {**old, **merged}.items() if one is not None}


class Nested(TypedDict):
    turn: int
    hits: Annotated[dict[str, Any], _deep]


class NewestDelta(TypedDict):
    turn: int
    hits: Annotated[
        dict[str, dict[str, Any]], DeltaChannel(lambda old, new: reduce(_newer, new, old), snapshot_frequency=5)
    ]


def _later(turn: int) -> dict[str, Any]:
    return {f"page-{turn % 3}": {"ts": turn, "at": f"at {turn}"}}


def _late_at_last(turn: int) -> dict[str, Any]:
    return _later(turn) if turn < _TURNS - 1 else {"page-1": {"ts": 0, "at": "late"}}


def _key(turn: int) -> dict[str, int]:
    return {f"page-{turn}": 1}


def _page(turn: int) -> list[dict[str, Any]]:
    return [{"url": f"u{turn}", "at": turn}]


def _again(turn: int) -> dict[str, int]:
    return {f"page-{turn // 2 * 2}": turn}  # each key comes twice, with another value


def _same_page(turn: int) -> list[dict[str, Any]]:
    return [{"url": f"u{turn // 2}", "at": turn}]


def _nested(turn: int) -> dict[str, Any]:
    return {"draft": {"by": "Ada"}} if turn == 1 else {f"page-{turn - turn % 2}": None if turn % 2 else {"at": turn}}


def _page_or_none(turn: int) -> list[dict[str, Any]]:
    return [] if turn == 5 else _page(turn)


def _play(path: Path, state: type, written: Any) -> Any:
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(state).add_node("visit", lambda s: {"turn": s["turn"] + 1, "hits": written(s["turn"])})
        graph.add_edge(START, "visit")
        graph.add_conditional_edges("visit", lambda s: "visit" if s["turn"] < _TURNS else END)
        return graph.compile(checkpointer=saver).invoke(
            {"turn": 0}, {"configurable": {"thread_id": "t"}, "recursion_limit": 50}
        )


@pytest.mark.parametrize(
    ("state", "written", "write", "words"),
    [
        (Counted, _key, '{"hits": {"page-3": 5}}', "a key under which it has already a smaller number"),
        (United, _key, '{"hits": {"page-3": 5}}', "a key under which it has already a smaller number"),
        (Listed, _page, '{"hits": [{"url": "u3", "at": 99}]}', "an item whose 'url' it has already"),
        (Appended, _page, '{"hits": [{"url": "u3", "at": 99}]}', "an item whose 'url' it has already"),
        (Emptied, _page, '{"hits": []}', "an empty list"),
        (Newest, _later, '{"hits": {"page-1": {"ts": 0, "at": "late"}}}', "an object with a smaller 'ts'"),
        (Nested, _nested, '{"hits": {"draft": {"z": 1}}}', "a key under which it has already a dict"),
    ],
)
def test_a_case_that_no_step_was_in_is_refused(
    state: type, written: Any, write: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twelve steps with new keys or items fit a reducer, but don't show what it does with one that is there."""
    _play(path := tmp_path / "t.sqlite", state, written)
    assert (
        run(["update", "t", "--values", write, "--as-node", "visit", "--next", "END", "--dry-run", "--db", str(path)])
        == 7
    )
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("state", "written", "write"),
    [
        (Counted, _key, {"page-99": 5}),
        (United, _again, {"page-2": 7}),
        (Listed, _page, [{"url": "u99", "at": 1}]),
        (Appended, _same_page, [{"url": "u3", "at": 99}]),
        (Newest, _later, {"page-1": {"ts": 99, "at": "later"}}),
    ],
)
def test_a_case_that_a_step_was_in_is_as_the_graph_has_it(
    state: type, written: Any, write: Any, tmp_path: Path
) -> None:
    """New keys and items, and those of which a step shows what happens, become what ``update_state`` makes of them."""
    _play(path := tmp_path / "t.sqlite", state, written)
    words = [
        "update",
        "t",
        "--values",
        json.dumps({"hits": write}),
        "--as-node",
        "visit",
        "--next",
        "END",
        "--yes",
        "--db",
        str(path),
    ]
    assert run(words) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        config = {"configurable": {"thread_id": "t"}}
        graph = StateGraph(state).add_node("visit", lambda s: {}).add_edge(START, "visit").compile(checkpointer=saver)
        changed, before = [one.values["hits"] for one in list(graph.get_state_history(config))[:2]]
        graph.update_state([*graph.get_state_history(config)][1].config, {"hits": write}, as_node="visit")
        assert changed == graph.get_state(config).values["hits"] != before


def test_an_empty_list_adds_nothing_where_a_step_showed_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once a node added an empty list to an appending channel, one more is no question."""
    _play(path := tmp_path / "t.sqlite", Appended, _page_or_none)
    words = ["--values", '{"hits": []}', "--as-node", "visit", "--next", "END", "--dry-run", "--db", str(path)]
    assert run(["update", "t", *words]) == 0
    assert "the same as before: hits" in capsys.readouterr().out


def test_a_delta_channel_may_keep_what_is_newer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An object with a smaller number came last: no value is named, and a prune keeps what LangGraph rebuilds."""
    _play(path := tmp_path / "t.sqlite", NewestDelta, _late_at_last)
    assert run(["get", "t", "hits", "--json", "--db", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["value"]["$type"] == "DeltaChannel"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        config: Any = {"configurable": {"thread_id": "t"}}
        graph = StateGraph(NewestDelta).add_node("visit", lambda s: {}).add_edge(START, "visit")
        app = graph.compile(checkpointer=saver)
        before = app.get_state(config).values
        assert before["hits"]["page-1"]["at"] == "at 10"
        assert run(["prune", "t", "--keep-tips", "--snapshot", "--yes", "--db", str(path)]) == 0
        assert app.get_state(config).values == before
