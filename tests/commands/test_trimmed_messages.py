"""Delta channels of messages that are trimmed, and of dicts in which a null stays: what no stored value shows."""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


def trimmed(current: list[Any], writes: list[Any]) -> Any:
    """The last four messages; a message merge until the fifth."""
    for write in writes:
        current = add_messages(current, write)  # type: ignore[assignment]
    return current[-4:]


def without(current: dict[str, Any], writes: list[dict[str, Any]]) -> dict[str, Any]:
    """A dict in which a written null deletes its key; one that is there stays."""
    for write in writes:
        current = {k: v for k, v in {**current, **write}.items() if v is not None or k not in write}
    return current


class State(TypedDict, total=False):
    """One channel of each."""

    messages: Annotated[list, DeltaChannel(trimmed, snapshot_frequency=3)]
    facts: Annotated[dict, DeltaChannel(without, snapshot_frequency=2)]
    n: int


def thread(path: Path, node: Any, steps: int) -> dict[str, Any]:
    """What the graph reads after so many steps of one node in a loop."""
    builder = StateGraph(State)
    builder.add_node("work", node)
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda s: "work" if s["n"] < steps else END, ["work", END])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"n": 0}, ON)
        values: dict[str, Any] = app.get_state(ON).values
        return values


def test_more_messages_than_any_stored_value_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`get`, and a plan that stores them, say that nothing shows whether a reducer trims them."""
    path = tmp_path / "t.sqlite"

    def say(state: Any) -> dict[str, Any]:
        return {"messages": [HumanMessage(f"h{state['n']}", id=f"h{state['n']}")], "n": state["n"] + 1}

    real = thread(path, say, 5)
    assert run(["get", "t", "messages", "--json", "-d", str(path)]) == 0
    view = json.loads(capsys.readouterr().out)
    assert len(view["value"]) != len(real["messages"])
    assert ["so it isn't proven" in note for note in view["notes"]] == [True]
    assert run(["prune", "t", "--keep-last", "1", "--snapshot", "--dry-run", "--json", "-d", str(path)]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any("nothing shows that your reducer doesn't trim them" in note for note in notes)


CHANGES = {
    "rollback": (0, ["rollback", "t", "step:7"]),
    "edit": (0, ["edit", "t", "step:7", "--set", "n=99"]),
    "update": (7, ["update", "t", "step:7", "--values", '{"n": 99}', "--as-node", "work", "--next", "work"]),
    "fork": (7, ["fork", "t", "step:7", "--to", "x", "--shallow"]),
}


@pytest.mark.parametrize("frequency", [3, 100], ids=["stored", "never stored"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_others_keeps_the_messages(tmp_path: Path, change: str, frequency: int) -> None:
    """They are as LangGraph rebuilds them from the same writes, or the change that must store them is refused."""
    path, (code, words) = tmp_path / "t.sqlite", CHANGES[change]
    app = talk(path, frequency)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app.checkpointer = saver
        states = {state.metadata["step"]: state for state in app.get_state_history(ON)}
        assert run([*words, "--yes", "-d", str(path)]) == code
        after = app.get_state(ON)
    if code == 0:
        assert after.values["messages"] == states[7].values["messages"] != states[8].values["messages"]
    else:
        assert after == states[max(states)]


def test_messages_that_a_person_vouches_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The hint of the refusal works, an edit of a message has a note, and so has a value that no stored one shows."""
    path = tmp_path / "t.sqlite"
    talk(path, 100)
    update = ["update", "t", "step:7", "--values", '{"n": 99}', "--as-node", "work", "--next", "work", "-d", str(path)]
    assert run(update) == 7
    assert "--reducer messages=messages" in capsys.readouterr().err
    assert run([*update, "--reducer", "messages=messages", "--yes"]) == 0
    assert run(["undo", "--yes", "-d", str(path)]) == 0
    capsys.readouterr()
    assert run(["edit", "t", "--set", 'messages[0].content="x"', "--dry-run", "--json", "-d", str(path)]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any("nothing shows that your reducer doesn't trim them" in note for note in notes)
    assert run(["get", "t", "messages", "-d", str(path)]) == 0
    assert "as is usual for messages; no stored value that was read proves it" in capsys.readouterr().err


def test_an_update_of_messages_says_that_their_merge_is_supposed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no value is stored: the plan shows the new message, and LangGraph reads it behind the others."""
    path = tmp_path / "t.sqlite"
    app = talk(path, 100)
    said = ["--values", '{"messages": [{"role": "user", "content": "q"}]}', "--as-node", "work", "--next", "work"]
    assert run(["update", "t", *said, "--json", "--yes", "-d", str(path)]) == 0
    view = json.loads(capsys.readouterr().out)
    assert "message merge (supposed, as its values are messages)" in json.dumps(view)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app.checkpointer = saver
        assert [one.content for one in app.get_state(ON).values["messages"]][-2:] == ["hi", "q"]


def talk(path: Path, frequency: int) -> Any:
    """A graph that has said eight things, of which its list keeps the last four."""

    class Talk(TypedDict, total=False):
        messages: Annotated[list, DeltaChannel(trimmed, snapshot_frequency=frequency)]
        n: int

    builder = StateGraph(Talk)
    builder.add_node("work", lambda s: {"messages": [HumanMessage("hi", id=f"h{s['n']}")], "n": s["n"] + 1})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda s: "work" if s["n"] < 8 else END, ["work", END])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"n": 0}, ON)
    return app


def test_a_null_that_is_there_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reducer that deletes what is written as null leaves one that an Overwrite put there; nothing shows that."""
    path = tmp_path / "t.sqlite"

    def note(state: Any) -> dict[str, Any]:
        n = state["n"]
        facts: Any = Overwrite({"x": 1, "k": None}) if n == 10 else {f"f{n}": n, f"f{n - 1}": None}
        return {"facts": facts if n != 11 else {"m": 1}, "n": n + 1}

    real = thread(path, note, 12)
    assert "k" in real["facts"]
    assert run(["get", "t", "facts", "--json", "-d", str(path)]) == 0
    value = json.loads(capsys.readouterr().out)["value"]
    assert value == real["facts"] or value.get("$type") == "DeltaChannel"
