"""Values that a step wrote and that are gone; versions for which two branches share one value."""

from collections.abc import Iterator

from ckpt_cli.history.integrity.faults import Fault, Kind
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.history.state.channels import is_control
from ckpt_cli.values.state import State


def check_values(parent: State | None, state: State) -> Iterator[Fault]:
    """Channels that a step left with a value, as ``updated_channels`` says, and of which none is stored.

    A delta channel and an UntrackedValue store none either; so it is a fault only of a channel that another checkpoint
    stores a value of, and that isn't a delta channel. A deployment may make a channel an UntrackedValue, or end that.
    So only a version without any stored value differs.
    """
    if state.damage or state.source != "loop":
        return
    older = parent.versions if parent is not None else {}
    for channel in state.updated or ():
        is_new = channel in state.versions and state.versions[channel] != older.get(channel)
        if is_new and channel not in state.values and not is_control(channel, state):
            if channel in state.blobless:
                yield Fault(Kind.BLOB_GONE, Verdict.DIFFERS, channel, _GONE)
            else:
                yield Fault(Kind.VALUE_GONE, Verdict.UNKNOWN, channel, _GONE + _UNTRACKED)


_GONE = "updated_channels says that the step gave it a value, and none is stored"
_UNTRACKED = "; a channel that was an UntrackedValue at that time leaves such a record"


class SharedVersions:
    """Finds versions that two branches of a namespace made, where values are stored by version (Postgres, MySQL).

    The saver keeps the first value of a version (checkpoint-postgres 3.2 ``base.py: UPSERT_CHECKPOINT_BLOBS_SQL``).
    Python's versions end in a random number since 0.2; LangGraph.js counts, so there forks do share values.
    """

    def __init__(self, lineage: Lineage, *, apart: bool) -> None:
        self._made: set[int] | None = set() if apart and lineage.forks else None

    def add(self, parent: State | None, state: State) -> frozenset[str]:
        """Add a checkpoint; gives the channels whose new version another branch had made before."""
        if self._made is None or state.source == "fork":  # a copy has the versions of what it copies
            return frozenset()
        older = parent.versions if parent is not None else {}
        new = {c: hash((c, version)) for c, version in state.versions.items() if version != older.get(c)}
        shared = frozenset(channel for channel, key in new.items() if key in self._made)
        self._made.update(new.values())
        return shared
