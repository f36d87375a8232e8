"""Adds a thread of another database to a bundle: the records that it lacks; it refuses what differs."""

from collections.abc import Callable, Iterable, Iterator, Set
from functools import partial
from hashlib import blake2b
from typing import NamedTuple, Protocol

from ckpt_cli.errors import Refused
from ckpt_cli.model import LOST, Checkpoint, Payload, Record, Ref, RowChange, Write, in_words, name_of
from ckpt_cli.savers.bundle.index import Origin
from ckpt_cli.savers.bundle.packed import PackedThreads
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.bundle.writer import BundleWriter
from ckpt_cli.savers.contract import Saver


class Added(NamedTuple):
    """What was added of a thread: its id in the bundle, how many records, and the bytes of their payloads."""

    thread_id: str
    checkpoints: int = 0
    writes: int = 0
    bytes: int = 0


def origin_of(saver: Saver, thread_id: str) -> Origin:
    """The database that a thread comes from; of a thread in a bundle, the one that it was copied from."""
    if isinstance(saver, PackedThreads):
        return saver.origin(thread_id)
    about = saver.about()
    return Origin(about.backend, about.generation, about.layout, saver.form)


class Redact(Protocol):
    """Makes the records of a thread ready for a bundle that holds less than the database."""

    def start(self, thread_id: str, heads: Callable[[], Iterable[Checkpoint]]) -> str:
        """Begin with a thread, and return its id in the bundle; `heads` gives the newest of each namespace."""

    def checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        """The checkpoint as it is in the bundle.

        Raises:
            Refused: it can't be made ready.
        """

    def write(self, write: Write) -> Write:
        """The write as it is in the bundle; raises as `checkpoint` does."""


def export_thread(
    saver: Saver,
    thread_id: str,
    writer: BundleWriter | None,
    old: BundleSaver | None,
    redact: Redact | None = None,
    rows: Callable[[], Iterable[RowChange]] = tuple,
    only: Set[Ref] | None = None,
) -> Added:
    """Add what a bundle lacks of a thread; must run inside a moment of `saver`, and may run again.

    Args:
        saver: has the thread.
        thread_id: the thread.
        writer: adds to the bundle; None to only count.
        old: the bundle as it was, if there was one.
        redact: changes each record before it is compared with the bundle's and added.
        rows: gives changes of the thread's rows, which are added as they are before.
        only: these checkpoints, with the writes on them; None for all.

    Raises:
        Refused: the bundle has a record with other contents, or a value isn't in the database.
    """
    own_id = thread_id if redact is None else redact.start(thread_id, partial(_heads, saver, thread_id))
    if writer is not None:
        writer.begin(own_id, origin_of(saver, thread_id))
    added = Added(own_id)
    for record in _missing(saver, thread_id, own_id, old, redact or _Same(), only):
        is_checkpoint, size = isinstance(record, Checkpoint), sum(len(one.data) for one in _payloads(record))
        checkpoints, writes = added.checkpoints + is_checkpoint, added.writes + (not is_checkpoint)
        added = Added(own_id, checkpoints, writes, added.bytes + size)
        if writer is not None:
            writer.add(record)
    if writer is not None:
        _add_rows(saver, own_id, writer, old, rows())
        writer.end()
    return added


def _add_rows(
    saver: Saver, thread_id: str, writer: BundleWriter, old: BundleSaver | None, removed: Iterable[RowChange]
) -> None:
    home, there = home_of(saver), None if old is None else old.row_table(thread_id)
    for change in removed:
        if change.before is None:
            continue
        if there is None or (home, change.before) not in there.find(change.relation, change.key):
            writer.add_row(home, change.relation, change.key, change.before)


def home_of(saver: Saver) -> str:
    """A hash of a database's address, by which a row's own database is known again."""
    return blake2b(saver.identity.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class _Same:
    """Leaves records as they are."""

    def start(self, thread_id: str, heads: Callable[[], Iterable[Checkpoint]]) -> str:  # noqa: ARG002
        """See `Redact`."""
        return thread_id

    def checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        """See `Redact`."""
        return checkpoint

    def write(self, write: Write) -> Write:
        """See `Redact`."""
        return write


def _missing(
    saver: Saver, thread_id: str, own_id: str, old: BundleSaver | None, redact: Redact, only: Set[Ref] | None
) -> Iterator[Record]:
    """The records that the bundle doesn't have."""
    here = old if old is not None and old.thread(own_id) is not None else None
    for found in saver.checkpoints(row.ref for row in saver.rows(thread_id) if only is None or row.ref in only):
        _must_be_whole(found)
        checkpoint = redact.checkpoint(found)
        there = None if here is None else next(here.checkpoints([checkpoint.row.ref]), None)
        if _is_missing(checkpoint, there):
            yield checkpoint
    on, there_by_name = None, dict[object, Write]()
    for one in saver.writes(thread_id):
        if only is not None and one.ref not in only:
            continue
        _must_be_whole(one)
        write = redact.write(one)
        if here is not None and write.ref != on:
            on = write.ref
            there_by_name = {name_of(one): one for one in _writes_on(here, on)}
        if _is_missing(write, there_by_name.get(name_of(write))):
            yield write


def _heads(saver: Saver, thread_id: str) -> Iterator[Checkpoint]:
    newest = {ref.ns: ref for ref in sorted(row.ref for row in saver.rows(thread_id))}
    return saver.headers(list(newest.values()))


def _writes_on(saver: Saver, ref: Ref) -> Iterator[Write]:
    return saver.writes(ref.thread_id, ref.ns, [ref.checkpoint_id])


def _must_be_whole(record: Record) -> None:
    if any(payload.tag == LOST for payload in _payloads(record)):
        raise Refused(f"{in_words(name_of(record))} has a value that isn't in the database")


def _is_missing(record: Record, there: Record | None) -> bool:
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
