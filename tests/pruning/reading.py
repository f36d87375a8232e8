"""A database as LangGraph reads it, and as ckpt reads it, checkpoint by checkpoint."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver

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
        tuples: what the official saver says: stored values, metadata, pending writes.
        ours: what ckpt says: values, tasks, status, writes.
        parents: its parent.
    """

    states: dict[Ref, str]
    tuples: dict[Ref, str]
    ours: dict[Ref, Any]
    parents: dict[Ref, Ref | None]


def look(backend: Backend, official: BaseCheckpointSaver[Any], graphs: Mapping[str, Graph]) -> Seen:
    """Read all threads anew."""
    with closing(backend.saver()) as saver:
        reader = Reader(saver, Codec())
        rows = {row.ref: row for thread_id in graphs for row in reader.rows(thread_id)}
        return Seen(
            {ref: repr(graphs[ref.thread_id].get_state(_at(ref))._replace(parent_config=None)) for ref in rows},
            {ref: _tuple(official, ref) for ref in rows},
            {ref: shown(reader, ref) for ref in rows},
            {ref: row.parent_id and ref._replace(checkpoint_id=row.parent_id) for ref, row in rows.items()},
        )


def _tuple(official: BaseCheckpointSaver[Any], ref: Ref) -> str:
    found = official.get_tuple(_at(ref))
    assert found is not None, ref
    return repr(found._replace(parent_config=None))


def _at(ref: Ref) -> Any:
    return {"configurable": {"thread_id": ref.thread_id, "checkpoint_ns": ref.ns, "checkpoint_id": ref.checkpoint_id}}
