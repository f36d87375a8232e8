"""Delta channels: stored only now and then, and rebuilt from the writes since (langgraph-checkpoint 4.3, beta)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.base import DeltaChannelHistory, PendingWrite

from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.model import Ref
from ckpt_cli.savers.contract import Saver


class _Way(NamedTuple):
    """The way from a checkpoint back to a channel's nearest stored value.

    Attributes:
        ids: ancestors, the nearest first; the last one has the value, if any has.
        seed: that value, alone in a tuple; empty where none is stored.
    """

    ids: tuple[str, ...]
    seed: tuple[Any, ...]


def read_delta_histories(
    saver: Saver, encoding: Encoding, ref: Ref, channels: Sequence[str]
) -> Mapping[str, DeltaChannelHistory]:
    """For each channel its writes since the nearest ancestor that stores it, oldest first, and what that stores.

    langgraph-checkpoint 4.3, ``base/__init__.py: get_delta_channel_history`` says what it means.
    """
    ways = _ways(saver, encoding, ref, channels)
    ids = {checkpoint_id for way in ways.values() for checkpoint_id in way.ids}
    written: dict[tuple[str, str], list[PendingWrite]] = {}
    for write in saver.writes(ref.thread_id, ref.ns, ids) if ids else ():
        if write.channel in ways and write.payload is not None:
            value = (write.task_id, write.channel, encoding.value(write.payload))
            written.setdefault((write.checkpoint_id, write.channel), []).append(value)
    return {channel: _history(channel, way, written) for channel, way in ways.items()}


def _history(channel: str, way: _Way, written: Mapping[tuple[str, str], list[PendingWrite]]) -> DeltaChannelHistory:
    writes = [write for checkpoint_id in reversed(way.ids) for write in written.get((checkpoint_id, channel), [])]
    return {"writes": writes, "seed": way.seed[0]} if way.seed else {"writes": writes}


def delta_ancestors(saver: Saver, encoding: Encoding, ref: Ref) -> list[Ref]:
    """The ancestors that the delta channels of a checkpoint are rebuilt from.

    Metadata names these channels (``counters_since_delta_snapshot``).
    """
    told = [encoding.metadata(payload) for _, payload in saver.metadata([ref])]
    counted = {channel for metadata in told for channel in metadata.get("counters_since_delta_snapshot") or ()}
    if not counted:
        return []
    (stored,) = saver.checkpoints([ref])
    channels = sorted(counted - encoding.body(stored)["channel_values"].keys())
    ways = _ways(saver, encoding, ref, channels)
    return [ref._replace(checkpoint_id=i) for i in {i for way in ways.values() for i in way.ids}]


def _ways(saver: Saver, encoding: Encoding, ref: Ref, channels: Sequence[str]) -> dict[str, _Way]:
    ways = {channel: _Way((), ()) for channel in channels}
    for stored in saver.checkpoints(_ancestors(saver, ref)) if channels else ():
        values = encoding.body(stored)["channel_values"]
        for channel, way in ways.items():
            if not way.seed:
                seed = (values[channel],) if channel in values else ()
                ways[channel] = _Way((*way.ids, stored.row.checkpoint_id), seed)
        if all(way.seed for way in ways.values()):
            break
    return ways


def _ancestors(saver: Saver, ref: Ref) -> Iterator[Ref]:
    """From a checkpoint's parent on, as far as they are stored."""
    parents = {row.checkpoint_id: row.parent_id for row in saver.rows(ref.thread_id, ref.ns)}
    at = parents.pop(ref.checkpoint_id, None)
    while at is not None and at in parents:
        yield ref._replace(checkpoint_id=at)
        at = parents.pop(at)
