"""Patches of ckpt and of others are applied, all of a patch or nothing."""

import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_cli.errors import CkptError, PathNotFound, Refused, UsageError
from ckpt_cli.history.diff.patch import patch
from ckpt_cli.history.diff.patch_application import apply_patch
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.same import same
from tests.history.nested import STATES

DOCUMENT = {"a": [1, 2, {"b": "c"}], "x/y": {"~": None}, "n": 1}


@given(STATES, STATES)
@settings(max_examples=300)
def test_what_differs_applied_is_the_other(before: dict[str, object], after: dict[str, object]) -> None:
    """patch(a, diff(a, b)) is b, with the same types, and a is unchanged."""
    old, new = to_json(before), to_json(after)
    copied = copy.deepcopy(old)
    assert same(apply_patch(old, list(patch(old, new))), new)
    assert same(old, copied)


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "add", "path": "/a/0", "value": 0}],
        [{"op": "add", "path": "/a/3", "value": 0}],
        [{"op": "add", "path": "/a/-", "value": [0]}],
        [{"op": "add", "path": "/n", "value": 2}],
        [{"op": "remove", "path": "/a/2/b"}, {"op": "add", "path": "/a/2/d", "value": {}}],
        [{"op": "replace", "path": "/x~1y/~0", "value": 5}],
        [{"op": "move", "from": "/a/0", "path": "/a/2"}],
        [{"op": "move", "from": "/a/2/b", "path": "/n"}],
        [{"op": "move", "from": "/a", "path": "/a"}],
        [{"op": "copy", "from": "/a/2", "path": "/a/0"}],
        [{"op": "test", "path": "/a", "value": [1, 2, {"b": "c"}]}, {"op": "remove", "path": "/a"}],
        [{"op": "replace", "path": "", "value": [1]}, {"op": "add", "path": "/-", "value": 2}],
    ],
)
def test_as_another_library_applies_it(operations: list[Any]) -> None:
    """Every operation of RFC 6902, with pointers of every kind."""
    assert apply_patch(DOCUMENT, operations) == jsonpatch.apply_patch(copy.deepcopy(DOCUMENT), operations)


@pytest.mark.parametrize(
    ("operation", "error", "word"),
    [
        ({"op": "remove", "path": "/a/3"}, PathNotFound, "no item 3"),
        ({"op": "remove", "path": "/a/-"}, PathNotFound, "no index"),
        ({"op": "add", "path": "/a/4", "value": 1}, PathNotFound, "no item 4"),
        ({"op": "add", "path": "/a/01", "value": 1}, PathNotFound, "no index"),
        ({"op": "replace", "path": "/b", "value": 1}, PathNotFound, "no 'b'"),
        ({"op": "add", "path": "/n/x", "value": 1}, PathNotFound, "no parts"),
        ({"op": "test", "path": "/n", "value": True}, Refused, "different"),
        ({"op": "move", "from": "/a", "path": "/a/0"}, UsageError, "into itself"),
        ({"op": "add", "path": "/n"}, UsageError, "no value"),
        ({"op": "copy", "path": "/n"}, UsageError, "no from"),
        ({"op": "merge", "path": "/n"}, UsageError, "'merge' is no operation"),
        ({"op": "remove", "path": "n"}, UsageError, "pointer"),
        ({"op": "remove", "path": "/~2"}, UsageError, "pointer"),
        ({"path": "/n"}, UsageError, "no op"),
        ("remove", UsageError, "no op"),
    ],
)
def test_an_error_names_its_operation(operation: Any, error: type[CkptError], word: str) -> None:
    """The error says which operation failed and why; nothing of the patch is applied."""
    with pytest.raises(error) as caught:
        apply_patch(DOCUMENT, [{"op": "add", "path": "/fine", "value": 1}, operation])
    assert word in caught.value.message and "operation 2" in caught.value.message
    assert "fine" not in DOCUMENT


def test_a_patch_is_a_list() -> None:
    """A single operation is no patch."""
    with pytest.raises(UsageError):
        apply_patch(DOCUMENT, {"op": "remove", "path": "/a"})


@given(st.lists(st.integers(0, 9), max_size=5))
def test_untouched_parts_are_shared(items: list[int]) -> None:
    """Parts that a patch doesn't touch are the same objects."""
    document = {"a": items, "b": {"c": items}}
    new = apply_patch(document, [{"op": "add", "path": "/b/d", "value": 1}])
    assert new["a"] is items and new["b"]["c"] is items and "d" not in document["b"]
