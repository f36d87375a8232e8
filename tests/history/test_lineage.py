"""The tree of a namespace: complete, stable in its names, and sound on damaged rows."""

from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.model import CheckpointRow


def lineage(**parents: str | None) -> Lineage:
    """A lineage out of child to parent."""
    return Lineage(CheckpointRow("t", "", child, parent) for child, parent in parents.items())


def reached(found: Lineage) -> list[str]:
    """Every id that can be reached from the roots, each as often as it is met."""
    met, todo = [], list(found.roots)
    while todo:
        at = todo.pop()
        met.append(at)
        todo += found.children.get(at, [])
    return met


def test_branches_are_numbered_by_their_first_own_checkpoint() -> None:
    """The oldest child goes on with its parent's branch, so growing an old branch renumbers nothing."""
    before = lineage(a=None, b="a", c="b", d="a", e="d")
    after = lineage(a=None, b="a", c="b", d="a", e="d", f="c", g="e")
    assert [(b.number, b.first, b.tip) for b in before.branches] == [(1, "a", "c"), (2, "d", "e")]
    assert [(b.number, b.first, b.tip) for b in after.branches] == [(1, "a", "f"), (2, "d", "g")]


def test_head_is_the_highest_id_wherever_it_hangs() -> None:
    """The saver's own rule: not the deepest row, and after a fork perhaps on a side branch."""
    found = lineage(a=None, b="a", c="b", z="a")
    assert (found.head, found.tips, found.forks) == ("z", ["c", "z"], ["a"])
    assert list(found.line("z")) == ["z", "a"]


def test_dangling_parent_makes_a_root_that_names_what_is_missing() -> None:
    """A parent that was never stored is told and not followed."""
    found = lineage(b="a", c="b")
    assert found.roots == ["b"]
    assert (found.missing("b"), found.missing("c"), found.circular("b")) == ("a", None, False)


def test_self_parent_is_a_root() -> None:
    """A row that names itself as its parent ends the line and is flagged."""
    found = lineage(a="a", b="a")
    assert (found.roots, list(found.line("b")), found.circular("a")) == (["a"], ["b", "a"], True)


def test_circle_of_parents_is_cut_at_its_lowest_row() -> None:
    """A circle, and what hangs on it, stays reachable; its lowest row counts as the root."""
    found = lineage(a="c", b="a", c="b", d="c", e=None)
    assert found.roots == ["a", "e"]
    assert sorted(reached(found)) == ["a", "b", "c", "d", "e"]
    assert list(found.line("d")) == ["d", "c", "b", "a"]


def test_long_line_is_walked_without_recursion() -> None:
    """A hundred thousand rows in one line, stored as a circle, have one root, one tip and one branch."""
    names = [f"{n:06d}" for n in range(100_000)]
    found = Lineage(CheckpointRow("t", "", name, names[n - 1]) for n, name in enumerate(names))
    assert (found.roots, found.tips, len(found.branches)) == ([names[0]], [names[-1]], 1)
    assert sum(1 for _ in found.line(names[-1])) == 100_000


@given(st.dictionaries(st.integers(0, 30), st.none() | st.integers(0, 40), max_size=30))
def test_every_row_is_reached_exactly_once(parents: dict[int, int | None]) -> None:
    """Whatever the parents say, the roots and children make a forest of all rows, and branches part it by tips."""
    rows = [CheckpointRow("t", "", f"{c:02d}", None if p is None else f"{p:02d}") for c, p in parents.items()]
    found = Lineage(rows)
    assert sorted(reached(found)) == sorted(row.checkpoint_id for row in rows)
    assert sorted(b.tip for b in found.branches) == found.tips
    assert all(len(list(found.line(row.checkpoint_id))) <= len(rows) for row in rows)
