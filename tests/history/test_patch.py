"""Patches, applied by another library."""

import copy

import jsonpatch
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_cli.history.diff.patch import patch
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.same import same
from tests.history.nested import STATES, VALUES


@given(STATES, STATES)
@settings(max_examples=300)
def test_a_patch_turns_one_state_into_the_other(before: dict[str, object], after: dict[str, object]) -> None:
    """The library jsonpatch applies it to the typed JSON form; all types and values are equal."""
    old, new = to_json(before), to_json(after)
    assert same(jsonpatch.apply_patch(copy.deepcopy(old), list(patch(old, new))), new)


@given(st.lists(VALUES, max_size=8), st.data())
@settings(max_examples=300)
def test_a_patch_of_an_edited_list_applies(items: list[object], data: st.DataObject) -> None:
    """With elements removed, added and moved, every index is right when its operation is applied."""
    after = data.draw(st.permutations(items))
    after = after[: data.draw(st.integers(0, len(after)))] + data.draw(st.lists(VALUES, max_size=2))
    old, new = {"l": to_json(items)}, {"l": to_json(after)}
    assert same(jsonpatch.apply_patch(copy.deepcopy(old), list(patch(old, new))), new)


@given(STATES)
def test_equal_states_have_an_empty_patch(state: dict[str, object]) -> None:
    """Two equal states need no operation."""
    assert list(patch(to_json(state), to_json(state))) == []


def test_an_appended_element_is_one_operation() -> None:
    """A conversation that grew is not written again."""
    before = {"messages": [{"id": "1", "content": "x"}]}
    after = {"messages": [{"id": "1", "content": "y"}, {"id": "2", "content": "z"}]}
    assert list(patch(before, after)) == [
        {"op": "add", "path": "/messages/1", "value": {"id": "2", "content": "z"}},
        {"op": "replace", "path": "/messages/0/content", "value": "y"},
    ]


def test_keys_are_escaped_as_json_pointer_says() -> None:
    """``~`` and ``/`` are escaped."""
    assert [op["path"] for op in patch({"a/b": 1, "m~n": 1}, {"a/b": 2, "m~n": 2})] == ["/a~1b", "/m~0n"]


def test_numbers_of_another_type_are_replaced() -> None:
    """1, 1.0 and true are three values."""
    assert [op["value"] for op in patch({"a": 1, "b": 1.0}, {"a": True, "b": 1})] == [True, 1]
