"""Edits by path, by patch and by document: the part changes, and everything beside it is the same object."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_cli.errors import CkptError, PathNotFound, UsageError
from ckpt_cli.history.diff.patch import patch
from ckpt_cli.history.state.editing import Act, Edit, apply_edits, apply_patch_to_state, merge_document
from ckpt_cli.history.state.paths import follow, parse
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.loadable import as_loaded
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.parts import parts
from ckpt_cli.values.same import same
from tests.history.nested import STATES, VALUES


def node(form: Form, state: Any, name: str = "agent.Thing") -> Node:
    module, _, own = name.rpartition(".")
    return Node(Opened(module, own, form, state))


SET = node(Form.VALUE, ["x", "y"], "builtins.set")
PERSON = node(Form.PYDANTIC, {"name": "Ada", "tags": SET, "at": [1, 2]})
STATE: dict[str, Any] = {
    "list": [1, [2, 3], {"k": "v"}],
    "person": PERSON,
    "data": node(Form.KWARGS, {"deep": PERSON}),
    "lc": node(Form.LC1, {"content": "hi"}, "langchain.schema.messages.AIMessage"),
    "js": node(Form.LC2, {"args": [["a"]], "kwargs": {}}, "Set"),
    "call": node(Form.LC2, {"args": [1, {"z": 2}], "kwargs": {"w": 3}}),
    "send": node(Form.ARGS, ["work", {"i": 1}], "langgraph.types.Send"),
    "keys": {1: "one", "two": 2},
    "snap": node(Form.SNAPSHOT, [1, 2], "langgraph.checkpoint.serde.types._DeltaSnapshot"),
    "pair": (1, 2),
}


@pytest.mark.parametrize(
    "path",
    [
        *("list[0]", "list[1][-1]", "list[2].k", "list[2].new", "person.name", "person.tags[1]", "person.at[0]"),
        *("data.deep.name", "data.deep.tags[0]", "lc.content", "lc.name", "js[0]", "call[1].z", "call.w"),
        *("send.node", "send.arg.i", "keys[1]", "keys.two", "keys.three", "snap[1]", "pair[0]", "person", "fresh"),
    ],
)
def test_what_is_set_is_there(path: str) -> None:
    """In containers and objects of every form; other channels are the same objects, the old state is unchanged."""
    steps = parse(path)
    new = apply_edits(STATE, [Edit(Act.SET, tuple(steps), "NEW")])
    assert follow(new, steps) == "NEW"
    assert all(new[channel] is value for channel, value in STATE.items() if channel != steps[0])
    with pytest.raises((AssertionError, PathNotFound)):
        assert follow(STATE, steps) == "NEW"


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("list[1]", [1, {"k": "v"}]),
        ("list[2].k", [1, [2, 3], {}]),
        ("keys[1]", {"two": 2}),
        ("pair[0]", (2,)),
        ("person.tags[0]", node(Form.PYDANTIC, {**PERSON.state, "tags": node(Form.VALUE, ["y"], "builtins.set")})),
        ("person.name", node(Form.PYDANTIC, {"tags": SET, "at": [1, 2]})),
    ],
)
def test_what_is_unset_is_gone(path: str, left: Any) -> None:
    """Keys, elements and fields can be unset."""
    steps = tuple(parse(path))
    assert same(apply_edits(STATE, [Edit(Act.UNSET, steps)])[steps[0]], left)


def test_a_channel_can_be_unset() -> None:
    """The channel holds nothing then."""
    assert "list" not in apply_edits(STATE, [Edit(Act.UNSET, ("list",))])


@pytest.mark.parametrize("path", ["list", "list[1]", "person.tags", "person.at", "js", "snap", "pair"])
def test_what_is_appended_is_last(path: str) -> None:
    """Lists, tuples and sets of every form can be appended to."""
    steps = parse(path)
    new = apply_edits(STATE, [Edit(Act.APPEND, tuple(steps), "NEW")])
    assert follow(new, [*steps, -1]) == "NEW"
    assert same(follow(new, [*steps, 0]), follow(STATE, [*steps, 0]))


@pytest.mark.parametrize(
    ("act", "path", "error"),
    [
        (Act.SET, "list[3]", PathNotFound),
        (Act.SET, "nothing.here", PathNotFound),
        (Act.SET, "person.nam", PathNotFound),
        (Act.SET, "person.name.first", PathNotFound),
        (Act.UNSET, "list[7]", PathNotFound),
        (Act.UNSET, "nothing", PathNotFound),
        (Act.UNSET, "person.name.x", PathNotFound),
        (Act.APPEND, "person", UsageError),
        (Act.APPEND, "person.name", UsageError),
        (Act.APPEND, "nothing", PathNotFound),
    ],
)
def test_a_wrong_path_is_an_error(act: Act, path: str, error: type[CkptError]) -> None:
    """The error says how far the path is right."""
    with pytest.raises(error):
        apply_edits(STATE, [Edit(act, tuple(parse(path)), 1)])


def test_edits_follow_each_other() -> None:
    """A later edit sees what an earlier one did."""
    edits = [Edit(Act.SET, ("d",), {}), Edit(Act.SET, ("d", "l"), []), Edit(Act.APPEND, ("d", "l"), 1)]
    assert apply_edits({}, edits) == {"d": {"l": [1]}}


LOADED = VALUES.map(as_loaded)
"""Values as LangGraph stores them: no set has an element twice, as an edited one can't have it either."""
LOADED_STATES = STATES.map(lambda state: {channel: as_loaded(value) for channel, value in state.items()})


@given(LOADED_STATES, LOADED_STATES)
@settings(max_examples=200)
def test_a_patch_of_states_gives_the_other_state(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The patch goes through the typed JSON form and back; all types are equal."""
    assert same(apply_patch_to_state(before, list(patch(to_json(before, True), to_json(after, True)))), after)


@given(st.dictionaries(st.sampled_from("abc"), LOADED, max_size=3), st.data())
@settings(max_examples=200)
def test_an_edited_document_keeps_all_else(state: dict[str, Any], data: st.DataObject) -> None:
    """If one channel is written as a whole, its equal parts are the objects of the old one, each in one place."""
    document = to_json(state, reveal=True)
    new = data.draw(LOADED)
    after = {**document, "a": to_json(new, reveal=True)}
    result = merge_document(state, document, after)
    assert same(result, {**state, "a": new})
    if "a" in state and isinstance(new, list) and isinstance(state["a"], list):
        old_parts = {id(part) for _, part in parts(state["a"])}
        kept = Counter(_spelled(one) for one in result["a"] if isinstance(one, Node) and id(one) in old_parts)
        in_both = Counter(map(_spelled, state["a"])) & Counter(_spelled(one) for one in new if isinstance(one, Node))
        assert in_both <= kept


def _spelled(value: Any) -> str:
    """The document of a value."""
    return json.dumps(to_json(value, reveal=True), sort_keys=True)


def test_what_cannot_be_read_is_named_by_its_path() -> None:
    """The path leads to the deepest part that can't be read."""
    document = to_json({"a": [1, {"b": 2}]})
    with pytest.raises(UsageError, match=r"a\[1\]\.b"):
        merge_document({}, {}, {**document, "a": [1, {"b": {"$bytes": "???"}}]})


@pytest.mark.parametrize("element", ["a", True, 1.0])
def test_a_set_has_each_element_once(element: object) -> None:
    """An element that the set has changes nothing; of 1, 1.0 and True, which are one element, the first stays."""
    state = {"s": {"deep": [Node(Opened("builtins", "set", Form.VALUE, [1, "a"]))]}}
    edit = Edit(Act.APPEND, ("s", "deep", 0), element)
    assert same(apply_edits(state, [edit, edit]), state)
    [made] = apply_edits(state, [Edit(Act.APPEND, ("s", "deep", 0), "b")])["s"]["deep"]
    assert made.members == [1, "a", "b"]
