"""The logical records of all savers: payload, checkpoint, write, thread, plan, row change; none is decoded.

They are independent of the engine and of the values inside. Words are LangGraph's own (thread, namespace, checkpoint,
channel, write, task). Nothing here is decoded: a value is a `Payload`, the pair of type tag and bytes that LangGraph's
serializers make (langgraph-checkpoint 4.3, ``serde/base.py: SerializerProtocol.dumps_typed``).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

NULL_TASK = "00000000-0000-0000-0000-000000000000"
"""The task id of writes that belong to a step and not to a task: input and ``Command(resume=…)``."""


class Payload(NamedTuple):
    """A value as stored: type tag (``msgpack``, ``json``, ``null``, ``msgpack+aes``, …) and bytes.

    The tag is ``""`` where the schema has no column for it (langgraph 0.0 and 0.1). Then the bytes are a pickle if the
    first byte is 0x80, else JSON text.
    """

    tag: str
    data: bytes


NULL = Payload("null", b"")

LOST = "elsewhere"
"""The tag of a value that isn't in the database; its bytes are a text that says why."""


class Ref(NamedTuple):
    """The full name of a checkpoint."""

    thread_id: str
    ns: str
    checkpoint_id: str


class Thread(NamedTuple):
    """A thread and its head: the highest id of the root namespace or, if that is empty, of all namespaces."""

    thread_id: str
    head: Ref


class CheckpointRow(NamedTuple):
    """The ids of a checkpoint and of its parent, without values: cheap to read.

    Attributes:
        parent_id: None for a root; may name a row that was never stored (langgraph 0.3, ``checkpoint_during=False``).
        size: bytes of the stored checkpoint column, if the engine knows the size without reading the column.
    """

    thread_id: str
    ns: str
    checkpoint_id: str
    parent_id: str | None
    size: int | None = None

    @property
    def ref(self) -> Ref:
        """The full name of this checkpoint."""
        return tuple.__new__(Ref, self[:3])  # half the time of a call of `Ref`


class Checkpoint(NamedTuple):
    """A checkpoint with its payloads, not decoded.

    Attributes:
        body: the whole checkpoint object or, if `channels` is set, the header: the object without those values.
        metadata: a payload too (JSON text in SQLite, JSONB in Postgres, msgpack in ``langgraph dev``).
        channels: one payload for each channel if the engine stores channels one by one (Postgres, MySQL), else None.
    """

    row: CheckpointRow
    body: Payload
    metadata: Payload
    channels: Mapping[str, Payload] | None = None


class Write(NamedTuple):
    """One pending write: what a task wrote to one channel, stored on the checkpoint the task started from.

    Attributes:
        idx: position in the task's list of writes; ``__error__`` -1, ``__scheduled__`` -2, ``__interrupt__`` -3,
            ``__resume__`` -4 (langgraph-checkpoint 4.3, ``base/__init__.py: WRITES_IDX_MAP``). It is text if the
            stored value is not an integer, which no library writes.
        task_path: ``~__pregel_pull, NODE`` and so on; "" if the schema or the row has none.
        payload: None if a listing did not read it; then `size` is its number of bytes.
    """

    thread_id: str
    ns: str
    checkpoint_id: str
    task_id: str
    idx: int | str
    channel: str
    task_path: str = ""
    payload: Payload | None = None
    size: int = 0

    @property
    def ref(self) -> Ref:
        """The checkpoint the task started from."""
        return tuple.__new__(Ref, self[:3])  # half the time of a call of `Ref`

    @property
    def order(self) -> tuple[str, str, bool, int | str]:
        """LangGraph's canonical order of the writes of one checkpoint."""
        return (self.task_path, self.task_id, isinstance(self.idx, str), self.idx)


class WriteKey(NamedTuple):
    """The full name of a write."""

    ref: Ref
    task_id: str
    idx: int | str


Record = Checkpoint | Write
Name = Ref | WriteKey
"""The full name of a record."""


def name_of(record: Record) -> Name:
    """The full name of a record."""
    return record.row.ref if isinstance(record, Checkpoint) else WriteKey(record.ref, record.task_id, record.idx)


def in_words(name: Name) -> str:
    """A record's name for people."""
    if isinstance(name, Ref):
        return f"checkpoint {name.checkpoint_id} of thread {name.thread_id!r}"
    return f"write {name.idx} of task {name.task_id} on {name.ref.checkpoint_id}"


class Seen(NamedTuple):
    """The hash of something that a plan was computed from; it must be the same when the plan is applied.

    Attributes:
        ref: one checkpoint with its payloads. With an empty `checkpoint_id`: all ids of the namespace, or of the
            thread if `ns` is ``*``, and the keys of all their writes.
        writes: whether the hash also covers the writes. If it doesn't, an application may continue the thread before
            the plan is applied.
        head: whether the hash covers only the id of the namespace's head and the keys of the head's writes.
    """

    ref: Ref
    digest: bytes
    writes: bool = True
    head: bool = False


class Plan(NamedTuple):
    """A change to a database as logical records, computed before anything is touched.

    Attributes:
        reason: why the change is made, in the words of the user or of the command.
        verb: the command that made the plan.
        summary: one line for people.
        notes: what else a person should know before confirming, one line each.
        details: what was answered, and which channels change, one line each; kept in the operation log.
        result: the checkpoint to continue from afterwards; with an empty `checkpoint_id` the head at that time.
        add: records that must not exist yet.
        replace: the new content of records that must exist.
        remove: records that must exist and are deleted.
        basis: the records that must not have changed since the plan was computed.
        recent: the newest checkpoint of each thread that was written to moments ago.
    """

    reason: str
    add: tuple[Record, ...] = ()
    replace: tuple[Record, ...] = ()
    remove: tuple[Ref | WriteKey, ...] = ()
    basis: tuple[Seen, ...] = ()
    recent: tuple[Ref, ...] = ()
    verb: str = ""
    summary: str = ""
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    result: Ref | None = None


Scalar = None | int | float | str | bytes
Row = Mapping[str, Scalar]


class RowChange(NamedTuple):
    """One physical row (an SQL row, a Redis key, a document) before and after a change.

    The operation log keeps both; undo swaps them.

    Attributes:
        relation: table or collection.
        key: the columns that name the row.
        before: all its columns before the change; None if the row didn't exist.
        after: all its columns after the change; None if the row is deleted.
    """

    relation: str
    key: Row
    before: Row | None
    after: Row | None

    @property
    def inverse(self) -> "RowChange":
        """The change that undoes this one."""
        return RowChange(self.relation, self.key, self.after, self.before)


class Insertion(NamedTuple):
    """A row change for a record that is added.

    Attributes:
        image: the row as a later read gives it; None if that is what is written, or if nobody asked.
        digests: the SHA-256 of the values of some columns of the change, as far as they were made.
    """

    change: RowChange
    image: Row | None = None
    digests: Mapping[str, bytes] = MappingProxyType({})
