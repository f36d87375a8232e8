"""The tip of a branch that the hint of a refused undo names."""

from ckpt_cli.model import CheckpointRow
from ckpt_cli.operations.own_branch import tip_from


def rows(*pairs: tuple[str, str | None]) -> list[CheckpointRow]:
    """Rows by their ids and those of their parents."""
    return [CheckpointRow("t", "", checkpoint_id, parent_id) for checkpoint_id, parent_id in pairs]


def test_the_newest_child_is_followed() -> None:
    """From any checkpoint to the end of its newest branch."""
    tree = rows(("1", None), ("2", "1"), ("3", "1"), ("4", "2"), ("5", "3"))
    assert [tip_from(tree, one) for one in ("1", "2", "5")] == ["5", "4", "5"]


def test_checkpoints_that_are_each_others_parents_have_an_end() -> None:
    """Damaged rows may name each other; the search ends."""
    assert tip_from(rows(("1", "2"), ("2", "1")), "1") == "2"
    assert tip_from(rows(("1", "1")), "1") == "1"
