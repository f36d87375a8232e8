"""The tree of a namespace: complete, stable in its names, and sound on damaged rows."""

from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.model import CheckpointRow


def lineage(**parents: str | None) -> Lineage:
    """A lineage out of child to parent."""
    return Lineage(CheckpointRow("t", "", child, parent) for child, parent in parents.items())


def reached(tree: Lineage) -> list[str]:
    """Every id that can be reached from the roots, as often as it is reached."""
    met, todo = [], list(tree.roots)
    while todo:
        at = todo.pop()
        met.append(at)
        todo += tree.children.get(at, [])
    return met


def test_branches_are_numbered_by_their_first_own_checkpoint() -> None:
    """The oldest child continues its parent's branch, so a growing old branch renumbers nothing."""
    before = lineage(a=None, b="a", c="b", d="a", e="d")
    after = lineage(a=None, b="a", c="b", d="a", e="d", f="c", g="e")
    assert [(b.number, b.first, b.tip) for b in before.branches] == [(1, "a", "c"), (2, "d", "e")]
    assert [(b.number, b.first, b.tip) for b in after.branches] == [(1, "a", "f"), (2, "d", "g")]


def test_head_is_the_highest_id_wherever_it_hangs() -> None:
    """The saver's own rule: not the deepest row, and after a fork perhaps on a side branch."""
    tree = lineage(a=None, b="a", c="b", z="a")
    assert (tree.head, tree.tips, tree.forks) == ("z", ["c", "z"], ["a"])
    assert tree.forks is tree.forks  # found once: `blame` asks at each change
    assert list(tree.line("z")) == ["z", "a"]


def test_dangling_parent_makes_a_root_that_names_what_is_missing() -> None:
    """A parent that was never stored is named and not followed."""
    tree = lineage(b="a", c="b")
    assert tree.roots == ["b"]
    assert (tree.missing("b"), tree.missing("c"), tree.circular("b")) == ("a", None, False)


def test_self_parent_is_a_root() -> None:
    """A row that names itself as its parent ends the line and is flagged."""
    tree = lineage(a="a", b="a")
    assert (tree.roots, list(tree.line("b")), tree.circular("a")) == (["a"], ["b", "a"], True)


def test_circle_of_parents_is_cut_at_its_lowest_row() -> None:
    """A circle and its descendants stay reachable; its lowest row counts as the root."""
    tree = lineage(a="c", b="a", c="b", d="c", e=None)
    assert tree.roots == ["a", "e"]
    assert sorted(reached(tree)) == ["a", "b", "c", "d", "e"]
    assert list(tree.line("d")) == ["d", "c", "b", "a"]


def test_long_line_is_walked_without_recursion() -> None:
    """A hundred thousand rows in one line, stored as a circle, have one root, one tip and one branch."""
    names = [f"{n:06d}" for n in range(100_000)]
    tree = Lineage(CheckpointRow("t", "", name, names[n - 1]) for n, name in enumerate(names))
    assert (tree.roots, tree.tips, len(tree.branches)) == ([names[0]], [names[-1]], 1)
    assert sum(1 for _ in tree.line(names[-1])) == 100_000


@given(st.dictionaries(st.integers(0, 30), st.none() | st.integers(0, 40), max_size=30))
def test_every_row_is_reached_exactly_once(parents: dict[int, int | None]) -> None:
    """Whatever the parents are, roots and children make a forest of all rows, with one branch for each tip."""
    rows = [CheckpointRow("t", "", f"{c:02d}", None if p is None else f"{p:02d}") for c, p in parents.items()]
    tree = Lineage(rows)
    assert sorted(reached(tree)) == sorted(row.checkpoint_id for row in rows)
    assert sorted(b.tip for b in tree.branches) == tree.tips
    assert all(len(list(tree.line(row.checkpoint_id))) <= len(rows) for row in rows)
