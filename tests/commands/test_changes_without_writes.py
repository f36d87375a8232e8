"""Changes of the state that no stored write explains: `log` has each, as the library's history shows it."""

import operator
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel, Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.values.same import same
from tests.commands.asking import at
from tests.commands.test_exit_durability import extend
from tests.graphs.building import on


class State(TypedDict, total=False):
    """Channels of all kinds that matter here."""

    n: Annotated[int, operator.add]
    plain: str
    cart: dict[str, Any]
    story: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=100)]
    seen: Annotated[list[str], Topic(str, accumulate=True)]


def asks(_: State) -> State:
    """It asks, then writes."""
    return {"n": 10, "plain": interrupt("sure?")}


def fails_once(failures: list[bool]) -> Callable[[State], State]:
    """A node that fails while there are failures left."""

    def node(_: State) -> State:
        if failures:
            raise RuntimeError(failures.pop())
        return {"n": 10, "plain": "ok"}

    return node


def fails_later(questions: list[bool]) -> Callable[[State], State]:
    """A node that asks first and fails in the next run."""

    def node(_: State) -> State:
        if questions:
            interrupt(questions.pop())
        raise RuntimeError("later")

    return node


def unlike(graph: Any, channel: str) -> list[str]:
    """The checkpoints at which a channel has another value than at the parent, newest first, by the library."""
    history = list(graph.get_state_history(on("t")))
    values = {one.config["configurable"]["checkpoint_id"]: one.values.get(channel) for one in history}
    own = [(one, (one.parent_config or {}).get("configurable", {}).get("checkpoint_id")) for one in history]
    ids = [(one.config["configurable"]["checkpoint_id"], parent) for one, parent in own]
    return [i for i, parent in ids if parent and not same(values[i], values[parent]) and values[parent] != []]


def said(path: Path, channel: str) -> list[str]:
    """The checkpoints of which ``log --channel`` says that the channel changed; each change is in plain ``log`` too."""
    all_steps = at(path, log, "t").steps
    for step in (narrow := at(path, log, "t", channel=[channel]).steps):
        whole = next(one for one in all_steps if one.checkpoint_id == step.checkpoint_id)
        assert [change for change in whole.changes if change.channel == channel] == step.changes
    return [step.checkpoint_id for step in narrow if any(one.kind not in ("given", "same") for one in step.changes)]


def mends(_: State) -> State:
    """An error handler."""
    return {"n": 10, "plain": "ok"}


@pytest.mark.parametrize("case", ["answer", "retry", "handler"])
def test_one_step_of_a_run_without_its_writes_is_compared(
    tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``durability="exit"``, a step that goes on from a stored checkpoint leaves no writes; the states show it."""
    path, builder = tmp_path / "t.sqlite", StateGraph(State)
    node = {"answer": asks, "retry": fails_once([True]), "handler": fails_later([True])}[case]
    builder.add_node("b", node, error_handler=mends if case == "handler" else None)
    builder.add_edge(START, "b")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        with suppress(RuntimeError):
            graph.invoke({"n": 1}, on("t"))
        graph.invoke(Command(resume="ok") if case == "answer" else None, on("t"), durability="exit")
        for channel in ("n", "plain"):
            assert said(path, channel) == unlike(graph, channel) != []
    assert run(["log", "t", "-d", str(path)]) == 0
    assert "n 1→11; plain “ok”" in capsys.readouterr().out


def test_channels_beside_a_delta_channel_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``durability="exit"`` only writes to delta channels are stored."""
    path, builder = tmp_path / "t.sqlite", StateGraph(State)
    builder.add_node("a", lambda s: {"n": 1, "story": ["a"], "plain": f"x{s['n']}"})
    builder.add_edge(START, "a")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver, interrupt_before=["a"])
        graph.invoke({"n": 1}, on("t"))
        graph.invoke(None, on("t"), durability="exit")
        for channel in ("n", "plain"):
            assert said(path, channel) == unlike(graph, channel) != []
    assert run(["log", "t", "-d", str(path)]) == 0
    assert 'story wrote ["a"]; n 1→2; plain “x1”' in capsys.readouterr().out


def test_a_value_that_a_node_changed_in_place_is_no_silent_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row says the change, and that nothing wrote it; the values before and after of all rows join."""

    def adds(state: State) -> None:
        state["cart"]["n"] = state["cart"].get("n", 0) + 1

    path, builder = tmp_path / "t.sqlite", StateGraph(State)
    nodes: dict[str, Any] = {"a": adds, "b": lambda s: {"cart": {**s["cart"], "b": 1}}, "c": adds}
    for place, (name, node) in enumerate(nodes.items()):
        builder.add_node(name, node)
        builder.add_edge(START if not place else "ab"[place - 1], name)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        for given in ({"cart": {}}, {"n": 1}):
            graph.invoke(given, on("t"), durability="sync")
        assert said(path, "cart") == unlike(graph, "cart") != []
        final = graph.get_state(on("t")).values["cart"]
    steps = at(path, log, "t", channel=["cart"]).steps
    changes = [change for step in reversed(steps) for change in step.changes if change.kind == "changed"]
    assert [one.unwritten for one in changes] == [True, False, True, True, True]
    assert [one.before for one in changes[1:]] + [final] == [one.after for one in changes]
    assert run(["log", "t", "-n", "1", "-d", str(path)]) == 0
    assert 'cart {"n": 3, "b": 1} → {"n": 4, "b": 1} (no write)' in capsys.readouterr().out


def test_a_topic_that_is_stored_too_early_is_no_silent_change(tmp_path: Path) -> None:
    """A topic that accumulates is extended in place, while the checkpoint before is stored in the background."""
    stored, extended = Event(), Event()

    class Slow(SqliteSaver):
        """Stores the checkpoint of step 2 only after the last node ran."""

        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            assert metadata["step"] < 2 or extended.wait(30)
            saved = super().put(config, checkpoint, metadata, new_versions)
            if metadata["step"] == 1:
                stored.set()
            return saved

    path, builder = tmp_path / "t.sqlite", StateGraph(State)
    builder.add_node("a", lambda _: {"seen": ["a"]})
    builder.add_node("m", lambda _: {"plain": str(stored.wait(30))})
    builder.add_node("b", lambda _: {"seen": ["b"]})
    builder.add_node("c", lambda _: extended.set())
    for before, node in ((START, "a"), ("a", "m"), ("m", "b"), ("b", "c")):
        builder.add_edge(before, node)
    with Slow.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"n": 1, "seen": ["in"]}, on("t"), durability="async")
        assert said(path, "seen") == unlike(graph, "seen") != []
    steps = at(path, log, "t", channel=["seen"]).steps
    assert any(change.unwritten for step in steps for change in step.changes)
