"""Channels: which are the user's in each era, what they trigger, how their versions sort."""

import pytest

from ckpt_cli.history.state.channels import any_target, counter, is_control, newer, sources, target, user_channels
from tests.history.recorded import state


@pytest.mark.parametrize(
    ("version", "want"),
    [
        (7, 7),
        ("00000000000000000000000000000042.0.3194", 42),
        ("00000000000000000000000000000002.", 2),
        (None, -1),
        ("9" * 5000, 0),
    ],
)
def test_counter(version: int | str | None, want: int) -> None:
    """The number of a version is the part before the dot, whatever comes after it."""
    assert counter(version) == want


def test_newer() -> None:
    """Versions sort by their number and then by their text; anything is newer than nothing, kinds may be mixed."""
    assert newer(10, 9) and newer("10.x", 9) and newer(1, None) and newer("2.b", "2.a")
    assert not newer("2.0.5", "2.0.5") and not newer(None, 0) and not newer(float("nan"), 1)


@pytest.mark.parametrize(
    ("channel", "node"),
    [
        ("branch:to:work:er", "work:er"),
        ("start:a", "a"),
        ("__start__:a", "a"),
        ("branch:a:cond:b", "b"),
        ("branch:a:__self__:b", "b"),
        ("join:a+b:c", "c"),
        ("a:inbox", "a"),
        ("__start__", None),
        ("messages", None),
        ("branch:a", None),
    ],
)
def test_target(channel: str, node: str | None) -> None:
    """A channel's name shows the node that it triggers, in every era's spelling; two of them are spelled so now."""
    assert any_target(channel) == node
    assert target(channel) == (node if channel.startswith(("branch:to:", "join:")) else None)


def test_sources() -> None:
    """A join names the nodes that it waits for."""
    assert sources("join:good+bad:post") == ["good", "bad"]
    assert sources("branch:to:post") == []


def test_control_channels_of_today() -> None:
    """They are in stored order, also those that hold nothing now."""
    values_held = {"log": [], "branch:to:a": None, "__start__": {}, "__pregel_tasks": [], "join:a+b:c": []}
    at = state(values=values_held, versions={**dict.fromkeys(values_held, 2), "n": 1})
    assert user_channels(at) == ["log", "n"]


def test_plain_edges_of_the_past() -> None:
    """Before v 3 a node's own channel is an edge; a channel of that name would be the user's today."""
    seen = {"a": {"start:a": 2}, "b": {"a": 3}}
    old = state(values={"a": "a", "log": [], "start:a": "x"}, seen=seen, v=1)
    assert user_channels(old) == ["log"]
    assert user_channels(state(values={"a": "a"}, seen=seen)) == ["a"]


def test_functional_api() -> None:
    """What an entrypoint returned and saved is the user's; ``__end__`` of a StateGraph is not."""
    functional = state(values={"__end__": 1, "__previous__": 2})
    assert user_channels(functional) == ["__end__", "__previous__"]
    assert is_control("__end__", state(values={"__end__": {}}, v=1))
    assert not is_control("__root__", state(values={"__root__": []}))
