"""``--any``: finds threads with any checkpoint whose metadata fits ``--where``, like LangGraph's ``list(filter=)``.

The head alone may lack the application's keys: a run without the application's config leaves them out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.layouts import read_metadata
from ckpt_cli.model import Ref, Thread
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages

_OF_THE_HEAD = frozenset({"status", "next", "values"})
_REFS = 1000  # checkpoints whose metadata is read at once


def parse_filter(expression: str | None, *, any_checkpoint: bool) -> Filter | None:
    """The filter of ``--where``, and of ``--any`` beside it.

    Raises:
        UsageError: ``--any`` is given alone, or the expression uses a name that metadata never has.
    """
    if expression is None:
        if any_checkpoint:
            raise UsageError("--any belongs to --where", hint="""--where 'user_id == "u-1"' --any""")
        return None
    where = Filter(expression, "checkpoint's metadata" if any_checkpoint else "thread")
    if any_checkpoint and (named_of_head := sorted(where.names & _OF_THE_HEAD)):
        raise UsageError(
            f"--any tests only metadata, which has no {named_of_head[0]!r}",
            hint="--status selects threads by status; without --any, --where also tests the head's state",
        )
    return where


class UnreadMetadata:
    """Counts the threads that don't fit a filter and have metadata that can't be read."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}
        """The first problem of each thread."""

    def add(self, thread_id: str, problem: str) -> None:
        """Count a thread if it has a problem."""
        if problem:
            self.problems.setdefault(thread_id, problem)

    @property
    def note(self) -> str:
        """A remark on how many there are, and why; "" if there are none."""
        count = len(self.problems)
        if not count:
            return ""
        count_text = "1 thread" if count == 1 else f"{count:,} threads"
        problem = next(iter(self.problems.values()))
        return f"the metadata of {count_text} can't be read, so --where may have passed over some that fit: {problem}"


def threads_that_fit(
    reader: Reader, threads: Iterable[Thread], where: Filter, unread: UnreadMetadata
) -> Iterator[Thread]:
    """The threads that have a checkpoint whose metadata fits, in the same order; they are read page by page."""
    for page in pages(threads, reader.saver.page):
        fit = ids_that_fit(reader, [thread.thread_id for thread in page], where, unread)
        yield from (thread for thread in page if thread.thread_id in fit)


def ids_that_fit(reader: Reader, thread_ids: Sequence[str], where: Filter, unread: UnreadMetadata) -> set[str]:
    """The threads of one page that have a checkpoint whose metadata fits; no state is read.

    `unread` gets those that don't fit and have a checkpoint whose metadata can't be read. If the server itself tests
    the metadata, `unread` gets none: the server treats unreadable metadata as metadata without the key.
    """
    if not thread_ids:
        return set()
    if where.equality is not None:
        having = reader.saver.having(*where.equality, thread_ids)
        if having is not None:
            return set(having)
    fit: set[str] = set()
    problems: dict[str, str] = {}
    refs = (row.ref for row in list(reader.saver.rows_of(thread_ids)))
    for page in pages(refs, _REFS):
        left = [ref for ref in page if ref.thread_id not in fit]
        for ref, payload in reader.saver.metadata(left):
            if ref.thread_id in fit:
                continue
            metadata, problem = read_metadata(reader.value(payload))
            if where.matches(_names(ref, metadata)):
                fit.add(ref.thread_id)
            elif problem:
                problems.setdefault(ref.thread_id, problem)
    for thread_id in problems.keys() - fit:
        unread.add(thread_id, problems[thread_id])
    return fit


def _names(ref: Ref, metadata: dict[str, Any]) -> Callable[[str], Any]:
    return {**metadata, "metadata": metadata, "thread_id": ref.thread_id}.__getitem__


class OlderMatches:
    """Counts the threads whose head doesn't fit a filter although an older checkpoint's metadata does."""

    def __init__(self, reader: Reader, where: Filter | None) -> None:
        self._reader = reader
        self._where = None if where is None or where.names & _OF_THE_HEAD else Filter(where.expression)
        self._page: list[str] = []
        self._threads = 0

    def passed(self, thread_id: str) -> None:
        """Take in a thread whose head doesn't fit; older checkpoints are read page by page."""
        self._page.append(thread_id)
        if len(self._page) >= self._reader.saver.page:
            self._count_page()

    def note(self) -> str:
        """A remark on how many there are and how to include them; "" if there are none."""
        self._count_page()
        if not self._threads:
            return ""
        have, them = ("thread has", "it") if self._threads == 1 else ("threads have", "them")
        return f"{self._threads:,} more {have} it in older checkpoints: --any takes {them} too"

    def _count_page(self) -> None:
        if self._where is not None:
            self._threads += len(ids_that_fit(self._reader, self._page, self._where, UnreadMetadata()))
        self._page.clear()


def count_older_by_server(reader: Reader, where: Filter, shown: set[str], fits: Callable[[str], bool]) -> int | None:
    """How many threads beside those shown have a fitting checkpoint; None if the server can't test that itself."""
    having = None if where.equality is None else reader.saver.having(*where.equality)
    return None if having is None else sum(thread_id not in shown and fits(thread_id) for thread_id in having)
