"""Values that a step made and whose rows are gone, where each has a row of its own (Postgres, MySQL)."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt
from ckpt_cli.history.state.channels import is_control
from ckpt_cli.history.state.delta_counters import counters
from ckpt_cli.reading import Reader
from ckpt_cli.values.node import Node, broken
from ckpt_cli.values.state import State

_FAR = 100  # checkpoints back to the one that made a version, at most


def lost_values(reader: Reader, state: State) -> dict[str, Node]:
    """Channel to a node that says so, for each of which the value is lost.

    Python's savers store no row for an empty channel, so a missing row alone proves nothing. A value is lost if
    ``updated_channels`` of the step that made the version names the channel, and its parent or the head stores a
    value: those of a delta channel and of an UntrackedValue are named too, and never stored.
    """
    deltas = counters(state.metadata)
    channels = [c for c in state.blobless if not is_control(c, state) and c not in deltas]
    why = "no value is stored for its version: the row of the database is lost"
    return {channel: broken(why) for channel in channels if _is_lost(reader, state, channel)}


def _is_lost(reader: Reader, state: State, channel: str) -> bool:
    maker = state
    for older in _ancestors(reader, state):
        if older.versions.get(channel) != state.versions[channel]:
            is_named = maker.source == "loop" and channel in (maker.updated or ())
            return is_named and (channel in older.values or _head_has(reader, state, channel))
        maker = older
    return False


def _ancestors(reader: Reader, state: State) -> Iterator[State]:
    lineage = reader.lineage(state.ref.thread_id, state.ref.ns)
    with suppress(PayloadCorrupt, CheckpointNotFound):
        for checkpoint_id in islice(lineage.line(state.ref.checkpoint_id), 1, _FAR):
            yield reader.state(state.ref._replace(checkpoint_id=checkpoint_id))


def _head_has(reader: Reader, state: State, channel: str) -> bool:
    head = reader.lineage(state.ref.thread_id, state.ref.ns).head
    with suppress(PayloadCorrupt, CheckpointNotFound):
        return head is not None and channel in reader.state(state.ref._replace(checkpoint_id=head)).values
    return False
