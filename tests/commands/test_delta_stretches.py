"""Delta channels from one stored value to the next: honest lines agree, a forged value stands out, a lost is said."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite, interrupt

from ckpt_cli.app import run

Captured = pytest.CaptureFixture[str]


def appended(current: list[str], writes: list[list[str]]) -> list[str]:
    """A list that grows."""
    return [*current, *(item for write in writes for item in write)]


class Kept(TypedDict, total=False):
    """What the graph keeps; every fourth update stores the whole list."""

    audit: Annotated[list[str], DeltaChannel(appended, snapshot_frequency=4)]
    n: int


def counting(saver: Any) -> Any:
    """Two nodes that each add an item."""
    graph = StateGraph(Kept)
    for name in ("a", "b"):
        graph.add_node(name, lambda state: {"audit": [f"n{state.get('n', 0)}"], "n": state.get("n", 0) + 1})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    return graph.compile(checkpointer=saver)


def on(thread: str) -> Any:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread}}


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    """The library's saver on a new file."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as opened:
        yield opened


def said(saver: SqliteSaver, capsys: Captured, *words: str, code: int = 0) -> Any:
    """What a command says as JSON."""
    saver.conn.commit()
    path = saver.conn.execute("PRAGMA database_list").fetchone()[2]
    capsys.readouterr()
    assert run([*words, "-d", path, "--json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


def snapshots(saver: SqliteSaver, thread: str) -> list[Any]:
    """The checkpoints that store the list, oldest first."""
    return [one for one in saver.list(on(thread)) if "audit" in one.checkpoint["channel_values"]][::-1]


def of_audit(view: Any) -> tuple[str, list[tuple[str, str, list[int]]]]:
    """What ``verify`` says of the channel: its evidence, and its findings."""
    [thread] = view["threads"]
    [channel] = [one for one in thread["channels"] if one["channel"] == "audit"]
    found = [one for one in thread["findings"] if one["channel"] == "audit"]
    return channel["evidence"], [
        (one["kind"], one["verdict"], sorted(at["step"] for at in one["checkpoints"])) for one in found
    ]


def honest(saver: SqliteSaver, kind: str) -> None:
    """A thread whose line begins at a stored value."""
    graph = counting(saver)
    for _ in range(2 if kind == "exit" else 4):
        graph.invoke({}, on("t"), durability="exit" if kind == "exit" else "sync")
    if kind == "pruned":
        saver.conn.commit()
        path = saver.conn.execute("PRAGMA database_list").fetchone()[2]
        assert run(["prune", "t", "--keep-last", "1", "-d", path, "--yes"]) == 0
    if kind == "deleted":
        first = snapshots(saver, "t")[0].config["configurable"]["checkpoint_id"]
        for table in ("checkpoints", "writes"):
            saver.conn.execute(f"DELETE FROM {table} WHERE checkpoint_id < ?", (first,))
    for _ in range(3):
        graph.invoke({}, on("t"))


@pytest.mark.parametrize("kind", ["exit", "pruned", "deleted"])
def test_a_line_that_begins_at_a_stored_value(saver: SqliteSaver, capsys: Captured, kind: str) -> None:
    """Each stored value is the one before with the writes since: nothing differs, with a named reducer or without."""
    honest(saver, kind)
    start, end = (one.metadata["step"] for one in snapshots(saver, "t")[-2:])
    for words in ([], ["--reducer", "audit=append"]):
        _, found = of_audit(said(saver, capsys, "verify", "t", *words))
        assert not [one for one in found if one[0] == "value"] and "differs" not in {verdict for _, verdict, _ in found}
        for first in (start, end - 1):
            view = said(saver, capsys, "replay", "t", f"step:{first}", "--to", f"step:{end}", *words)
            assert {one["verdict"] for one in view["steps"]} == {"agrees"}


def test_a_forged_value_stands_out(saver: SqliteSaver, capsys: Captured) -> None:
    """Only the stretches that end or begin with it don't fit; the other stored values still show the reducer."""
    graph = counting(saver)
    for _ in range(10):
        graph.invoke({}, on("t"))
    forged = snapshots(saver, "t")[1]
    stored = forged.checkpoint["channel_values"]["audit"]
    forged.checkpoint["channel_values"]["audit"] = type(stored)(["forged", *stored.value[1:]])
    saver.put(
        {
            "configurable": {
                **forged.config["configurable"],
                "checkpoint_id": (forged.parent_config or {})["configurable"]["checkpoint_id"],
            }
        },
        forged.checkpoint,
        forged.metadata,
        {},
    )
    at = [one.metadata["step"] for one in snapshots(saver, "t")]
    assert of_audit(said(saver, capsys, "verify", "t")) == (
        "append (3 of 5 stretches)",
        [("value", "unknown", at[1:3])],
    )
    named = said(saver, capsys, "verify", "t", "--reducer", "audit=append", code=1)
    assert of_audit(named) == ("append (as you say)", [("value", "differs", at[1:3])])
    for state in graph.get_state_history(on("t")):
        step = state.metadata["step"]
        if step > 0 and step % 3 == 0:
            assert said(saver, capsys, "get", "t", "audit", "--at", f"step:{step}")["value"] == state.values["audit"]
    lines = said(saver, capsys, "blame", "t", "audit")["lines"]
    assert [one["since"]["node"] for one in lines] == [None, *"ba" * 9, "b"]


def test_the_last_step_of_a_stretch(saver: SqliteSaver, capsys: Captured) -> None:
    """An Overwrite alone decides beside other tasks; an update stores a value without the waiting tasks' writes."""
    graph = StateGraph(Kept)
    graph.add_node("a", lambda _: {"audit": ["a"]})
    graph.add_node("b", lambda _: {"audit": Overwrite(["new"])})
    graph.add_node("c", lambda _: {"audit": ["c"]})
    graph.add_node("d", lambda _: {"audit": [interrupt("?")]})
    graph.add_node("e", lambda _: {"audit": ["e"]})
    for start, end in ((START, "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("b", "e")):
        graph.add_edge(start, end)
    agent = graph.compile(checkpointer=saver)
    agent.invoke({"audit": ["in"]}, on("t"))
    agent.update_state(on("t"), {"audit": ["updated"]}, as_node="e")
    assert [one.checkpoint["channel_values"]["audit"].value for one in snapshots(saver, "t")] == [
        ["new"],
        ["new", "updated"],
    ]
    _, found = of_audit(said(saver, capsys, "verify", "t", "--reducer", "audit=append"))
    assert "value" not in {kind for kind, _, _ in found}


def test_a_lost_stored_value(saver: SqliteSaver, capsys: Captured) -> None:
    """The counters show that the value went on from one that is gone: none is named, and changes warn."""
    graph = counting(saver)
    for _ in range(5):
        graph.invoke({}, on("t"))
    lost = snapshots(saver, "t")[0]
    for table in ("checkpoints", "writes"):
        gone = lost.config["configurable"]["checkpoint_id"]
        saver.conn.execute(f"DELETE FROM {table} WHERE checkpoint_id <= ?", (gone,))
    step = lost.metadata["step"] + 1
    [state] = [one for one in graph.get_state_history(on("t")) if one.metadata["step"] == step]
    assert state.values["audit"] == []  # LangGraph starts it empty
    rev = f"step:{step}"
    assert said(saver, capsys, "get", "t", "audit", "--at", rev)["value"] == {"$type": "DeltaChannel", "writes": []}
    note = said(saver, capsys, "show", "t", rev)["channels"]["audit"]["note"]
    assert note == "delta: 0 writes since a stored value that is gone; LangGraph starts it empty"
    _, found = of_audit(said(saver, capsys, "verify", "t", code=1))
    assert found[0] == ("delta-gap", "differs", [step])
    assert not [one for one in found if one[0] == "value"]
    for words in (
        ["rollback", "t", rev],
        ["fork", "t", rev],
        ["fork", "t", rev, "--to", "u"],
        ["edit", "t", rev, "--set", "n=1"],
    ):
        notes = said(saver, capsys, *words, "--dry-run")["notes"]
        assert (
            "the stored value that the writes of delta channel audit go on from is gone; LangGraph starts it empty"
            in notes
        )


def by_set(current: set[int], writes: list[set[int]]) -> set[int]:
    """A set that grows."""
    return current.union(*writes)


def by_new(current: list[str], writes: list[list[str]]) -> list[str]:
    """A list that drops what it has."""
    for write in writes:
        current = [*current, *(item for item in write if item not in current)]
    return current


def by_key(current: dict[str, Any], writes: list[dict[str, Any]]) -> dict[str, Any]:
    """A dict from which null deletes."""
    merged = dict(current)
    for write in writes:
        merged.update(write)
    return {key: value for key, value in merged.items() if value is not None}


OTHERS: dict[str, tuple[Any, Any, list[Any]]] = {
    "set union": (set[int], by_set, [{1}, {2, 3}, {1}, {4}, {2}, {5}, {1, 6}]),
    "append if new": (list[str], by_new, [["a"], ["b"], ["a"], ["c"], ["b"], ["d"], ["a", "e"]]),
    "dict union without nulls": (
        dict[str, Any],
        by_key,
        [{"a": 1}, {"b": 2}, {"a": None}, {"c": 3}, {"b": None}, {"a": 4}, {"c": None, "d": 5}],
    ),
}


def recorded(saver: SqliteSaver, given: tuple[Any, Any, list[Any]], count: int) -> Any:
    """A graph whose channel has this reducer, and takes so many of its writes; every third update stores it whole."""
    kind, fold, writes = given
    state: Any = TypedDict("Other", {"audit": Annotated[kind, DeltaChannel(fold, snapshot_frequency=3)], "n": int})  # type: ignore[misc]
    graph = StateGraph(state)
    graph.add_node("a", lambda state: {"audit": writes[state.get("n", 0) % len(writes)], "n": state.get("n", 0) + 1})
    graph.add_edge(START, "a")
    app = graph.compile(checkpointer=saver)
    for _ in range(count):
        app.invoke({}, on("t"), durability="sync")
    return app


@pytest.mark.parametrize("name", OTHERS)
def test_more_reducers_are_learned(saver: SqliteSaver, capsys: Captured, name: str) -> None:
    """Where stored values prove one, each value is the library's, before and after a pruning that stores it whole."""
    app = recorded(saver, OTHERS[name], 11)
    evidence, found = of_audit(said(saver, capsys, "verify", "t"))
    assert evidence.startswith(f"{name} (") and not found

    def values() -> dict[int, Any]:
        states = [one for one in app.get_state_history(on("t")) if one.metadata["step"] > 3 and "audit" in one.values]
        return {one.metadata["step"]: one.values["audit"] for one in states}

    def shown(step: int) -> Any:
        value = said(saver, capsys, "get", "t", "audit", "--at", f"step:{step}")["value"]
        return set(value["$value"]) if isinstance(value, dict) and "$type" in value else value

    before = values()
    assert len(before) > 10
    assert {step: shown(step) for step in before} == before
    said(saver, capsys, "prune", "t", "--keep-last", "2", "--snapshot", "--yes")
    after = values()
    assert len(after) == 2 and after == {step: before[step] for step in after}


def test_what_two_reducers_leave_open_is_not_said(saver: SqliteSaver, capsys: Captured) -> None:
    """No stored value shows what becomes of a known item: a value is said until one comes."""
    graph = StateGraph(Kept)
    writes = [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["a"]]
    graph.add_node("a", lambda state: {"audit": writes[state.get("n", 0)], "n": state.get("n", 0) + 1})
    graph.add_edge(START, "a")
    app = graph.compile(checkpointer=saver)
    for _ in range(6):
        app.invoke({}, on("t"), durability="sync")
    assert said(saver, capsys, "get", "t", "audit")["value"] == ["a", "b", "c", "d", "e", "f"]
    app.invoke({}, on("t"), durability="sync")
    assert said(saver, capsys, "get", "t", "audit")["value"] != ["a", "b", "c", "d", "e", "f", "a"]


def test_numbers_are_summed(saver: SqliteSaver, capsys: Captured) -> None:
    """A number has no elements, and nothing is appended to it: its reducer is a sum, and a note doesn't count any."""
    app = recorded(saver, (int, lambda current, writes: current + sum(writes), [5, 2, 3, 4, 1]), 11)
    evidence, found = of_audit(said(saver, capsys, "verify", "t"))
    assert evidence.startswith("sum (") and not found
    numbers = {one.metadata["step"]: one.values.get("audit") for one in app.get_state_history(on("t"))}
    view = said(saver, capsys, "get", "t", "audit", "--at", "step:22")
    assert view["value"] == numbers[22]
    assert view["notes"] and all("by sum" in note and "elements" not in note for note in view["notes"])


@pytest.mark.parametrize("frequency", [2, 3, 5])
def test_a_list_of_the_last_items_is_no_topic(saver: SqliteSaver, capsys: Captured, frequency: int) -> None:
    """Where each round writes the same items, the stored list looks as if it had those of the next round too."""

    def last(current: list[str], writes: list[list[str]]) -> list[str]:
        return [*current, *(item for write in writes for item in write)][-6:]

    state: Any = TypedDict("Window", {"audit": Annotated[list[str], DeltaChannel(last, snapshot_frequency=frequency)]})  # type: ignore[misc]
    graph = StateGraph(state)
    for name, items in (("begin", None), ("act", ["act", "act"]), ("idle", ["idle"]), ("end", None)):
        graph.add_node(name, lambda _, items=items: {} if items is None else {"audit": items})
    for one, other in ((START, "begin"), ("begin", "act"), ("begin", "idle"), (["act", "idle"], "end")):
        graph.add_edge(one, other)
    graph.add_conditional_edges("end", lambda _: "begin", ["begin"])
    with pytest.raises(GraphRecursionError):
        graph.compile(checkpointer=saver).invoke({}, {**on("t"), "recursion_limit": 40}, durability="sync")
    _, found = of_audit(said(saver, capsys, "verify", "t"))
    assert "changed-without-version" not in {kind for kind, _, _ in found}


def test_a_value_that_an_overwrite_gave_shows_no_reducer(saver: SqliteSaver, capsys: Captured) -> None:
    """It agrees whichever the reducer, and the line says so in other words than of a reducer that one stretch shows."""
    for thread, written in (("replaced", Overwrite(["new"])), ("added", ["new"])):
        graph = StateGraph(Kept).add_node("a", lambda _, written=written: {"audit": ["old"], "n": 1})
        graph.add_node("b", lambda _, written=written: {"audit": written}).add_edge(START, "a").add_edge("a", "b")
        graph.add_node("c", lambda _: {"n": 2}).add_edge("b", "c")
        compiled: Any = graph.compile(checkpointer=saver)
        compiled.invoke({"audit": ["first"]}, on(thread))
        compiled.invoke({"audit": ["second"]}, on(thread))
    threads = {one["thread_id"]: one for one in said(saver, capsys, "verify")["threads"]}
    words = {name: [c["evidence"] for c in one["channels"] if c["channel"] == "audit"] for name, one in threads.items()}
    assert words == {"replaced": ["no stored value shows its reducer"], "added": ["append (1 of 1 stretch)"]}
