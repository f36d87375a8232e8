"""`RowReader`: rows of threads, trees, heads, short ids, namespaces; unknown threads (near names).

The caches are bounded, and are emptied when a new moment begins. `reading.Reader` adds what must be decoded.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from time import time
from typing import Any, TypeVar

from ckpt_cli.errors import CheckpointNotFound, ThreadNotFound
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.model import CheckpointRow, Thread
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import with_prefetch

T = TypeVar("T")
Tags = Callable[[str, str], Mapping[str, str]]
"""The tags of a namespace of a thread: name to checkpoint id."""

_LINEAGES_KEPT = 64
_LISTED = 8
_COMPARED = 2000  # threads compared for "did you mean"
_SEARCHED = 20_000  # threads whose id may start with what a person typed
_SUGGESTED = 3


class RowReader:
    """Reads the rows of one database, without a value."""

    def __init__(self, saver: Saver, clock: Callable[[], float] = time, tags: Tags = lambda _thread, _ns: {}) -> None:
        self.saver = with_prefetch(saver)
        self.tags = tags
        self.clock = clock
        self._lineages: OrderedDict[tuple[str, str], Lineage] = OrderedDict()
        self._short: OrderedDict[str, ShortIds] = OrderedDict()
        self._rows: tuple[str, list[CheckpointRow]] | None = None
        self._by_namespace: tuple[list[CheckpointRow], dict[str, list[CheckpointRow]]] = ([], {})
        self._namespaces: tuple[str, list[str]] | None = None
        self._pinned: str | None = None

    def moment(self, read: Callable[[], T]) -> T:
        """The result of `read`, which sees the database at one moment (`Saver.moment`).

        The caches are emptied first, except for the tree of a pinned thread.
        """

        def fresh() -> T:
            for key in [key for key in self._lineages if key[0] != self._pinned]:
                del self._lineages[key]
            for thread_id in self._short.keys() - {self._pinned}:
                del self._short[thread_id]
            self._namespaces = None
            if self._rows is not None and self._rows[0] != self._pinned:
                self._rows, self._by_namespace = None, ([], {})
            return read()

        return self.saver.moment(fresh)

    def pin(self, thread_id: str) -> None:
        """Keep the tree of one thread from moment to moment, as it is when it is first read.

        A command that reads a long line page by page would otherwise read the whole tree again for each page.
        """
        self._pinned = thread_id

    def thread(self, thread_id: str) -> Thread:
        """One thread by its exact id.

        Raises:
            ThreadNotFound: with the nearest ids as candidates.
        """
        thread = self.saver.thread(thread_id)
        if thread is None:
            from difflib import get_close_matches

            known = [t.thread_id for t in islice(self.saver.threads(), _COMPARED)]
            near = list(islice(self._starting_with(thread_id), _SUGGESTED)) if thread_id else []
            near = near or get_close_matches(thread_id, known, n=_SUGGESTED, cutoff=0.6)
            hint = f"did you mean {_visible(near[0])}?" if near else "`ckpt threads` lists what there is"
            raise ThreadNotFound(f"no thread {thread_id!r}", hint=hint, candidates=near)
        return thread

    def _starting_with(self, text: str) -> Iterator[str]:
        """The ids of threads that start with a text, out of the newest `_SEARCHED` threads."""
        newest = islice(self.saver.threads(), _SEARCHED)
        return (one.thread_id for one in newest if one.thread_id.startswith(text))

    def lineage(self, thread_id: str, ns: str = "") -> Lineage:
        """The tree of one namespace, from ids and parents alone.

        All rows of the thread are read, because short ids need them.
        """
        key = (thread_id, ns)
        if key not in self._lineages:
            self._lineages[key] = Lineage(self._rows_by_namespace(thread_id).get(ns, []))
            bound(self._lineages, _LINEAGES_KEPT)
        return self._lineages[key]

    def rows(self, thread_id: str) -> list[CheckpointRow]:
        """The rows of a thread in all its namespaces, ascending; those of the last thread are cached."""
        if self._rows is None or self._rows[0] != thread_id:
            self._rows = (thread_id, list(_sharing_ids(self.saver.rows(thread_id))))
        return self._rows[1]

    def keep_rows(self, thread_id: str, rows: Iterable[CheckpointRow]) -> None:
        """Keep the rows of a thread, all of them and ascending, that were read in this moment with those of others."""
        if self._rows is None or self._rows[0] != thread_id:
            self._rows = (thread_id, list(_sharing_ids(rows)))

    def _rows_by_namespace(self, thread_id: str) -> dict[str, list[CheckpointRow]]:
        rows = self.rows(thread_id)
        if self._by_namespace[0] is not rows:
            by_namespace: dict[str, list[CheckpointRow]] = {}
            for row in rows:
                by_namespace.setdefault(row.ns, []).append(row)
            self._by_namespace = (rows, by_namespace)
        return self._by_namespace[1]

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, sorted; those of the last thread are cached."""
        if self._namespaces is None or self._namespaces[0] != thread_id:
            read = self._rows is not None and self._rows[0] == thread_id != self._pinned
            spaces = {row.ns for row in self.rows(thread_id)} if read else self.saver.namespaces(thread_id)
            self._namespaces = (thread_id, sorted(spaces))
        return self._namespaces[1]

    def head(self, thread_id: str, ns: str = "") -> CheckpointRow:
        """The newest row, which LangGraph's saver returns for a config without a checkpoint id.

        Raises:
            CheckpointNotFound: the namespace has no checkpoint; other namespaces of the thread are candidates.
        """
        rows = self.saver.newest(thread_id, ns, 1)
        if not rows:
            known = [name for name in self.saver.namespaces(thread_id) if name]
            near = [name for name in known if ns and name.startswith(ns)] or known
            hint = "--ns takes one of these" if near else "it has no subgraphs: leave --ns out"
            raise CheckpointNotFound(
                f"thread {thread_id!r} has no checkpoint in namespace {ns!r}", hint=hint, candidates=near[:_LISTED]
            )
        return rows[0]

    def namespace(self, thread_id: str, text: str) -> str:
        """The namespace named `text`, else the only namespace that begins with `text`, else `text` unchanged.

        Raises:
            UsageError: several namespaces begin with `text`.
        """
        if not text or self.saver.newest(thread_id, text, 1):
            return text
        from ckpt_cli.history.tasks import nesting

        known = self.saver.namespaces(thread_id)
        return nesting.named(known, text) if any(ns.startswith(text.rstrip("…")) for ns in known) else text

    def short(self, thread_id: str) -> ShortIds:
        """The short ids of a thread's checkpoints in all its namespaces, as tables show them."""
        if thread_id not in self._short:
            self._short[thread_id] = ShortIds(row.checkpoint_id for row in self.rows(thread_id))
            bound(self._short, _LINEAGES_KEPT)
        return self._short[thread_id]


def _sharing_ids(rows: Iterable[CheckpointRow]) -> Iterator[CheckpointRow]:
    """The same rows; parents have the same text objects as their own rows, so that each id is in memory once."""
    ids: dict[str, str] = {}
    for thread_id, ns, checkpoint_id, parent_id, size in rows:
        own_id = ids.setdefault(checkpoint_id, checkpoint_id)
        yield CheckpointRow(thread_id, ns, own_id, parent_id and ids.setdefault(parent_id, parent_id), size)


def bound(cache: OrderedDict[Any, Any], limit: int) -> None:
    """Drop the oldest entries of a cache, so that memory doesn't grow with the database."""
    while len(cache) > limit:
        cache.popitem(last=False)


def _visible(name: str) -> str:
    return name if name == name.strip() else repr(name)
