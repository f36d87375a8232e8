"""The threads that a selector chooses, for commands that take many; reads only undecided heads.

What a head means is imported only where heads are read: a command that is given names needs none of it.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ckpt_cli.errors import NotFound, ThreadNotFound
from ckpt_cli.history.lineage import ids
from ckpt_cli.model import Thread
from ckpt_cli.parameters.options import matcher
from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.queries.metadata_filter import OlderMatches, UnreadThreads, threads_that_fit
from ckpt_cli.reading import Reader

if TYPE_CHECKING:
    from ckpt_cli.queries.thread_status import ThreadStatus

_FEW = 20  # named threads that are looked up one by one; more are found in one list of all threads


def selected_threads(
    reader: Reader,
    chosen: ThreadSelection,
    unread: UnreadThreads | None = None,
    on_misfit: Callable[[str], None] | None = None,
    missing: list[str] | None = None,
) -> Iterator[Thread]:
    """The selected threads: named ones in the order of their names, otherwise the most recently active first.

    They are found while they are taken, inside one moment of the reader; `thread_pages.Heads` keeps a long list.

    Args:
        reader: reads the database.
        chosen: which threads.
        unread: collects the threads that don't fit as far as they can be read, and can't be read whole.
        on_misfit: is called with the id of each thread whose head doesn't fit ``--where``. Then every thread is read,
            also those that the database alone could rule out.
        missing: collects the named threads that don't exist; without it they are an error.

    Raises:
        ThreadNotFound: a named thread doesn't exist.
    """
    unread = UnreadThreads() if unread is None else unread
    threads = _candidates(reader, chosen, quick=on_misfit is None, missing=missing)
    if chosen.where is not None and chosen.any_checkpoint:
        threads = threads_that_fit(reader, threads, chosen.where, unread)
    if not chosen.judged:
        return threads
    from ckpt_cli.queries.thread_status import ThreadStatus, prefetch_threads

    prefetched = prefetch_threads(reader, threads)
    return (thread for thread in prefetched if _fits(ThreadStatus(reader, thread), chosen, unread, on_misfit))


def selected_with_notes(reader: Reader, chosen: ThreadSelection) -> tuple[list[str], list[str]]:
    """The ids of the selected threads, and notes about others that a person may have meant.

    The notes are about threads where only an older checkpoint fits, and about threads whose metadata can't be read.

    Raises:
        NotFound: no thread is selected, and there are notes.
        UsageError: ``--where`` fails on every thread.
    """
    older, unread = OlderMatches(reader, chosen.where), UnreadThreads()
    on_misfit = older.add_misfit if chosen.where is not None and not chosen.any_checkpoint else None
    thread_ids = [thread.thread_id for thread in selected_threads(reader, chosen, unread, on_misfit)]
    if chosen.where is not None and not unread.problems:
        chosen.where.must_have_worked()
    notes = [note for note in (unread.note, older.note()) if note]
    undecided = chosen.where.complaint if chosen.where is not None and chosen.where.undecided else None
    if not thread_ids and (hints := [*notes, *([undecided] if undecided else [])]):
        raise NotFound("no thread's head fits", hint="; ".join(hints))
    return thread_ids, notes


def note_absent_key(reader: Reader, chosen: ThreadSelection) -> None:
    """After a search that found no thread: note in the filter whether any head has the key that was compared."""
    if chosen.where is not None and not chosen.any_checkpoint:
        from ckpt_cli.queries.thread_prefilter import note_key

        note_key(reader, chosen.where)


def _candidates(reader: Reader, chosen: ThreadSelection, *, quick: bool, missing: list[str] | None) -> Iterator[Thread]:
    """The threads that may fit, as far as ids, times and the database itself decide."""
    fits = matcher(chosen.match)
    if chosen.named is None:
        threads = _listed(reader, chosen, quick=quick)
    else:
        threads = named_threads(reader, list(chosen.named), missing)
    for thread in threads:
        when = ids.unix_time(thread.head.checkpoint_id)
        if chosen.fits_time(when) and fits(thread.thread_id):
            yield thread
        elif chosen.named is None and _ends(thread, chosen, when):
            return


def _ends(thread: Thread, chosen: ThreadSelection, when: float | None) -> bool:
    """Whether all further threads are older than the period: ids of this kind are sorted by time."""
    is_early = when is not None and chosen.period.begins_after(when)
    return is_early and ids.is_uuid6(thread.head.checkpoint_id)


def _listed(reader: Reader, chosen: ThreadSelection, *, quick: bool) -> Iterator[Thread]:
    if not chosen.judged or not quick:
        return reader.saver.threads()
    from ckpt_cli.queries.thread_prefilter import threads_that_may_fit

    return threads_that_may_fit(reader, chosen.statuses, None if chosen.any_checkpoint else chosen.where)


def named_threads(reader: Reader, names: list[str], missing: list[str] | None = None) -> Iterator[Thread]:
    """The threads with these ids, in this order; `missing` collects the ids that don't exist.

    Raises:
        ThreadNotFound: one of them doesn't exist, and they aren't collected.
    """
    known: dict[str, Thread] = {}
    if len(names) > _FEW:
        wanted = set(names)
        known = {thread.thread_id: thread for thread in reader.saver.threads() if thread.thread_id in wanted}
    for name in names:
        try:
            yield known.get(name) or reader.thread(name)
        except ThreadNotFound:
            if missing is None:
                raise
            missing.append(name)


def _fits(
    one: "ThreadStatus", chosen: ThreadSelection, unread: UnreadThreads, on_misfit: Callable[[str], None] | None
) -> bool:
    if chosen.statuses and not chosen.statuses.fit(one.statuses, one.updated):
        if one.problem:
            unread.add_head(one.thread_id, one.problem)
        return False
    if chosen.where is None or chosen.any_checkpoint or one.fits(chosen.where):
        return True
    if one.problem:
        unread.add_head(one.thread_id, one.problem)
    else:
        unread.add(one.thread_id, one.metadata_problem)
    if on_misfit is not None:
        on_misfit(one.thread_id)
    return False
