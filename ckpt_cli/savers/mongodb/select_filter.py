"""Finds the checkpoints of a `Selection` with the filter of LangGraph's own saver.

checkpoint-mongodb 0.5, ``saver.py: list``.
"""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bson.errors import BSONError
from pymongo.errors import OperationFailure

from ckpt_cli.errors import FilterRefused
from ckpt_cli.model import Payload, Ref
from ckpt_cli.savers.mongodb import records
from ckpt_cli.savers.mongodb.connection import Connection
from ckpt_cli.savers.selection import Selection

Document = dict[str, Any]

_BAD_VALUE = 2


def select(connection: Connection, selection: Selection, thread_id: Any) -> Iterator[Ref]:
    """The checkpoints of a selection, by one statement; `thread_id` is the thread's id as it is stored.

    Raises:
        FilterRefused: MongoDB can't take the selection's metadata.
    """
    columns = ("thread_id", "checkpoint_ns", "checkpoint_id")
    relation, where = connection.address.collection, _where(selection, thread_id)
    with _refusals():
        for one in connection.find(relation, where, columns, {"checkpoint_id": -1}, selection.limit or 0):
            yield records.ref_of(records.thread_of(one), one)


def _where(selection: Selection, thread_id: Any) -> Document:
    conditions: Document = {} if selection.thread_id is None else {"thread_id": thread_id}
    if selection.ns is not None:
        conditions["checkpoint_ns"] = records.stored(selection.ns)
    ids: Document = {} if selection.checkpoint_id is None else {"$eq": records.stored(selection.checkpoint_id)}
    ids |= {} if selection.before is None else {"$lt": selection.before}
    return {**conditions, **({"checkpoint_id": ids} if ids else {}), **_metadata(selection.metadata)}


def _metadata(metadata: Payload | None) -> Document:
    """A condition for each key; a dot in a key leads into a nested document."""
    wanted = {} if metadata is None else json.loads(metadata.data)
    return {f"metadata.{key}": _stored(value) for key, value in wanted.items()}


def _stored(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stored(item) for key, item in value.items()}
    return [value[0], b64decode(value[1])]


@contextmanager
def _refusals() -> Iterator[None]:
    """Translate the errors that say that a filter can't be sent or understood."""
    try:
        yield
    except BSONError as error:
        raise FilterRefused(f"MongoDB can't take this filter: {error}") from error
    except OperationFailure as error:
        if error.code != _BAD_VALUE:
            raise
        reason = (error.details or {}).get("errmsg")
        raise FilterRefused(f"the server can't take this filter: {reason}") from error
