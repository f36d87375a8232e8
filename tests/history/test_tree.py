"""The drawing of a tree is complete, indented as little as possible, and its rails are consistent."""

from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.tree import BRANCHES, Marked, Row, rows
from ckpt_cli.model import CheckpointRow


def forest(*parents: int | None) -> Lineage:
    """Row n has id ``n`` and the nth parent."""
    return Lineage(CheckpointRow("t", "", _id(n), None if p is None else _id(p)) for n, p in enumerate(parents))


def _id(number: int) -> str:
    return f"{number:05d}"


def drawn(lineage: Lineage, marked: Marked | None = None, *, full: bool = False) -> list[str]:
    """The drawing with numbers for ids."""
    lines = []
    for row in rows(lineage, marked or Marked(), full=full):
        rail = "| " * (row.depth - 1) + ("+-" if row.joint else "| ") if row.depth else ""
        run = f"({len(row.run)})" if row.run else ""
        own = str(int(row.checkpoint_id)) if row.checkpoint_id else run
        lines.append(rail + own + (f"[{row.branches} with {len(row.aside)}]" if row.branches else ""))
    return lines


def test_straight_run_is_folded_between_its_ends() -> None:
    """A line without forks is drawn as its first and last checkpoint and a fold; `full` draws each."""
    line = forest(None, 0, 1, 2)
    assert drawn(line) == ["0", "(2)", "3"]
    assert drawn(line, full=True) == ["0", "1", "2", "3"]


def test_single_step_is_drawn_rather_than_folded() -> None:
    """A fold takes a line too, so a single checkpoint is never folded."""
    assert drawn(forest(None, 0, 1)) == ["0", "1", "2"]


def test_heads_line_goes_straight_down_and_other_branches_leave_it() -> None:
    """The head's own line keeps its column, also where a side branch has more checkpoints."""
    tree = forest(None, 0, 1, 2, 3, 1, 5, 6)
    assert drawn(tree) == ["0", "1", "+-2", "| 3", "| 4", "5", "6", "7"]


def test_marked_checkpoints_break_a_fold() -> None:
    """Updates, forks, inputs and whatever the caller asks for are drawn."""
    line = forest(None, *range(11))
    marked = Marked(edits={_id(3)}, turns={_id(6)}, always={_id(9)})
    assert drawn(line, marked) == ["0", "(2)", "3", "(2)", "6", "(2)", "9", "10", "11"]


def test_many_turns_are_folded_but_for_the_first_and_the_newest() -> None:
    """A conversation of a thousand turns stays readable."""
    line = forest(None, *range(2999))
    shown = drawn(line, Marked(turns={_id(n) for n in range(0, 3000, 3)}))
    assert len(shown) < 60
    assert shown[:5] == ["0", "(2)", "3", "(2)", "6"]
    assert shown[-3:] == ["2997", "2998", "2999"]


def test_comb_of_forks_is_not_indented_off_the_screen() -> None:
    """If every checkpoint forks and the newest child always belongs to the oldest, one rail is enough."""
    count = 300
    comb = forest(None, *range(count), *reversed(range(count)))
    assert max(row.depth for row in rows(comb, Marked(), full=True)) <= 2


def test_old_branches_are_counted_where_there_are_very_many() -> None:
    """The newest branches are drawn; of the others, the number and the checkpoints are given."""
    star = forest(None, *[0] * 200)
    shown = drawn(star)
    assert shown[:2] == ["0", f"+-[{200 - BRANCHES} with {200 - BRANCHES}]"]
    assert len(shown) == BRANCHES + 2


_FORESTS = st.integers(1, 120).flatmap(
    lambda size: st.tuples(*(st.none() | st.integers(0, max(n - 1, 0)) if n else st.none() for n in range(size)))
)


@given(_FORESTS, st.sets(st.integers(0, 120)), st.booleans())
def test_every_checkpoint_is_in_exactly_one_row(parents: tuple[int | None, ...], some: set[int], full: bool) -> None:
    """Each checkpoint is drawn, folded or counted aside once; with ``full`` each is on a line of its own."""
    tree = forest(*parents)
    marked = Marked(edits={_id(n) for n in some if n < len(parents)})
    drawing = list(rows(tree, marked, full=full))
    every = [i for row in drawing for i in (row.checkpoint_id, *row.run, *row.aside) if i is not None]
    assert sorted(every) == sorted(tree.rows)
    assert not full or all(row.checkpoint_id for row in drawing)
    assert all(row.checkpoint_id in tree for row in drawing if row.checkpoint_id)


@given(_FORESTS, st.booleans())
def test_rails_lead_from_each_row_to_its_parent(parents: tuple[int | None, ...], full: bool) -> None:
    """The first row above on a row's own rail, or at a joint on the rail that it leaves, is its parent."""
    tree = forest(*parents)
    drawing = list(rows(tree, Marked(), full=full))
    for at, row in enumerate(drawing):
        first = row.checkpoint_id or (row.run or row.aside)[0]
        parent = tree.parent(first)
        if row.aside and not row.run and not row.depth:
            continue
        assert (_above(drawing, at) == parent) if parent is not None else row.depth == 0
    assert all(row.depth <= 8 for row in drawing)


def _above(drawing: list[Row], at: int) -> str | None:
    column = drawing[at].depth - drawing[at].joint
    for row in reversed(drawing[:at]):
        if row.depth == column and (row.checkpoint_id or row.run):
            return row.checkpoint_id or row.run[-1]
        assert row.depth >= column
    return None
