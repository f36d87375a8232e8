"""Finds copies of threads by equal checkpoint ids: those of ``fork --to`` and the library's own."""

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import chain, islice

from ckpt_cli.model import Ref
from ckpt_cli.operations.forget import read_traces
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.savers.contract import Saver


@dataclass(slots=True)
class Copies:
    """The ids of threads that share checkpoint ids with the given threads, sorted.

    Attributes:
        present: the threads that are in the database.
        logged: the deleted threads whose rows are still in the operation log.
    """

    present: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)


def find_copies(saver: Saver, log: OperationLog, thread_ids: Collection[str]) -> Copies:
    """Find the copies of some threads, and the copies of these copies, in the database and in the log.

    This reads the checkpoint ids of all threads, because no engine has an index over checkpoint ids alone.
    """
    logged: dict[str, set[str]] = {}
    for row in chain.from_iterable(read_traces(saver, log)):
        if row.name is not None:
            ref = row.name if isinstance(row.name, Ref) else row.name.ref
            logged.setdefault(ref.thread_id, set()).add(ref.checkpoint_id)
    named = set(thread_ids)
    present: set[str] = set()
    deleted: set[str] = set()
    ids: set[str] = set()
    new = named
    while new:
        ids.update(*(logged.get(thread_id, ()) for thread_id in new))
        ids.update(row.checkpoint_id for thread_id in new for row in saver.rows(thread_id))
        holders = _threads_with(saver, ids, named | present)
        logged_copies = (
            {thread_id for thread_id, own in logged.items() if own & ids} - named - present - deleted - holders
        )
        logged_copies = {thread_id for thread_id in logged_copies if saver.thread(thread_id) is None}
        present, deleted, new = present | holders, deleted | logged_copies, holders | logged_copies
    return Copies(sorted(present), sorted(deleted))


def _threads_with(saver: Saver, ids: Collection[str], known: Collection[str]) -> set[str]:
    """The threads of the database that have one of these checkpoint ids, except the known threads."""
    every = (thread.thread_id for thread in saver.threads())
    others = (thread_id for thread_id in every if thread_id not in known)
    holders: set[str] = set()
    while page := list(islice(others, max(saver.page, 1))):
        holders.update(row.thread_id for row in saver.rows_of(page) if row.checkpoint_id in ids)
    return holders
