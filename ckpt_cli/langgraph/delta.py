"""Reads delta channels for an agent: the nearest stored value and the later writes.

Only some checkpoints store such a channel's value; later writes rebuild it in the others. langgraph-checkpoint 4.3,
beta.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.base import DeltaChannelHistory, PendingWrite

from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.model import Checkpoint, Ref
from ckpt_cli.savers.contract import Saver


class _Path(NamedTuple):
    """The path from a checkpoint back to a channel's nearest stored value.

    Attributes:
        ids: ancestors, the nearest first; the last of them stores the value, if any ancestor does.
        seed: a tuple with only the stored value; empty if no ancestor stores a value.
    """

    ids: tuple[str, ...]
    seed: tuple[Any, ...]


def read_delta_histories(
    saver: Saver, encoding: Encoding, ref: Ref, channels: Sequence[str]
) -> Mapping[str, DeltaChannelHistory]:
    """For each channel: the stored value of the nearest ancestor that has one, and the writes since then, oldest first.

    langgraph-checkpoint 4.3, ``base/__init__.py: get_delta_channel_history``.
    """
    paths = _paths(saver, encoding, ref, channels)
    ids = {checkpoint_id for path in paths.values() for checkpoint_id in path.ids}
    written: dict[tuple[str, str], list[PendingWrite]] = {}
    for write in saver.writes(ref.thread_id, ref.ns, ids) if ids else ():
        if write.channel in paths and write.payload is not None:
            value = (write.task_id, write.channel, encoding.value(write.payload))
            written.setdefault((write.checkpoint_id, write.channel), []).append(value)
    return {channel: _history(channel, path, written) for channel, path in paths.items()}


def _history(channel: str, path: _Path, written: Mapping[tuple[str, str], list[PendingWrite]]) -> DeltaChannelHistory:
    writes = [write for checkpoint_id in reversed(path.ids) for write in written.get((checkpoint_id, channel), [])]
    return {"writes": writes, "seed": path.seed[0]} if path.seed else {"writes": writes}


def delta_ancestors(saver: Saver, encoding: Encoding, ref: Ref) -> list[Ref]:
    """The ancestors from which a checkpoint's delta channels are rebuilt.

    The checkpoint's metadata names these channels (``counters_since_delta_snapshot``).
    """
    metadata = [encoding.metadata(payload) for _, payload in saver.metadata([ref])]
    delta_channels = {channel for part in metadata for channel in part.get("counters_since_delta_snapshot") or ()}
    if not delta_channels:
        return []
    (stored,) = saver.checkpoints([ref])
    channels = sorted(delta_channels - encoding.body(stored)["channel_values"].keys())
    paths = _paths(saver, encoding, ref, channels)
    return [ref._replace(checkpoint_id=i) for i in {i for path in paths.values() for i in path.ids}]


def _paths(saver: Saver, encoding: Encoding, ref: Ref, channels: Sequence[str]) -> dict[str, _Path]:
    paths = {channel: _Path((), ()) for channel in channels}
    for stored in saver.checkpoints(_ancestors(saver, ref)) if channels else ():
        values = encoding.body(stored)["channel_values"]
        for channel, path in paths.items():
            if not path.seed:
                seed = (values[channel],) if _is_seed(channel, values, stored, encoding) else ()
                paths[channel] = _Path((*path.ids, stored.row.checkpoint_id), seed)
        if all(path.seed for path in paths.values()):
            break
    return paths


def _is_seed(channel: str, values: Mapping[str, Any], stored: Checkpoint, encoding: Encoding) -> bool:
    """Whether a checkpoint stores a channel's value; some savers don't count a None in the header.

    checkpoint-postgres 3.2, ``base.py: _advance_delta_walks``.
    """
    if channel not in values:
        return False
    apart = (stored.channels or {}).get(channel)
    return encoding.form.none_seeds or values[channel] is not None or (apart is not None and apart.tag != "empty")


def _ancestors(saver: Saver, ref: Ref) -> Iterator[Ref]:
    """A checkpoint's parent, grandparent and so on; ends where an ancestor isn't stored."""
    parents = {row.checkpoint_id: row.parent_id for row in saver.rows(ref.thread_id, ref.ns)}
    at = parents.pop(ref.checkpoint_id, None)
    while at is not None and at in parents:
        yield ref._replace(checkpoint_id=at)
        at = parents.pop(at)
