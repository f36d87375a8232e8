"""`ckpt delete`: what a plan says about the checkpoints that stay."""

from collections.abc import Callable

import pytest

from tests.commands.changes import Json


@pytest.mark.parametrize(
    ("words", "pinned", "note_text"),
    [
        (["chat-linear", "--after", "@^"], False, ""),
        (
            ["forks", "--after", "cb96ab"],
            True,
            "on another branch: the next run continues there unless its config names",
        ),
    ],
)
def test_what_goes_on_after_a_part_is_deleted(
    ckpt: Callable[..., Json], words: list[str], pinned: bool, note_text: str
) -> None:
    """The config continues from the named checkpoint, by its id if the head is then another one."""
    plan = ckpt("delete", *words, "--dry-run")
    assert ("checkpoint_id" in plan["config"]["configurable"]) == pinned
    assert any(note_text in note for note in plan["notes"])
    assert pinned == any("on another branch" in note for note in plan["notes"])
    head = next(row for row in ckpt("log", words[0], "--all")["steps"] if row["head"])
    stays = any(note.startswith(f"the head stays {head['short']}") for note in plan["notes"])
    assert stays == (pinned and head["checkpoint_id"] not in _removed(plan))


@pytest.mark.parametrize("branch", ["1", "2"])
def test_the_plan_names_the_head_that_a_deleted_branch_leaves(ckpt: Callable[..., Json], branch: str) -> None:
    """It is what LangGraph continues from: the newest checkpoint that stays; nothing is said if the head stays."""
    rows = ckpt("log", "forks", "--all")["steps"]
    head = next(row for row in rows if row["head"])
    plan = ckpt("delete", "forks", "--branch", f"branch:{branch}", "--dry-run")
    gone = {row["checkpoint_id"] for row in rows} - _left(ckpt, "forks", branch)
    said = [note for note in plan["notes"] if note.startswith("the head becomes ")]
    if head["checkpoint_id"] not in gone:
        assert not said
        return
    newest = max(_left(ckpt, "forks", branch))
    [short] = [row["short"] for row in rows if row["checkpoint_id"] == newest]
    assert said == [f"the head becomes {short}, on another branch: {_CONTINUES}"]


def _removed(plan: Json) -> set[str]:
    return {row["checkpoint_id"] for row in plan["rows"] if row["change"] == "remove"}


_CONTINUES = "the next run continues there unless its config names a checkpoint"


def _left(ckpt: Callable[..., Json], thread: str, branch: str) -> set[str]:
    """The checkpoints that other branches have."""
    rows = ckpt("log", thread, "--all")["steps"]
    parents = {row["checkpoint_id"]: row["parent_id"] for row in rows}
    left = set[str]()
    for tip in (row["checkpoint_id"] for row in rows if not row["children"] and row["branch"] != int(branch)):
        while tip is not None and tip not in left:
            left.add(tip)
            tip = parents.get(tip)
    return left
