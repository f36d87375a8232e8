"""The rails of ``log --graph``."""

from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.rails import LANES, rails
from ckpt_cli.model import CheckpointRow
from tests.work import LINEAR, growth


def drawn(*parents: int | None) -> list[str]:
    """The log lines of a forest; row n has the nth parent."""
    tree = Lineage(CheckpointRow("t", "", f"{n:03d}", None if p is None else f"{p:03d}") for n, p in enumerate(parents))
    order = sorted(tree.rows, reverse=True)
    return [line.rstrip() for rail in rails(tree, order) for line in (rail.joins, rail.lanes) if line]


def test_line_has_one_lane() -> None:
    """Without a fork there is no second lane."""
    assert drawn(None, 0, 1) == ["●", "●", "●"]


def test_lanes_join_at_the_fork_point() -> None:
    """Each tip opens a lane; lanes join above the checkpoint that they share."""
    assert drawn(None, 0, 1, 1) == ["●", "│ ●", "├─╯", "●", "●"]


def test_lane_that_passes_between_is_crossed() -> None:
    """A joint crosses lanes that do not end at it."""
    assert drawn(None, 0, 1, 0, 1) == ["●", "│ ●", "│ │ ●", "├─┼─╯", "● │", "├─╯", "●"]


def test_three_lanes_join_at_once() -> None:
    """A checkpoint with three children joins all their lanes."""
    assert drawn(None, 0, 0, 0) == ["●", "│ ●", "│ │ ●", "├─┴─╯", "●"]


@given(st.lists(st.integers(0, 40), max_size=40))
def test_one_mark_a_checkpoint_and_as_many_lanes_as_lines_are_open(numbers: list[int]) -> None:
    """Every checkpoint has exactly one mark, and no more lanes pass by than there are tips."""
    parents = [None, *(p % (n + 1) for n, p in enumerate(numbers))]
    tree = Lineage(CheckpointRow("t", "", f"{n:03d}", None if p is None else f"{p:03d}") for n, p in enumerate(parents))
    all_rails = list(rails(tree, sorted(tree.rows, reverse=True)))
    assert [rail.lanes.count("●") for rail in all_rails] == [1] * len(parents)
    assert all(len(rail.lanes) <= 2 * len(tree.tips) for rail in all_rails)


def test_a_very_wide_graph_is_cut_and_its_work_is_linear() -> None:
    """Beyond some lanes an ellipsis stands for the others; twice as many branches take twice the work."""

    def wide(size: int) -> Lineage:
        return Lineage(CheckpointRow("t", "", f"{n:06d}", "000000" if n else None) for n in range(size))

    lines = list(rails(wide(3 * LANES), [f"{n:06d}" for n in reversed(range(3 * LANES))]))
    assert lines[LANES - 1].lanes == "│ " * (LANES - 1) + "● "
    assert lines[LANES].lanes == "│ " * LANES + "… ● "
    assert lines[-1].joins == "├─" + "┴─" * (LANES - 1) + "…"
    assert lines[-1].lanes == "● "
    assert growth(400, lambda size: lambda: list(rails(wide(size), sorted(wide(size).rows, reverse=True)))) < LINEAR
