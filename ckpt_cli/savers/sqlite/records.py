"""Makes rows of a generation's tables from records, and finds the record of a row by the row's key."""

from collections.abc import Callable

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import (
    Checkpoint,
    CheckpointRow,
    Name,
    Payload,
    Record,
    Ref,
    Row,
    Scalar,
    Write,
    WriteKey,
    in_words,
    name_of,
)
from ckpt_cli.savers.spelling import index_of, text_of
from ckpt_cli.savers.sqlite.columns import stored
from ckpt_cli.savers.sqlite.schema import Schema


def record_of(relation: str, key: Row, schema: Schema, thread_name: Callable[[Scalar], str]) -> Name | None:
    """The record of a row, by the row's key; `thread_name` gives the name of a thread for its stored id.

    None if the table has no records, or if the key (from an operation log) belongs to another generation's tables.
    """
    columns = schema.columns
    ns, checkpoint_id = ("ns", "id") if relation == "checkpoints" else ("write_ns", "write_id")
    if columns[checkpoint_id] not in key or key.keys() - {"thread_id", "task_id", "idx", *columns.values()}:
        return None
    place = text_of(key.get(columns[ns], "")), text_of(key[columns[checkpoint_id]])
    ref = Ref(thread_name(key["thread_id"]), *place)
    if relation == "checkpoints":
        return ref
    return WriteKey(ref, text_of(key["task_id"]), index_of(key["idx"])) if relation == "writes" else None


class Rows:
    """Makes rows of one generation from records.

    Args:
        schema: the tables.
        stored: gives a thread id as this database stores it; some databases store numbers.
    """

    def __init__(self, schema: Schema, stored: Callable[[str], Scalar]) -> None:
        self._schema = schema
        self._stored = stored

    def key(self, name: Ref | WriteKey) -> tuple[str, Row]:
        """The table of a record and the key of its row."""
        if isinstance(name, Ref):
            return "checkpoints", self._place(name, "ns", "id")
        return "writes", {**self._place(name.ref, "write_ns", "write_id"), **_task(name)}

    def row(self, record: Record) -> Row:
        """All columns of a record's row."""
        return self._checkpoint(record) if isinstance(record, Checkpoint) else self._write(record)

    def _place(self, ref: Ref, ns: str, checkpoint_id: str) -> Row:
        columns = self._schema.columns
        if columns[checkpoint_id] == "''":
            raise NotSupported(f"{self._schema.generation}: its rows have no ids, so nothing can be added beside them")
        place = {"thread_id": self._stored(ref.thread_id), columns[checkpoint_id]: stored(ref.checkpoint_id)}
        if columns[ns] != "''":
            return {**place, columns[ns]: stored(ref.ns)}
        if ref.ns:
            raise NotSupported(f"{self._schema.generation}: it has no namespaces")
        return place

    def _checkpoint(self, record: Checkpoint) -> Row:
        if record.channels is not None:
            raise NotSupported("SQLite keeps a checkpoint whole, not channel by channel")
        columns = self._schema.columns
        row = {**self._place(record.row.ref, "ns", "id"), columns["parent"]: _parent(record.row)}
        row["checkpoint"] = self._body(record.body)
        if columns["tag"] != "NULL":
            row[columns["tag"]] = stored(record.body.tag) or None
        if columns["metadata"] != "NULL":
            row[columns["metadata"]] = None if record.metadata.tag == "null" else self._metadata(record.metadata)
        return row

    def _write(self, record: Write) -> Row:
        if record.payload is None:
            raise ValueError(f"{in_words(name_of(record))} has no payload")
        if not self._schema.writes:
            raise NotSupported(f"{self._schema.generation}: it keeps no writes")
        columns = self._schema.columns
        row = {**self.key(name_of(record))[1], "channel": stored(record.channel), "value": self._body(record.payload)}
        if columns["write_tag"] != "NULL":
            row[columns["write_tag"]] = stored(record.payload.tag) or None
        if columns["task_path"] != "''":
            row[columns["task_path"]] = stored(record.task_path)
        return row

    def _metadata(self, payload: Payload) -> Scalar:
        if payload.tag not in ("json", ""):
            raise NotSupported(f"SQLite keeps metadata as JSON, not as {payload.tag}")
        return self._body(payload)

    def _body(self, payload: Payload) -> Scalar:
        """A payload as it is stored: bytes, or text in the generation that stores text (LangGraph.js 0.0)."""
        return payload.data.decode() if self._schema.letter == "H" else payload.data


def _task(name: WriteKey) -> Row:
    return {"task_id": stored(name.task_id), "idx": stored(name.idx) if isinstance(name.idx, str) else name.idx}


def _parent(row: CheckpointRow) -> Scalar:
    return None if row.parent_id is None else stored(row.parent_id)
