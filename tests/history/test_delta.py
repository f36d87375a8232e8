"""Delta channels are rebuilt from a seed and later writes, as far as the record proves the reducer."""

from collections.abc import Iterable
from typing import Any

from ckpt_cli.history.reducers.delta import Station, rebuild
from ckpt_cli.history.reducers.rebuilt import Rebuilt, is_unproven
from ckpt_cli.history.reducers.reducers import ABSENT, APPEND
from ckpt_cli.history.state.channels import missing, unwrapped
from ckpt_cli.history.state.delta_counters import COUNTERS
from ckpt_cli.values.node import Node
from ckpt_cli.values.state import State
from tests.history.recorded import snapshot_of, state, write


def station(step: int, *written: Any, stored: Any = ABSENT, grown: bool = True) -> Station:
    """A checkpoint that may hold the channel ``log``, with writes to it."""
    values = {} if stored is ABSENT else {"log": stored}
    return Station(at(step, values), [write("t", "log", value, idx=i) for i, value in enumerate(written)], grown)


def at(step: int, values: dict[str, Any] | None = None) -> State:
    """A checkpoint of a thread whose ``log`` is a delta channel."""
    parent = None if step < 0 else step - 1
    return state(step, values or {}, {"log": step + 2}, parent=parent, **{COUNTERS: {"log": [1, 1]}})


def log(ancestors: Iterable[Station], ahead: Iterable[Station] = ()) -> Rebuilt:
    """The channel ``log`` at step 3."""
    return rebuild(at(3), ["log"], ancestors, lambda: ahead)["log"]


def test_seed_and_writes_on_the_way() -> None:
    """The value is made of the nearest stored value and the writes from its own row on, oldest first."""
    rebuilt = log([station(2, ["c"], ["d"]), station(1, ["b"], stored=snapshot_of(["a"])), station(0, ["x"])])
    assert (rebuilt.seed, rebuilt.writes) == (["a"], [["b"], ["c"], ["d"]])
    assert rebuilt.value_by(APPEND) == ["a", "b", "c", "d"]
    assert is_unproven(rebuilt.value)


def test_nothing_stored_yet() -> None:
    """A channel that was never stored began empty; only a stored value shows which type that was."""
    assert log([station(0, ["b"]), station(-1, ["a"])]).value_by(APPEND) == ["a", "b"]
    assert is_unproven(log([station(-1)]).value)
    assert log([station(-1)], [station(3, {"k": 1}), station(4, stored=snapshot_of({"k": 1}))]).value == {}


def test_later_values_speak_against_older_ones() -> None:
    """A reducer that older values prove must explain the next stored value too."""
    line = [station(2, ["c"]), station(1, stored=["a", "b"]), station(0, ["b"], stored=["a"])]
    assert is_unproven(log(line, [station(3, ["a"]), station(4, stored=snapshot_of(["b", "c", "a"]))]).value)
    assert not is_unproven(log(line, [station(3, ["a"]), station(4, stored=snapshot_of(["a", "b", "c", "a"]))]).value)


def test_an_overwrite_proves_nothing() -> None:
    """A span that ends with an Overwrite fits every reducer."""
    line = [station(2, ["c"]), station(1, stored=["a"]), station(0, {"__overwrite__": ["a"]}, stored=["x"])]
    assert (log(line).evidence, is_unproven(log(line).value)) == (None, True)


def test_older_values_prove_the_reducer() -> None:
    """A reducer must explain each span between two stored values."""
    line = [station(2, ["c"]), station(1, stored=["a", "b"]), station(0, ["b"], stored=["a"])]
    rebuilt = log(line)
    assert rebuilt.evidence is not None
    assert (rebuilt.evidence.reducer.name, rebuilt.evidence.steps, rebuilt.value) == ("append", 1, ["a", "b", "c"])


def test_unexplained_history_is_shown_as_seed_and_writes() -> None:
    """If no reducer fits the record, none is guessed."""
    line = [station(2, ["c"]), station(1, stored=["b", "a"]), station(0, ["b"], stored=["a"])]
    value = log(line).value
    assert isinstance(value, Node)
    assert (value.name, value.fields) == ("DeltaChannel", {"seed": ["b", "a"], "writes": [["c"]]})


def test_later_values_prove_it_where_there_is_no_older() -> None:
    """Before the first snapshot the next one is evidence; items that are no lists are collected, not joined."""
    ahead = [station(3, "d"), station(4, stored=snapshot_of(["a", "d"]))]
    rebuilt = log([station(-1, "a")], ahead)
    assert (rebuilt.reducer and rebuilt.reducer.name, rebuilt.value) == ("collect", ["a"])


def test_a_value_that_did_not_grow_here_is_no_evidence() -> None:
    """A fork or a replay stores values that its parent's writes didn't make."""
    ahead = [station(3, ["d"]), station(4, stored=snapshot_of(["else"]), grown=False)]
    rebuilt = log([station(-1, ["a"])], ahead)
    assert (rebuilt.shown.steps, is_unproven(rebuilt.value)) == (0, True)


def test_overwrite_resets() -> None:
    """Writes before an Overwrite don't count."""
    line = [station(1, {"__overwrite__": ["new"]}), station(0, stored=["a"])]
    assert log([station(2, ["c"]), *line]).value_by(APPEND) == ["new", "c"]
    assert log([station(2), *line]).value == ["new"]


def test_an_empty_channel_is_no_delta_channel() -> None:
    """A version without a value doesn't make a delta channel."""
    empty = state(3, {}, {"ephemeral": 2}, parent=2)
    line = [Station(state(2, {"ephemeral": 1}), [])]
    assert missing(empty) == ["ephemeral"]
    assert rebuild(empty, ["ephemeral"], line) == {}


def test_control_channels_are_never_missing() -> None:
    """Triggers have no value most of the time."""
    assert missing(state(3, {}, {"branch:to:a": 2, "__start__": 1})) == []
    assert missing(state(3, {}, {"log": 2}, v=3)) == []


def test_unwrapped() -> None:
    """The graph sees the value, not the mark of a snapshot."""
    assert unwrapped(snapshot_of([1])) == [1]
    assert unwrapped([1]) == [1]
