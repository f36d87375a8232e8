"""``--any``, ``--where``: threads with fitting metadata; counts threads whose metadata is unreadable.

A head may lack the application's keys, because a run without the application's config doesn't store them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ckpt_cli.layouts import read_metadata
from ckpt_cli.model import Ref, Thread
from ckpt_cli.parameters.where_option import HEAD_NAMES
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.values.counts import count_text

if TYPE_CHECKING:
    from ckpt_cli.history.state.filters import Filter

_REFS = 1000  # the metadata of this many checkpoints is read at once


class UnreadThreads:
    """Counts the threads that may fit a filter, but whose metadata or head can't be read."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}
        """The first problem of each thread's metadata."""
        self._heads: dict[str, str] = {}

    def add(self, thread_id: str, problem: str) -> None:
        """Count a thread whose metadata doesn't fit as far as it can be read, if it has a problem."""
        if problem:
            self.problems.setdefault(thread_id, problem)

    def add_head(self, thread_id: str, problem: str) -> None:
        """Count a thread whose head can't be read."""
        self._heads.setdefault(thread_id, problem)

    @property
    def note(self) -> str:
        """A remark: how many such threads there are, and the problem of the first; "" if there are none."""
        notes = [unread_note(len(self.problems), next(iter(self.problems.values())))] if self.problems else []
        if self._heads:
            heads = f"the {'head' if len(self._heads) == 1 else 'heads'} of {count_text(len(self._heads), 'thread')}"
            notes.append(f"{heads} can't be read, so some that fit may be left out: {next(iter(self._heads.values()))}")
        return "; ".join(notes)


def unread_note(count: int, problem: str) -> str:
    """A remark: how many threads have metadata that can't be read, and the problem of the first."""
    threads = count_text(count, "thread")
    return f"the metadata of {threads} can't be read, so --where may have missed some that fit: {problem}"


def threads_that_fit(
    reader: Reader, threads: Iterable[Thread], where: "Filter", unread: UnreadThreads
) -> Iterator[Thread]:
    """The threads that have a checkpoint with fitting metadata, in the same order. They are read page by page."""
    for page in pages(threads, reader.saver.page):
        fitting_ids = ids_that_fit(reader, [thread.thread_id for thread in page], where, unread)
        yield from (thread for thread in page if thread.thread_id in fitting_ids)


def ids_that_fit(reader: Reader, thread_ids: Sequence[str], where: "Filter", unread: UnreadThreads) -> set[str]:
    """The ids of those threads of one page that have a checkpoint with fitting metadata; no state is read.

    Other threads are added to `unread` if they have a checkpoint whose metadata can't be read. If the server itself
    tests the metadata, nothing is added: the server treats unreadable metadata as metadata without the key.
    """
    if not thread_ids:
        return set()
    if where.equality is not None:
        matching_ids = reader.saver.having(*where.equality, thread_ids)
        if matching_ids is not None:
            return set(matching_ids)
    fitting_ids: set[str] = set()
    problems: dict[str, str] = {}
    refs = (row.ref for row in list(reader.saver.rows_of(thread_ids)))
    for page in pages(refs, _REFS):
        undecided = [ref for ref in page if ref.thread_id not in fitting_ids]
        for ref, payload in reader.saver.metadata(undecided):
            if ref.thread_id in fitting_ids:
                continue
            metadata, problem = read_metadata(reader.value(payload))
            if where.matches(_filter_values(ref, metadata)):
                fitting_ids.add(ref.thread_id)
            elif problem:
                problems.setdefault(ref.thread_id, problem)
    for thread_id in problems.keys() - fitting_ids:
        unread.add(thread_id, problems[thread_id])
    return fitting_ids


def _filter_values(ref: Ref, metadata: dict[str, Any]) -> Callable[[str], Any]:
    return {**metadata, "metadata": metadata, "thread_id": ref.thread_id}.__getitem__


class OlderMatches:
    """Counts the threads where the head doesn't fit a filter, but the metadata of an older checkpoint does."""

    def __init__(self, reader: Reader, where: "Filter | None") -> None:
        from ckpt_cli.history.state.filters import Filter

        self._reader = reader
        self._where = None if where is None or where.names & HEAD_NAMES else Filter(where.expression)
        self._page: list[str] = []
        self._threads = 0

    def add_misfit(self, thread_id: str) -> None:
        """Note a thread whose head doesn't fit. When a page is full, the older checkpoints of its threads are read."""
        self._page.append(thread_id)
        if len(self._page) >= self._reader.saver.page:
            self._count_page()

    def note(self) -> str:
        """A remark: how many such threads there are, and how to include them; "" if there are none."""
        self._count_page()
        if not self._threads:
            return ""
        match, them = ("thread matches", "it") if self._threads == 1 else ("threads match", "them")
        return f"{self._threads:,} more {match} in older checkpoints: --any takes {them} too"

    def _count_page(self) -> None:
        if self._where is not None:
            self._threads += len(ids_that_fit(self._reader, self._page, self._where, UnreadThreads()))
        self._page.clear()


def count_older_by_server(reader: Reader, where: "Filter", shown: set[str], fits: Callable[[str], bool]) -> int | None:
    """How many threads besides the shown ones have a fitting checkpoint; None if the server can't test it."""
    matching_ids = None if where.equality is None else reader.saver.having(*where.equality)
    return (
        None if matching_ids is None else sum(thread_id not in shown and fits(thread_id) for thread_id in matching_ids)
    )
