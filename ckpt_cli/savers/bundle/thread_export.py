"""Adds a thread of another database to a bundle: the records that it lacks; it refuses what differs."""

from collections.abc import Iterator
from typing import NamedTuple

from ckpt_cli.errors import Refused
from ckpt_cli.model import LOST, Checkpoint, Payload, Record, Ref, Write, in_words, name_of
from ckpt_cli.savers.bundle.index import Origin
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.bundle.writer import BundleWriter
from ckpt_cli.savers.contract import Saver


class Added(NamedTuple):
    """What was added of a thread: how many records, and the bytes of their payloads."""

    checkpoints: int = 0
    writes: int = 0
    bytes: int = 0


def origin_of(saver: Saver, thread_id: str) -> Origin:
    """The database that a thread comes from; of a thread in a bundle, the one that it was copied from."""
    if isinstance(saver, BundleSaver):
        return saver.origin(thread_id)
    about = saver.about()
    return Origin(about.backend, about.generation, about.layout, saver.form)


def export_thread(saver: Saver, thread_id: str, writer: BundleWriter | None, old: BundleSaver | None) -> Added:
    """Add what a bundle lacks of a thread; must run inside a moment of `saver`, and may run again.

    Args:
        saver: has the thread.
        thread_id: the thread.
        writer: adds to the bundle; None to only count.
        old: the bundle as it was, if there was one.

    Raises:
        Refused: the bundle has a record with other contents, or a value isn't in the database.
    """
    if writer is not None:
        writer.begin(thread_id, origin_of(saver, thread_id))
    added = Added()
    for record in _missing(saver, thread_id, old):
        is_checkpoint, size = isinstance(record, Checkpoint), sum(len(one.data) for one in _payloads(record))
        added = Added(added.checkpoints + is_checkpoint, added.writes + (not is_checkpoint), added.bytes + size)
        if writer is not None:
            writer.add(record)
    if writer is not None:
        writer.end()
    return added


def _missing(saver: Saver, thread_id: str, old: BundleSaver | None) -> Iterator[Record]:
    """The records that the bundle doesn't have."""
    here = old if old is not None and old.thread(thread_id) is not None else None
    for checkpoint in saver.checkpoints(row.ref for row in saver.rows(thread_id)):
        there = None if here is None else next(here.checkpoints([checkpoint.row.ref]), None)
        if _is_missing(checkpoint, there):
            yield checkpoint
    on, there_by_name = None, dict[object, Write]()
    for write in saver.writes(thread_id):
        if here is not None and write.ref != on:
            on = write.ref
            there_by_name = {name_of(one): one for one in _writes_on(here, on)}
        if _is_missing(write, there_by_name.get(name_of(write))):
            yield write


def _writes_on(saver: Saver, ref: Ref) -> Iterator[Write]:
    return saver.writes(ref.thread_id, ref.ns, [ref.checkpoint_id])


def _is_missing(record: Record, there: Record | None) -> bool:
    if any(payload.tag == LOST for payload in _payloads(record)):
        raise Refused(f"{in_words(name_of(record))} has a value that isn't in the database")
    if there is not None and _without_size(there) != _without_size(record):
        what = f"the bundle has {in_words(name_of(record))} with other contents"
        raise Refused(what, hint="export the thread to a new file")
    return there is None


def _payloads(record: Record) -> Iterator[Payload]:
    if isinstance(record, Write):
        yield from () if record.payload is None else (record.payload,)
    else:
        yield from (record.body, record.metadata, *(record.channels or {}).values())


def _without_size(record: Record) -> Record:
    return record if isinstance(record, Write) else record._replace(row=record.row._replace(size=None))
