"""Threads that hold checkpoints of other threads: `ckpt fork --to` and the library's own copies keep checkpoint ids."""

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import chain, islice

from ckpt_cli.model import Ref
from ckpt_cli.operations.forget import read_traces
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.savers.contract import Saver


@dataclass(slots=True)
class Copies:
    """Threads with checkpoint ids of some others, in text order.

    Attributes:
        kept: those in the database.
        logged: those that were deleted, whose rows the operation log still has.
    """

    present: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)


def find_copies(saver: Saver, log: OperationLog, thread_ids: Collection[str]) -> Copies:
    """The copies of some threads, and copies of those, found by checkpoint ids, also of what only the log has.

    The ids of every thread are read, and nothing else of it: no engine has an index over checkpoint ids alone.
    """
    logged: dict[str, set[str]] = {}
    for row in chain.from_iterable(read_traces(saver, log)):
        if row.name is not None:
            ref = row.name if isinstance(row.name, Ref) else row.name.ref
            logged.setdefault(ref.thread_id, set()).add(ref.checkpoint_id)
    named = set(thread_ids)
    kept: set[str] = set()
    gone: set[str] = set()
    ids: set[str] = set()
    new = named
    while new:
        ids.update(*(logged.get(thread_id, ()) for thread_id in new))
        ids.update(row.checkpoint_id for thread_id in new for row in saver.rows(thread_id))
        there = _holders(saver, ids, named | kept)
        also = {thread_id for thread_id, own in logged.items() if own & ids} - named - kept - gone - there
        also = {thread_id for thread_id in also if saver.thread(thread_id) is None}
        kept, gone, new = kept | there, gone | also, there | also
    return Copies(sorted(kept), sorted(gone))


def _holders(saver: Saver, ids: Collection[str], known: Collection[str]) -> set[str]:
    """The other threads of the database that have one of these checkpoint ids."""
    every = (thread.thread_id for thread in saver.threads())
    others = (thread_id for thread_id in every if thread_id not in known)
    found: set[str] = set()
    while page := list(islice(others, max(saver.page, 1))):
        found.update(row.thread_id for row in saver.rows_of(page) if row.checkpoint_id in ids)
    return found
