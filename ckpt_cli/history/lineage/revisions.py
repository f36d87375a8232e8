"""The grammar of revisions that people type (``A..B``, ``THREAD:REV``); `finder` finds the checkpoint."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.short_ids import EMPTY

_HEADS = ("", "@", "HEAD")
FORMS = (
    "@, HEAD, an id or its short form, REV~2, REV^, step:5, branch:2, @{2h}, @{2026-11-01T10:00},"
    " failed, before:text:TEXT, before:node:NODE"
)
_BEFORE_TEXT, _BEFORE_NODE, _FAILED = "before:text:", "before:node:", "failed"
_UPS = r"(?:\^|~\d{0,9})*$"
_NUMBERED = r"(step|branch):(-?\d{1,9})"
_ID = r"[0-9A-Za-z.:+_\-]+"


class RevisionKind(StrEnum):
    """The ways to name a checkpoint."""

    HEAD = "head"
    ID = "id"
    STEP = "step"
    BRANCH = "branch"
    TAG = "tag"
    TIME = "time"
    BEFORE_TEXT = "text"
    BEFORE_NODE = "node"
    FAILED = "failed"


class Revision(NamedTuple):
    """A parsed revision: where to start, and how many parents up from there."""

    kind: RevisionKind
    name: str = ""
    up: int = 0


def parse(text: str) -> Revision:
    """The parsed revision, from its text alone.

    Raises:
        UsageError: the text is no revision.
    """
    if text in _HEADS and text:
        return Revision(RevisionKind.HEAD)
    if text.startswith(_BEFORE_TEXT) and text != _BEFORE_TEXT:
        return Revision(RevisionKind.BEFORE_TEXT, text.removeprefix(_BEFORE_TEXT))  # ~ and ^ belong to the pattern
    base = re.sub(_UPS, "", text)
    up = sum(int(n or 1) for n in re.findall(r"\^|~(\d*)", text[len(base) :]))
    if base in _HEADS and text:
        return Revision(RevisionKind.HEAD, up=up)
    if base.startswith("@{") and base.endswith("}") and len(base) > 3:
        return Revision(RevisionKind.TIME, base[2:-1], up)
    if base.startswith(_BEFORE_NODE) and base != _BEFORE_NODE:
        return Revision(RevisionKind.BEFORE_NODE, base.removeprefix(_BEFORE_NODE), up)
    if base == _FAILED:
        return Revision(RevisionKind.FAILED, up=up)
    if numbered := re.fullmatch(_NUMBERED, base):
        return Revision(RevisionKind(numbered[1]), str(int(numbered[2])), up)
    head, colon, name = base.partition(":")
    if head == "tag" and name:
        return Revision(RevisionKind.TAG, name, up)
    if base != EMPTY and (not re.fullmatch(_ID, base) or (colon and head in ("step", "branch", "tag", "before"))):
        raise UsageError(f"{text!r} is no revision", hint=f"one of: {FORMS}")
    return Revision(RevisionKind.ID, "" if base == EMPTY else base, up)


def split_range(text: str) -> tuple[str, str] | None:
    """The two ends of ``A..B``, where a missing end is the head; None if the text is no range."""
    left, dots, right = text.partition("..")
    return (left or "@", right.removeprefix(".") or "@") if dots else None


def split_thread(text: str) -> Iterator[tuple[str, str]]:
    """Every way to read ``THREAD:REV``: a thread id may contain colons, and so may a revision."""
    for at, char in enumerate(text):
        if char == ":" and 0 < at < len(text) - 1:
            yield text[:at], text[at + 1 :]


def is_only_a_revision(text: str) -> bool:
    """Whether the form of a text makes it a revision, so that it isn't tried as ``THREAD:REV``."""
    try:
        return parse(text).kind is not RevisionKind.ID
    except UsageError:
        return False


def between(lineage: Lineage, older: str, newer: str) -> list[str]:
    """The checkpoints of ``older..newer``, newest first: those on the line of `newer` but not of `older`."""
    older_line = set(lineage.line(older))
    return [checkpoint_id for checkpoint_id in lineage.line(newer) if checkpoint_id not in older_line]
