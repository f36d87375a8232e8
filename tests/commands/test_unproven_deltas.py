"""Delta channels whose reducer nothing proves: no value is named or stored, and LangGraph reads the same as before."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Overwrite, interrupt

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


def recent(current: list[str], writes: list[list[str]]) -> list[str]:
    """A list without duplicates; an item that comes again moves to the end."""
    joined = [*current, *(item for write in writes for item in write)]
    return [item for place, item in enumerate(joined) if item not in joined[place + 1 :]]


def appended(current: list[str], writes: list[list[str]]) -> list[str]:
    """A list that grows."""
    return [*current, *(item for write in writes for item in write)]


def merged(current: dict[str, int], writes: list[dict[str, int]]) -> dict[str, int]:
    """A dict that grows; it can't begin as a list."""
    return {key: value for part in (current, *writes) for key, value in part.items()}


def joined(current: set[str], writes: list[set[str]]) -> set[str]:
    """A set that grows; it can't begin as a list."""
    return current.union(*writes)


def asking(saver: SqliteSaver, frequency: int = 100) -> Any:
    """Three nodes that write what was there before; the second one asks."""

    class State(TypedDict, total=False):
        seq: Annotated[list, DeltaChannel(recent, snapshot_frequency=frequency)]
        n: int

    graph = StateGraph(State)
    graph.add_node("a", lambda _: {"seq": ["a", "x"], "n": 1})
    graph.add_node("ask", lambda _: {"seq": ["b", "y"], "n": interrupt("?")})
    graph.add_node("z", lambda _: {"seq": ["z"]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "ask")
    graph.add_edge("ask", "z")
    return graph.compile(checkpointer=saver)


def recorded(path: Path, frequency: int, *, answered: bool) -> None:
    """A thread that waits for an answer, or has run to its end."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = asking(saver, frequency)
        graph.invoke({"seq": ["x", "y"]}, ON)
        if answered:
            graph.invoke(Command(resume=2), ON)


@pytest.mark.parametrize("frequency", [100, 4], ids=["never stored", "stored later"])
def test_no_value_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], frequency: int) -> None:
    """`get`, `show` and `replay --to` give the writes, and no list that the channel never held."""
    recorded(tmp_path / "t.sqlite", frequency, answered=True)
    said = []
    for words in (["get", "t", "seq", "--at", "step:1"], ["show", "t", "step:1"], ["replay", "t", "--to", "@"]):
        assert run([*words, "-d", str(tmp_path / "t.sqlite"), "--json"]) == 0
        said.append(capsys.readouterr().out)
    assert json.loads(said[0])["value"] == {"$type": "DeltaChannel", "writes": [["x", "y"], ["a", "x"]]}
    assert not any(wrong in text for text in said for wrong in ("by append", "append (", "by its values"))


@pytest.mark.parametrize(("written", "is_supposed"), [([], False), ([HumanMessage("hi")], True)], ids=["empty", "one"])
def test_a_merge_of_messages_is_supposed_of_messages_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: list[Any], is_supposed: bool
) -> None:
    """`show`, `verify` and `replay` suppose it of a list that got a message, not of one that got nothing."""

    class State(TypedDict, total=False):
        seq: Annotated[list[Any], DeltaChannel(appended, snapshot_frequency=100)]

    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(State).add_node("a", lambda _: {"seq": []}).add_edge(START, "a")
        graph.compile(checkpointer=saver).invoke({"seq": written}, ON)
    for words in (["show", "t"], ["verify", "t"], ["replay", "t", "step:-1", "--to", "@"]):
        assert run([*words, "-d", str(path)]) == 0
        assert ("message merge" in capsys.readouterr().out) is is_supposed


CHANGES: dict[str, tuple[bool, list[str], Callable[[Any], Any]]] = {
    "rollback": (True, ["rollback", "t", "step:1"], lambda s: s),
    "fork": (True, ["fork", "t", "step:1"], lambda s: s),
    "edit of the past": (True, ["edit", "t", "step:1", "--set", "n=7"], lambda s: {**s, "n": 7}),
    "edit": (False, ["edit", "t", "--set", "n=7"], lambda s: {**s, "n": 7}),
    "commit": (False, ["replay", "t", "--commit"], lambda s: s),
    "update": (
        False,
        ["update", "t", "--as-node", "ask", "--next", "z", "--values", '{"seq": ["y"]}'],
        lambda s: {**s, "seq": recent(s["seq"], [["y"]])},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("frequency", [100, 4], ids=["never stored", "stored later"])
def test_a_change_keeps_the_librarys_value(tmp_path: Path, change: str, frequency: int) -> None:
    """After the change the channel has the value that it really had at the changed checkpoint."""
    path = tmp_path / "t.sqlite"
    answered, words, expected = CHANGES[change]
    recorded(path, frequency, answered=answered)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        states = asking(saver, frequency).get_state_history(ON)
        before = next(state.values for state in states if state.metadata["step"] == 1)
    assert before["seq"] == ["y", "a", "x"]
    assert run([*words, "-d", str(path), "--yes"]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert asking(saver, frequency).get_state(ON).values == expected(before)


@pytest.mark.parametrize(
    "words",
    [
        ["update", "t", "step:1", "--values", '{"n": 5}', "--as-node", "ask", "--next", "z"],
        ["edit", "t", "step:1", "--append", 'seq="new"'],
        ["edit", "t", "step:1", "--set", 'seq.writes[0]="new"'],
        ["fork", "t", "step:1", "--to", "copy", "--shallow"],
    ],
    ids=lambda words: f"{words[0]} {words[3]}",
)
def test_what_needs_the_value_is_refused(tmp_path: Path, words: list[str]) -> None:
    """Where a checkpoint must store the value itself, nothing is written."""
    path = tmp_path / "t.sqlite"
    recorded(path, 100, answered=True)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        before = list(saver.list(None))
        assert run([*words, "-d", str(path), "--yes"]) != 0
        assert list(saver.list(None)) == before


def test_a_part_is_unknown_and_not_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """LangGraph has an item there: `get` and `edit` say that nothing proves it, and what to type instead."""
    path = tmp_path / "t.sqlite"
    recorded(path, 100, answered=True)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert asking(saver).get_state(ON).values["seq"][0] == "a"
    said = {}
    reason = "seq[0] isn't known: nothing proves the reducer of delta channel seq"
    for code, *words in (
        (5, "get", "t", "seq[0]"),
        (5, "get", "--each", "seq[0]"),
        (5, "get", "--each", "seq[0]", "--group"),
        (7, "edit", "t", "--set", 'seq[0]="q"', "--yes"),
        (7, "edit", "--match", "t", "--set", 'seq[0]="q"', "--yes"),
    ):
        assert run([*words, "-d", str(path)]) == code
        said[" ".join(words)] = " ".join("".join(capsys.readouterr()).split())
    assert all(reason in text for line, text in said.items() if "get" in line)
    assert all("isn't known" in text and "--set seq=JSON" in text for line, text in said.items() if "edit" in line)
    assert "ckpt blame t 'seq[0]' --reducer seq=NAME" in said["get t seq[0]"]
    assert run(["get", "t", "seq.writes[0][0]", "-d", str(path)]) == 0  # as the hint says, the writes can be read


def test_a_named_reducer_gives_the_value(tmp_path: Path) -> None:
    """With ``--reducer`` an update in the past stores the value that this reducer gives."""
    path = tmp_path / "t.sqlite"
    recorded(path, 100, answered=True)
    words = ["update", "t", "step:1", "--values", '{"n": 5}', "--as-node", "ask", "--next", "z"]
    assert run([*words, "--reducer", "seq=append", "-d", str(path), "--yes"]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert asking(saver).get_state(ON).values == {"seq": ["x", "y", "a", "x"], "n": 5}


def test_a_stored_value_is_not_called_unproven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the value before an update is stored and its reducer is unknown, the refusal says so; its ways out work."""
    path, at = tmp_path / "t.sqlite", "step:1"
    recorded(path, 2, answered=True)
    words = ["update", "t", at, "--values", '{"seq": ["y"]}', "--as-node", "ask", "--next", "z"]
    assert run([*words, "-d", str(path), "--yes"]) == 7
    said = capsys.readouterr().err
    assert "nothing proves what the reducer of delta channel 'seq' makes of this write" in said
    assert "the value before it is stored" in said and "ckpt edit --set seq=JSON" in said
    ways = {"append": [*words, "--reducer", "seq=append"], "edit": ["edit", "t", at, "--set", 'seq=["e"]', "--rerun"]}
    for way, line in ways.items():
        assert run([*line, "-d", str(path), "--yes"]) == 0
        with SqliteSaver.from_conn_string(str(path)) as saver:
            assert asking(saver, 2).get_state(ON).values["seq"] == {"append": ["y", "a", "x", "y"], "edit": ["e"]}[way]


KINDS: dict[str, tuple[type, Callable[..., Any], Any]] = {
    "dict": (dict, merged, {"k": 1}),
    "set": (set, joined, {"k"}),
}


def growing(saver: SqliteSaver, kind: str, frequency: int) -> Any:
    """Two nodes; the first one is the first to write to a dict or a set."""
    made, reducer, written = KINDS[kind]
    channel = Annotated[made, DeltaChannel(reducer, snapshot_frequency=frequency)]  # type: ignore[valid-type]
    graph = StateGraph(TypedDict("State", {"files": channel, "n": int}, total=False))  # type: ignore[operator]
    graph.add_node("a", lambda _: {"files": written, "n": 1})
    graph.add_node("b", lambda _: {"files": written})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("frequency", [100, 1], ids=["never stored", "stored later"])
@pytest.mark.parametrize(
    "words",
    [["rollback", "t", "step:0"], ["fork", "t", "step:0"], ["edit", "t", "step:0", "--set", "n=5"], ["update"]],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_channel_keeps_its_type(tmp_path: Path, kind: str, words: list[str], frequency: int) -> None:
    """Before the first write, the channel is the empty value of its type, and the graph runs on from there."""
    path, (made, _, written) = tmp_path / "t.sqlite", KINDS[kind]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        growing(saver, kind, frequency).invoke({"n": 0}, ON)
    is_refused = words == ["update"] and frequency == 100
    if words == ["update"]:
        words = ["update", "t", "step:0", "--values", '{"n": 5}', "--as-node", "a"]
    assert (run([*words, "-d", str(path), "--yes"]) != 0) == is_refused
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = growing(saver, kind, frequency)
        assert graph.get_state(ON).values["files"] == (written if is_refused else made())
        assert graph.invoke(None, ON)["files"] == written


def test_a_value_is_unproved_only_where_there_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the first write, only the type of the empty value isn't known; the library has it empty after that."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = growing(saver, "set", 100)
        graph.invoke({"n": 0}, ON)
        for step, why in (
            ("step:0", "no stored value shows the type of delta channels that are empty there: files"),
            ("step:1", "nothing proves the values of delta channels files"),
        ):
            assert run(["rollback", "t", step, "-d", str(path), "--yes"]) == 0
            assert f"made beside it, not after it, as a fork is: {why}\n" in capsys.readouterr().out
            assert graph.get_state(ON).values["files"] == (set() if step == "step:0" else {"k"})
            assert run(["undo", "-d", str(path), "--yes"]) == 0


def replacing(saver: SqliteSaver) -> Any:
    """A list of texts that the second node replaces."""

    class State(TypedDict, total=False):
        dl: Annotated[list, DeltaChannel(appended, snapshot_frequency=50)]

    graph = StateGraph(State)
    graph.add_node("a", lambda _: {"dl": ["a"]})
    graph.add_node("b", lambda _: {"dl": Overwrite(["reset"])})
    graph.add_node("c", lambda _: {"dl": ["c"]})
    graph.add_node("d", lambda _: {"dl": ["d"]})
    for start, end in ((START, "a"), ("a", "b"), ("b", "c"), ("c", "d")):
        graph.add_edge(start, end)
    return graph.compile(checkpointer=saver)


def test_an_overwrite_proves_no_reducer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Texts aren't merged as messages; a replaced value is known; no step shows the writes of later steps."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        replacing(saver).invoke({"dl": ["in"]}, ON)
    assert run(["show", "t", "step:4", "-d", str(path)]) == 0
    assert "message merge" not in capsys.readouterr().out
    assert run(["replay", "t", "--to", "@", "-d", str(path), "--json"]) == 0
    played = capsys.readouterr().out
    assert "message merge" not in played
    steps = {step["step"]: step for step in json.loads(played)["steps"]}
    assert (steps[2]["verdict"], '"d"' in json.dumps(steps[3])) == ("agrees", False)


def test_the_refused_copy_without_ancestors_names_the_one_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """LangGraph reads the same value from the copy with all ancestors."""
    path = tmp_path / "t.sqlite"
    recorded(path, 100, answered=True)
    assert run(["fork", "t", "@", "--to", "copy", "--shallow", "-d", str(path), "--yes"]) != 0
    assert "without --shallow its ancestors are copied too" in " ".join(capsys.readouterr().err.split())
    assert run(["fork", "t", "@", "--to", "copy", "-d", str(path), "--yes"]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        copy: Any = {"configurable": {"thread_id": "copy"}}
        assert asking(saver).get_state(copy).values == asking(saver).get_state(ON).values


def verdicts(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The exit code of ``ckpt verify``, and the kinds of what contradicts itself."""
    capsys.readouterr()
    code = run(["verify", "t", "-d", str(path), "--json"])
    [thread] = json.loads(capsys.readouterr().out)["threads"]
    return code, [one["kind"] for one in thread["findings"] if one["verdict"] == "differs"]


def test_an_edit_beside_its_checkpoint_contradicts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`verify` finds nothing, before and after the next run, though the edit continues a step that its parent lacks."""
    path = tmp_path / "t.sqlite"
    recorded(path, 100, answered=True)
    assert run(["edit", "t", "step:1", "--set", "n=7", "--yes", "-d", str(path)]) == 0
    assert "made beside it" in "".join(capsys.readouterr())
    assert verdicts(path, capsys) == (0, [])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        asking(saver).invoke(Command(resume=2), ON)
    assert verdicts(path, capsys) == (0, [])


def test_an_update_with_another_parent_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An update after a checkpoint isn't one beside it: its counters are a step further."""
    path = tmp_path / "t.sqlite"
    recorded(path, 100, answered=False)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = asking(saver)
        at = graph.get_state(ON)
        assert at.parent_config is not None
        made = graph.update_state(at.config, {"n": 7}, as_node="ask")["configurable"]["checkpoint_id"]
        assert verdicts(path, capsys) == (0, [])
        forged = (at.parent_config["configurable"]["checkpoint_id"], made)
        saver.conn.execute("UPDATE checkpoints SET parent_checkpoint_id = ? WHERE checkpoint_id = ?", forged)
        saver.conn.commit()
    assert verdicts(path, capsys) == (1, ["wrong-parent"])


def test_an_edit_beside_its_checkpoint_gave_only_what_it_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`log` compares it with the checkpoint that was edited, and `blame` doesn't credit it with what it found there."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        building(saver).invoke({"seq": ["x", "y"]}, ON)
    words = ["edit", "t", "step:1", "--set", 'parts[1]="Q"', "--yes", "--rerun", "-d", str(path)]
    assert run(words) == 0
    assert "made beside it" in "".join(capsys.readouterr())
    said = {}
    for verb, *rest in (("blame", "parts"), ("blame", "n"), ("log", "-n", "1")):
        assert run([verb, "t", *rest, "--json", "-d", str(path)]) == 0
        said[verb, rest[0]] = json.loads(capsys.readouterr().out)
    credit = [(one["value"], one["since"]["by"]) for one in said["blame", "parts"]["lines"]]
    assert credit == [("p", ""), ("Q", "update"), ("r", "")]
    [number] = said["blame", "n"]["lines"]
    assert number["since"]["by"] == "" and "made beside" in number["since"]["why"]
    [step] = said["log", "-n"]["steps"]
    assert [change["channel"] for change in step["changes"]] == ["parts"]


def building(saver: SqliteSaver) -> Any:
    """Two nodes, of which the first gives all values and the second only goes on with the delta channel."""

    class State(TypedDict, total=False):
        seq: Annotated[list, DeltaChannel(recent, snapshot_frequency=100)]
        n: int
        parts: list[str]

    graph = StateGraph(State)
    graph.add_node("a", lambda _: {"seq": ["a", "x"], "n": 1, "parts": ["p", "q", "r"]})
    graph.add_node("b", lambda _: {"seq": ["b", "y"]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    return graph.compile(checkpointer=saver)


def test_no_reducer_is_asked_for_where_none_would_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the empty checkpoint before a run with durability "exit", an update is refused with the way that works."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        building(saver).invoke({"seq": ["x"]}, ON, durability="exit")
        stub = min(one.checkpoint["id"] for one in saver.list(ON))
        words = ["--values", '{"n": 5}', "--as-node", "b", "--next", "END", "--reducer", "n=last value", "--yes"]
        words += ["-d", str(path)]
        assert run(["update", "t", stub, *words]) == 7
        refused = capsys.readouterr().err
        assert "--reducer" not in refused and "`ckpt fork` needs no value" in refused
        assert run(["fork", "t", stub, "--yes", "-d", str(path)]) == 0
        assert run(["update", "t", "@", *words]) == 0
        assert building(saver).get_state(ON).values == {"n": 5, "seq": []}


def test_a_whole_value_changes_no_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a value that nothing proves no type is known, so nothing is said of one; the library has the new value."""
    recorded(path := tmp_path / "t.sqlite", 100, answered=True)
    assert run(["edit", "t", "--set", 'seq=["new"]', "--yes", "-d", str(path)]) == 0
    said = capsys.readouterr()
    assert "plain JSON now" not in said.out + said.err
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert asking(saver).get_state(ON).values["seq"] == ["new"]
