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
