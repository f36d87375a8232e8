"""A database as LangGraph reads it, and as ckpt reads it, checkpoint by checkpoint."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.serde.codec import Codec
from tests.cross.backend import Backend
from tests.cross.pruned import shown
from tests.graphs import Graph


class Seen(NamedTuple):
    """What two readers say of each checkpoint.

    Attributes:
        states: what the graph's `get_state` says: values, next nodes, tasks, interrupts.
        tuples: what the official saver says: stored values but for snapshots, metadata, pending writes.
        ours: what ckpt says: values, tasks, status, writes. Of a delta channel it may know less than the graph.
        parents: its parent.
        rebuilt: what the graph says of its delta channel.
    """

    states: dict[Ref, str]
    tuples: dict[Ref, str]
    ours: dict[Ref, Any]
    parents: dict[Ref, Ref | None]
    rebuilt: dict[Ref, Any]


def look(backend: Backend, official: BaseCheckpointSaver[Any], graphs: Mapping[str, Graph]) -> Seen:
    """Read all threads anew."""
    with closing(backend.saver()) as saver:
        reader = Reader(saver, Codec())
        rows = {row.ref: row for thread_id in graphs for row in reader.rows(thread_id)}
        states = {ref: graphs[ref.thread_id].get_state(_at(ref)) for ref in rows}
        return Seen(
            {ref: repr(state._replace(parent_config=None)) for ref, state in states.items()},
            {ref: _tuple(official, ref) for ref in rows},
            {ref: shown(reader, ref) for ref in rows},
            {ref: row.parent_id and ref._replace(checkpoint_id=row.parent_id) for ref, row in rows.items()},
            {ref: state.values.get("seq") for ref, state in states.items()},
        )


def learned(was: Seen, now: Seen, ref: Ref) -> bool:
    """Whether ckpt only knows more of a delta channel now: its value, or a nearer stored value and fewer writes.

    A checkpoint with its version stores it now, or one before it does.
    """
    (before, *others), (after, *same) = was.ours[ref], now.ours[ref]
    unknown, value = before.get("seq"), after.get("seq")
    if not isinstance(unknown, dict) or others != same or after != {**before, "seq": value}:
        return False
    if not isinstance(value, dict):
        return bool(value == now.rebuilt[ref])
    writes = value["writes"]
    return value["seed"] in now.rebuilt.values() and unknown["writes"][-len(writes) :] == writes


def _tuple(official: BaseCheckpointSaver[Any], ref: Ref) -> str:
    found = official.get_tuple(_at(ref))
    assert found is not None, ref
    values = {c: one for c, one in found.checkpoint["channel_values"].items() if not isinstance(one, _DeltaSnapshot)}
    return repr(found._replace(parent_config=None, checkpoint={**found.checkpoint, "channel_values": values}))


def _at(ref: Ref) -> Any:
    return {"configurable": {"thread_id": ref.thread_id, "checkpoint_ns": ref.ns, "checkpoint_id": ref.checkpoint_id}}
