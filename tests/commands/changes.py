"""What the tests of changing verbs share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]


Database = Callable[[str], Path]


THREAD = "chat-linear"


def row_changes(plan: Json) -> list[tuple[str, str]]:
    """Change and table of each row of a plan."""
    return [(row["change"], row["table"]) for row in plan["rows"]]


def values(shown: Json) -> Json:
    """The state that a checkpoint holds."""
    return {name: channel["value"] for name, channel in shown["channels"].items()}


SUMMARY = "of 3e971b (step 2): new checkpoint 5d20aa, source fork, step 3; next: tools, classify, and one more 任务"
