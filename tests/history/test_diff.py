"""Differences by structure."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ckpt_cli.history.diff import matching
from ckpt_cli.history.diff.align import align
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.diff.element_keys import digest
from ckpt_cli.values.difference import Counts, Difference, DifferenceKind, RoughCounts
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.same import same
from tests.history.nested import STATES, VALUES
from tests.work import LINEAR, growth


def message(message_id: str, content: str, kind: str = "ai") -> Node:
    """A message as msgpack records it."""
    fields = {"content": content, "type": kind, "id": message_id}
    return Node(
        Opened("langchain_core.messages.ai", f"{'AI' if kind == 'ai' else 'Human'}Message", Form.PYDANTIC, fields)
    )


def members(*names: str) -> Node:
    """A set."""
    return Node(Opened("builtins", "set", Form.VALUE, list(names)))


def leaves(differences_found: list[Difference]) -> list[tuple[str, str, object, object]]:
    """Path, kind, before and after of every difference without parts."""
    flat: list[tuple[str, str, object, object]] = []
    for one in differences_found:
        flat += leaves(one.parts) if one.parts else [(one.path, str(one.kind), one.before, one.after)]
    return flat


def test_fields_of_dicts_and_objects_are_compared() -> None:
    """Only what differs is given, by its path."""
    person = Node(Opened("m", "P", Form.PYDANTIC, {"name": "Ada", "age": 36}))
    older = Node(Opened("m", "P", Form.PYDANTIC, {"name": "Ada", "age": 37}))
    before = {"p": person, "files": {"invoice.pdf": {"status": "new"}, "x": 1}, "gone": 1}
    after = {"p": older, "files": {"invoice.pdf": {"status": "sent"}, "y": 2}, "new": 2}
    assert leaves(differences(before, after)) == [
        ("p.age", "changed", 36, 37),
        ('files["invoice.pdf"].status', "changed", "new", "sent"),
        ("files.x", "removed", 1, None),
        ("files.y", "added", None, 2),
        ("gone", "removed", 1, None),
        ("new", "added", None, 2),
    ]


def test_messages_are_aligned_by_id() -> None:
    """A changed message is changed, not removed and added, wherever it is."""
    before = [message("1", "hi", "human"), message("2", "I will refund"), message("3", "bye")]
    after = [message("1", "hi", "human"), message("0", "new"), message("2", "I will escalate"), message("4", "end")]
    (found,) = differences({"m": before}, {"m": after})
    assert found.counts == Counts(kept=1, changed=1, added=2, removed=1)
    assert [(one.path, str(one.kind), one.who) for one in found.parts] == [
        ("m[1]", "added", "ai 0"),
        ("m[2]", "changed", "ai 2"),
        ("m[2]", "removed", "ai 3"),
        ("m[3]", "added", "ai 4"),
    ]
    assert leaves(found.parts)[1] == ("m[2].content", "changed", "I will refund", "I will escalate")


def test_elements_without_ids_are_aligned_by_content() -> None:
    """An element of the same kind in the same place is the same element, changed."""
    assert leaves(differences({"l": ["a", "b", "c"]}, {"l": ["a", "x", "c", "d"]})) == [
        ("l[1]", "changed", "b", "x"),
        ("l[3]", "added", None, "d"),
    ]


def test_moved_elements_have_their_old_path() -> None:
    """They are neither removed nor added."""
    (found,) = differences({"l": [1, 2, 3, 4]}, {"l": [4, 1, 2, 3]})
    assert found.counts == Counts(kept=3, moved=1)
    assert [(one.path, one.was, one.kind) for one in found.parts] == [("l[0]", "l[3]", DifferenceKind.MOVED)]


@given(a=st.lists(st.integers(0, 9), max_size=12), b=st.lists(st.integers(0, 9), max_size=12))
@example(a=[1, 2, 3], b=[3, 2, 1])
@example(a=[1, 2, 1, 3, 4], b=[4, 2, 3, 1, 1])
def test_an_element_that_stays_at_its_place_has_not_moved(a: list[int], b: list[int]) -> None:
    """A moved element has another place than before; what is left keeps its order."""
    alignment = align(a, b)
    assert all(i != j and a[i] == b[j] for i, j in alignment.moved)
    assert all(x < y for one, other in pairwise(alignment.pairs) for x, y in zip(one, other, strict=True))


def test_sets_are_compared_by_membership() -> None:
    """The stored order means nothing."""
    assert differences({"s": members("a", "b")}, {"s": members("b", "a")}) == []
    (found,) = differences({"s": members("a", "b")}, {"s": members("b", "c")})
    assert leaves([found]) == [("s", "removed", "a", None), ("s", "added", None, "c")]


@pytest.mark.parametrize(("before", "after"), [(1, 1.0), (1, True), ("1", 1), ([], {}), (None, False), (0.0, -0.0)])
def test_values_of_another_type_differ(before: object, after: object) -> None:
    """Equality is strict."""
    assert leaves(differences({"v": before}, {"v": after})) == [("v", "changed", before, after)]


def test_equal_raw_bytes_are_never_decoded() -> None:
    """Two nodes with the same bytes are the same, even if they can't be decoded."""

    def refuse(raw: bytes) -> Opened:
        raise AssertionError(raw)

    before, after = (Node(encoding="msgpack", raw=b"\x01", load=refuse) for _ in range(2))
    assert differences({"n": before, "l": [before]}, {"n": after, "l": [after]}) == []


def test_a_delta_snapshot_is_what_it_holds() -> None:
    """The wrapper is no difference."""
    snapshot = Node(Opened("", "_DeltaSnapshot", Form.SNAPSHOT, [1, 2]))
    assert leaves(differences({"d": snapshot}, {"d": [1, 2, 3]})) == [("d[2]", "added", None, 3)]


@given(STATES, STATES)
@settings(max_examples=300)
def test_states_differ_exactly_where_a_difference_is_given(before: dict[str, object], after: dict[str, object]) -> None:
    """A channel without a difference is the same in both, and no other is."""
    paths = {one.path for one in differences(before, after)}
    assert bool(paths) == (not same(before, after))
    assert differences(before, before) == []


@given(st.lists(VALUES, max_size=8), st.lists(VALUES, max_size=8))
@settings(max_examples=300)
def test_every_element_is_aligned_once(a: list[object], b: list[object]) -> None:
    """Each place of either list is paired, moved, removed or added, and pairs ascend in both."""
    alignment = align(a, b)
    assert sorted([*(i for i, _ in [*alignment.pairs, *alignment.moved]), *alignment.removed]) == list(range(len(a)))
    assert sorted([*(j for _, j in [*alignment.pairs, *alignment.moved]), *alignment.added]) == list(range(len(b)))
    assert alignment.pairs == sorted(alignment.pairs)
    assert [j for _, j in alignment.pairs] == sorted(j for _, j in alignment.pairs)


@given(VALUES, VALUES)
@example(
    Node(Opened("builtins", "set", Form.VALUE, ["a", "a", "b"])),
    Node(Opened("builtins", "set", Form.VALUE, ["a", "b", "a"])),
)
@example(
    Node(Opened("builtins", "frozenset", Form.VALUE, [{"k": [1]}, 2])),
    Node(Opened("builtins", "frozenset", Form.VALUE, [2, {"k": [1]}])),
)
def test_same_values_have_the_same_digest(a: object, b: object) -> None:
    """Otherwise they would not be matched in another list."""
    assert not same(a, b) or digest(a) == digest(b)


def test_lists_of_equal_elements_are_aligned_in_bounded_work() -> None:
    """Matching n equal elements would take n² steps; beyond a bound they are paired by position."""
    before, after = [0, *[1] * 5000, 2], [3, *[1] * 5001, 4]
    alignment = align(before, after)
    assert (len(alignment.pairs), len(alignment.added), len(alignment.removed)) == (5002, 1, 0)


@pytest.mark.parametrize("repeated", [False, True], ids=["unique", "repeated"])
def test_work_is_linear_in_the_length_of_lists(repeated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound, twice as many elements of which every second differs take twice the work."""
    monkeypatch.setattr(matching, "WORK", 2000)

    def compared(size: int) -> Callable[[], object]:
        same_id = [{"text": n % 3 if repeated else n} for n in range(size)]
        before = [one for n, kept in enumerate(same_id) for one in (kept, {"id": f"old {n}"})]
        after = [one for n, kept in enumerate(same_id) for one in (kept, {"id": f"new {n}"})]
        return lambda: differences({"docs": before}, {"docs": after})

    assert growth(200, compared) < LINEAR


def test_unique_elements_beyond_the_bound_are_still_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only repeated ones are compared by position, and the counts say so."""
    before = [{"n": n} for n in range(20)]
    after = [one for n in range(20) for one in ({"n": n}, [n])]
    (exact,) = differences({"docs": before}, {"docs": after})
    monkeypatch.setattr(matching, "WORK", 0)
    assert differences({"docs": before}, {"docs": after}) == [exact]
    (rough,) = differences({"docs": [1, 2, 1, 3, 5]}, {"docs": [2, 1, 1, 3, 4]})
    assert rough.counts == RoughCounts(kept=3, changed=1, moved=1)


def test_nesting_without_end_is_compared() -> None:
    """Below a bound two values just differ."""
    before: list[object] = []
    after: list[object] = [1]
    for _ in range(5000):
        before, after = [before], [after]
    (found,) = leaves(differences({"v": before}, {"v": after}))
    assert found[1] == "changed"
