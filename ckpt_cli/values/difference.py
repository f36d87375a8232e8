"""`Difference`: how two values differ, as a tree that follows their structure, with counts."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class DifferenceKind(StrEnum):
    """What happened to a part."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Counts:
    """What happened to the elements of a list or set."""

    kept: int = 0
    changed: int = 0
    added: int = 0
    removed: int = 0
    moved: int = 0


@dataclass(frozen=True, slots=True)
class RoughCounts(Counts):
    """The counts of a list with too many repeated elements to match them in bounded work.

    This is a class of its own, so that other counts don't have the field `by_position` in JSON.

    Attributes:
        by_position: some elements were compared with those in the same place.
    """

    by_position: bool = True


@dataclass(frozen=True, slots=True)
class Difference:
    """A part that differs.

    Attributes:
        path: the path from the channel on, as `ckpt get` takes it; for a removed part, its old path.
        before: the old value; None if there was none, and if `parts` has the differences.
        after: the new value; None if there is none, and if `parts` has the differences.
        was: the old path of a moved part.
        who: role and id of a message.
        counts: what happened to the elements of a list or set.
        parts: the differences inside.
    """

    path: str
    kind: DifferenceKind
    before: Any = None
    after: Any = None
    was: str | None = None
    who: str | None = None
    counts: Counts | None = None
    parts: "list[Difference]" = field(default_factory=list)
