"""Threads that may have a status or fit a filter, chosen by the database: no other head is read."""

from collections.abc import Iterator
from itertools import islice

from ckpt_cli.history.state.channels import ERROR, INTERRUPT
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.model import Thread
from ckpt_cli.parameters.statuses import Statuses, StatusOption
from ckpt_cli.queries.thread_status import ThreadStatus
from ckpt_cli.reading import Reader

_MARKS = {str(StatusOption.WAITING): INTERRUPT, str(StatusOption.FAILED): ERROR}
"""The channel that a task of this status has written to (`history.tasks.snapshot: status_of`)."""
_SOME = 100  # heads whose metadata is read to find a key


def threads_that_may_fit(reader: Reader, statuses: Statuses, where: Filter | None) -> Iterator[Thread]:
    """All threads, or only those whose heads the database finds; others can't fit."""
    names = set(statuses.names)
    if names and not names - _MARKS.keys():
        return reader.saver.threads_with([_MARKS[name] for name in sorted(names)])
    term = where.term if where is not None else None
    found = term and reader.saver.threads_having(term.key, term.value, or_without=not term.only_metadata)
    return found or reader.saver.threads()


def note_key(reader: Reader, where: Filter) -> None:
    """Note in the filter whether any head has the key that the database compared; see `thread_list.note_key`."""
    if where.term is None or where.decided or where.failed:
        return
    having = reader.saver.threads_having(where.term.key, None)
    if having is None:
        return
    some = list(islice(having, _SOME + 1))  # the database may give others too
    if len(some) > _SOME or any(where.term.key in ThreadStatus(reader, thread).metadata for thread in some):
        where.decided += 1
        where.of_state |= bool(where.names - {"metadata", "thread_id", where.term.key})  # which nobody looked up
    elif where.term.only_metadata:
        where.absent[f".{where.term.key}"] += 1
