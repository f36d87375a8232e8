"""`Fault`: what contradicts itself in a checkpoint; each kind has a stable name.

A fault is only DIFFERS if no library, no honest deletion and no unknown code leaves such a record. What a deletion
leaves too is UNKNOWN: a record is gone, and nothing shows who removed it.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.history.reducers.verdict import Verdict


class Kind(StrEnum):
    """What is wrong, or can't be known. The names are part of the JSON contract: none is changed or removed."""

    VALUE = "value"
    """A channel's value isn't what the step's writes make."""
    NOT_COMPARED = "not-compared"
    """The writes that made a step aren't stored, or it isn't known which of them count."""
    CHANGED_UNVERSIONED = "changed-without-version"
    CHANGED_UNWRITTEN = "changed-without-write"
    VERSION_UNWRITTEN = "version-without-write"
    VERSION_BACK = "version-back"
    VERSION_LOST = "version-lost"
    SEEN_AHEAD = "seen-ahead"
    SEEN_BACK = "seen-back"
    UPDATED_CHANNELS = "updated-channels"
    STEP_BACK = "step-back"
    WRONG_ID = "wrong-id"
    WRONG_PARENT = "wrong-parent"
    PARENT_CIRCLE = "parent-circle"
    PARENT_GONE = "parent-gone"
    NO_PARENT = "no-parent"
    CALLER_GONE = "caller-gone"
    INPUT = "input"
    WRITES_ALONE = "writes-alone"
    NO_SUCH_TASK = "no-such-task"
    WRITE_GONE = "write-gone"
    DELTA_GAP = "delta-gap"
    VALUE_GONE = "value-gone"
    BLOB_GONE = "blob-gone"
    BLOB_SHARED = "blob-shared"
    UNREADABLE = "unreadable"


class Fault(NamedTuple):
    """One fault of one checkpoint.

    Attributes:
        channel: the channel; "" if it is about no single one.
        why: the fault in words, without the checkpoint: equal texts are counted together.
    """

    kind: Kind
    verdict: Verdict
    channel: str
    why: str


EXPLAINING = frozenset({Kind.WRONG_ID, Kind.WRONG_PARENT})
"""Kinds that explain what else is odd at the same checkpoint: it would be compared with one that didn't make it."""

FOREIGN_PARENT = Fault(
    Kind.NOT_COMPARED,
    Verdict.UNKNOWN,
    "",
    "its parent's body has the id of another checkpoint: nothing to compare with",
)


def explaining(faults: Iterable[Fault]) -> list[Fault]:
    """The faults that explain all others of their checkpoint; [] if there is none of these."""
    found = [fault for fault in faults if fault.kind in EXPLAINING or fault == FOREIGN_PARENT]
    own = [fault for fault in found if fault != FOREIGN_PARENT]
    return own or found
