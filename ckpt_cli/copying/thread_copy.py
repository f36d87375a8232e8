"""What another database lacks of a thread, as its saver stores it; what it has must be the same."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ckpt_cli.copying.recast import Recast
from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.history.state.channels import is_snapshot
from ckpt_cli.layouts import named, read_metadata, whole
from ckpt_cli.model import LOST, NULL_TASK, Checkpoint, Payload, Record, Ref, Write, in_words, name_of
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.savers.contract import Saver
from ckpt_cli.values.same import same


class Compared(NamedTuple):
    """A thread of two databases.

    Attributes:
        missing: the records that the target lacks, in the format of its saver; checkpoints come first.
        total: how many records the source has.
    """

    missing: list[Record]
    total: int


def compare(source: Reader, target: Saver, thread_id: str, wrote: RecordFormat) -> Compared:
    """Compare a thread with what another database has of it.

    Args:
        source: has the thread; called inside a moment of it.
        target: the other database, with the same key.
        thread_id: the thread.
        wrote: how the source's records were written.

    Raises:
        Refused: the target has a record of the same name with other contents, or the source lacks a value.
        NotSupported: the target can't hold a record, or its saver couldn't go on from it (MongoDB's finds the writes of
            a task by the task's path, which Valkey and older tables don't store).
    """
    there = _There(target, source, thread_id)
    recast = Recast(source.codec, wrote, target.form)
    missing, total = list[Record](), 0
    rows = sorted(source.saver.rows(thread_id), key=lambda row: (row.ns, row.checkpoint_id))
    for stored in source.saver.checkpoints(row.ref for row in rows):
        _must_be_here(stored)
        made = recast.checkpoint(stored)
        total += 1
        if there.lacks_checkpoint(made):
            missing.append(made)
    open_refs = {row.ref for row in rows} - {row.ref._replace(checkpoint_id=row.parent_id or "") for row in rows}
    for write in source.saver.writes(thread_id):
        _must_be_here(write)
        if (
            target.finds_writes_by_path
            and not write.task_path
            and write.task_id != NULL_TASK
            and write.ref in open_refs
        ):
            what = f"{in_words(name_of(write))} has no path of its task"
            raise NotSupported(f"{what}, and the target's saver couldn't go on from it")
        made_write = recast.write(write)
        total += 1
        if there.lacks_write(made_write):
            missing.append(made_write)
    return Compared(missing, total)


class _There:
    """What the target has of a thread."""

    def __init__(self, target: Saver, reader: Reader, thread_id: str) -> None:
        self._target, self._decode = target, reader.codec.decode
        self._ids = {row.ref for row in target.rows(thread_id)}
        self._writes = {name_of(one) for one in target.writes(thread_id, values=0)}

    def lacks_checkpoint(self, made: Checkpoint) -> bool:
        """Whether the target has no checkpoint of this name; one that it has must be the same."""
        if made.row.ref not in self._ids:
            return True
        stored = next(self._target.checkpoints([made.row.ref]))
        if not self._is_same(stored, made):
            raise _conflict(made)
        return False

    def lacks_write(self, made: Write) -> bool:
        """Whether the target has no write of this name; one that it has must be the same."""
        name = name_of(made)
        if name not in self._writes:
            return True
        stored = next(one for one in self._target.writes(*_place(made.ref)) if name_of(one) == name)
        if stored.channel != made.channel or not self._is_equal(stored.payload, made.payload):
            raise _conflict(made)
        return False

    def _is_same(self, stored: Checkpoint, made: Checkpoint) -> bool:
        if stored.row.parent_id != made.row.parent_id:
            return False
        if stored._replace(row=made.row) == made:
            return True
        metadata = [read_metadata(self._decode(one.metadata))[0] for one in (stored, made)]
        there, here = whole(stored, self._decode), whole(made, self._decode)
        shared = _snapshots_of_versions(there, here)
        return same(*metadata) and same({**there, "channel_values": shared}, here)

    def _is_equal(self, one: Payload | None, other: Payload | None) -> bool:
        if one is None or other is None or one == other:
            return one == other
        return same(self._decode(one), self._decode(other))


def _snapshots_of_versions(there: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """The target's values, without those snapshots of delta channels that only other checkpoints were copied with.

    Where values are stored by version, each checkpoint that has the version shows the snapshot.
    """
    values = named(there.get("channel_values"))
    own = named(here.get("channel_values"))
    return {name: value for name, value in values.items() if name in own or not is_snapshot(value)}


def _place(ref: Ref) -> tuple[str, str, list[str]]:
    return ref.thread_id, ref.ns, [ref.checkpoint_id]


def _conflict(made: Record) -> Refused:
    what = f"the target has {in_words(name_of(made))} with other contents"
    return Refused(f"{what}; nothing of the thread was written", hint="ckpt diff shows what differs")


def _must_be_here(record: Record) -> None:
    if any(payload.tag == LOST for payload in _payloads(record)):
        raise Refused(f"{in_words(name_of(record))} has a value that isn't in the database")


def _payloads(record: Record) -> Iterator[Payload]:
    if isinstance(record, Write):
        yield from () if record.payload is None else (record.payload,)
    else:
        yield from (record.body, record.metadata, *(record.channels or {}).values())
