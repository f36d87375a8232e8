"""Detects which saver wrote a database, from one document of each collection without its values."""

from collections.abc import Mapping
from typing import NamedTuple

from ckpt_cli.savers.faults import no_checkpoints
from ckpt_cli.savers.mongodb.connection import Connection


class Schema(NamedTuple):
    """The generation of a database, as its documents' fields show.

    Attributes:
        generation: the generation in words.
        task_paths: whether writes name the task's path.
        dated: whether documents have ``created_at``, from which the server counts their time to live.
        facts: more for `About.facts`.
    """

    generation: str
    task_paths: bool
    dated: bool
    facts: Mapping[str, str]


def detect(connection: Connection, collections: list[str]) -> Schema:
    """Detect the schema from the last checkpoint and the last write.

    Args:
        connection: an open connection.
        collections: those of LangGraph's collections that exist.

    Raises:
        DatabaseUnreachable: the collection holds other data than LangGraph's.
    """
    address = connection.address
    columns = ("thread_id", "checkpoint_id", "type", "metadata", "created_at")
    last = next(connection.find(address.collection, {}, columns, {"_id": -1}, 1), None)
    last_write = next(connection.find(address.writes, {}, ("task_path", "idx"), {"_id": -1}, 1), None)
    if last is not None and "checkpoint_id" not in last:  # a damaged document, or another program's
        named = {"checkpoint_id": {"$exists": True}}
        last = next(connection.find(address.collection, named, columns, {"_id": -1}, 1), None)
        if last is None:
            hint = f"{address.collection!r} holds something else; ?collection= names another"
            raise no_checkpoints(address.location, hint)
    task_paths = last_write is None or "task_path" in last_write
    facts = {"collections": f"{address.collection}, {address.writes}"}
    if unused := [name for name in collections if name not in (address.collection, address.writes)]:
        facts["other collections"] = ", ".join(unused)
    dated = last is not None and "created_at" in last
    if dated:
        facts["time to live"] = "documents are dated (created_at)"
    return Schema(_generation(last, task_paths), task_paths, dated, facts)


def _generation(last: Mapping[str, object] | None, task_paths: bool) -> str:
    if last is None:
        return "checkpoint-mongodb, empty"
    metadata = last.get("metadata")
    if not isinstance(metadata, Mapping):
        return "LangGraph.js checkpoint-mongodb"
    if any(isinstance(value, bytes) for value in metadata.values()):
        return "checkpoint-mongodb 0.1"
    return "checkpoint-mongodb 0.5.1" if task_paths else "checkpoint-mongodb before 0.5, without task paths"
