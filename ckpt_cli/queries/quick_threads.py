"""Views of threads a page at a time, in the usual cases, from heads and their writes.

Most threads of a large database are such. For these, `ThreadStatus` would do the same with ten times the work; it
reads all others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state import titles
from ckpt_cli.history.tasks.javascript_errors import mark_no_failures
from ckpt_cli.layouts import Decode, read_metadata
from ckpt_cli.model import Payload, Ref, Thread
from ckpt_cli.queries.page_titles import TitlesOfPage
from ckpt_cli.queries.quick_snapshot import DueNodes, is_chain, quick_snapshot
from ckpt_cli.queries.quick_view import QuickHead, QuickView
from ckpt_cli.queries.thread_status import ThreadStatus, prefetch_threads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.head_reads import HeadRead
from ckpt_cli.savers.paging import pages
from ckpt_cli.values.node import Node
from ckpt_cli.values.state import TaskWrite
from ckpt_cli.views.threads import ThreadView

_DICT = frozenset({dict})
_VERSIONS = frozenset({int, str, float})
_AT_ONCE = 250  # threads whose heads are looked at together
_LONGEST = 1 << 16  # bytes of a question or an error; a thread with a longer one is read by itself


class QuickThread:
    """A thread that was read with many others, with the parts of `ThreadStatus` that a list needs."""

    __slots__ = ("_view",)
    problem: str | None = None
    exists = True

    def __init__(self, view: ThreadView) -> None:
        self._view = view

    @property
    def thread_id(self) -> str:
        """Its name."""
        return self._view.thread_id

    @property
    def statuses(self) -> Sequence[str]:
        """See `ThreadView`."""
        return self._view.statuses

    @property
    def updated(self) -> float | None:
        """When the head was made, in seconds since 1970; None if its id doesn't say so."""
        return ids.unix_time(self._view.head)

    @property
    def metadata_problem(self) -> str:
        """The unreadable part of the head's metadata; "" if there is none."""
        return self._view.metadata_problem or ""

    def view(self) -> ThreadView:
        """The view of the thread."""
        return self._view


def read_statuses(reader: Reader, threads: Iterable[Thread]) -> Iterator[ThreadStatus | QuickThread]:
    """The status of each thread, in their order; a page at a time and quickly where heads and writes show all."""
    quick, closely = QuickThreads(reader), _prefetching(reader)
    for page in pages(threads, max(reader.saver.page, _AT_ONCE)):
        views = quick.views(page)
        others = [thread for thread in page if thread.thread_id not in views]
        titles_of_page = TitlesOfPage(reader, [quick.others.get(thread.thread_id) for thread in others])
        title_of_input = titles_of_page.get if reader.saver.page == 1 else None
        if closely is not reader:
            closely.saver.expect([thread.head for thread in others])
        rest = prefetch_threads(reader, others)
        for thread in page:
            view = views.get(thread.thread_id)
            if view is not None:
                yield QuickThread(view)
                continue
            other = next(rest)
            if (read := quick.others.get(thread.thread_id)) is not None and read.rows:
                closely.keep_rows(thread.thread_id, read.rows)
            yield ThreadStatus(closely, other, title_of_input)


def _prefetching(reader: Reader) -> Reader:
    """The reader itself or, if a read is no round trip, one that still reads heads and their writes by the page."""
    if reader.saver.page > 1:
        return reader
    from ckpt_cli.savers.prefetch import PrefetchingSaver

    return Reader(PrefetchingSaver(reader.saver), reader.codec, reader.clock, reader.tags)


class QuickThreads:
    """Makes the views of pages of threads, as far as heads and their writes show all; one head teaches for the next.

    Attributes:
        others: what was read of the last page's other threads, without their heads' values, by thread.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.others: dict[str, HeadRead] = {}
        self._due_nodes = DueNodes()

    def views(self, threads: Sequence[Thread]) -> dict[str, ThreadView]:
        """The views by thread; a thread that is gone, or that needs a closer look, has none."""
        self.others = {}
        heads = list(self._heads(threads))
        self._add_tasks([head for head in heads if head.due or head.read.is_written])
        known = [head for head in heads if head.snapshot is not None]
        self.others |= {head.row.thread_id: _without_value(head.read) for head in heads if head.snapshot is None}
        titles_by_ref, asks_each = self._titles_of_inputs(known), self._reader.saver.page == 1
        views: dict[str, ThreadView] = {}
        for head in known:
            title = head.title or titles_by_ref.get(head.first_ref)
            if title is None and asks_each:
                title = self._title_of_input(head.first_ref)
            if title is not None:  # else a server would be asked for the input of this thread alone
                views[head.row.thread_id] = QuickView.of_head(head, title)
        return views

    def _heads(self, threads: Sequence[Thread]) -> Iterator[QuickHead]:
        """The heads for which nothing but writes may be missing; the others are added to `others`."""
        for read in self._reader.saver.head_reads([thread.head for thread in threads]):
            head = self._head(read)
            if head is not None:
                yield head
            else:
                self.others[read.head.thread_id] = _without_value(read)

    def _add_tasks(self, heads: Sequence[QuickHead]) -> None:
        """Add the tasks of these heads, as far as heads and writes show them; the writes of all are read at once."""
        reads = [head.read for head in heads if head.read.is_written]
        unread = [read.head for read in reads if read.writes is None]
        stored = self._reader.saver.writes_on(unread, values=_LONGEST) if unread else ()
        writes: dict[Ref, list[TaskWrite]] = {}
        for write in chain(stored, *(read.writes for read in reads if read.writes is not None)):
            writes.setdefault(write.ref, []).append(TaskWrite(write, self._reader.codec.decode))
        for own in writes.values():
            mark_no_failures(own)
        for head in heads:
            head.snapshot = quick_snapshot(head.due, writes.get(head.read.head, ()))

    def _titles_of_inputs(self, heads: Sequence[QuickHead]) -> Mapping[Ref, str]:
        """The titles that many first checkpoints show at once, of threads without a message."""
        untitled = [head for head in heads if not head.title]
        if not untitled:
            return {}
        from ckpt_cli.queries.input_title import titles_of_inputs

        roots = ((head.first_ref, head.read.root_metadata) for head in untitled)
        known = {ref: metadata for ref, metadata in roots if metadata is not None}
        return titles_of_inputs(self._reader, {head.first_ref: head.first for head in untitled}, known)

    def _title_of_input(self, first: Ref) -> str:
        from ckpt_cli.queries.input_title import title_of_input

        return title_of_input(self._reader, first)

    def _head(self, read: HeadRead) -> QuickHead | None:
        """What the view needs of a head; None if it doesn't show which nodes are due."""
        decode, checkpoint = self._reader.codec.decode, read.checkpoint
        if checkpoint is None:
            return None
        body, apart = decode(checkpoint.body), checkpoint.channels
        due = self._due_nodes.of(body, apart) if _is_whole(body, apart) else None
        if due is None or read.head.ns or ((due or read.is_written) and not _is_alone(read)):
            return None
        values = body["channel_values"]
        title = titles.from_values(values if apart is None else _Values(values, apart, decode))
        metadata = read_metadata(decode(checkpoint.metadata))
        first = read.first or checkpoint.row
        return QuickHead(read, checkpoint.row, due, body.get("ts"), title, *metadata, first, first.ref)


def _without_value(read: HeadRead) -> HeadRead:
    return read._replace(checkpoint=None, writes=None)


def _is_alone(read: HeadRead) -> bool:
    """Whether the head is the last of a thread with one branch and without subgraphs."""
    rows = read.rows
    return bool(rows) and rows[-1].ref == read.head and rows[0].ns == read.head.ns and is_chain(rows)


class _Values(dict[str, Any]):
    """The values of a head's channels, for a title; of those that are stored apart, only messages are decoded."""

    def __init__(self, inline: Mapping[str, Any], apart: Mapping[str, Payload] | None, decode: Decode) -> None:
        super().__init__(inline)
        self._apart = {} if apart is None else {name: data for name, data in apart.items() if data.tag != "empty"}
        self._decode = decode
        self.update(dict.fromkeys(self._apart))

    def __getitem__(self, channel: str) -> Any:
        apart = self._apart.get(channel)
        if apart is None:
            return super().__getitem__(channel)
        return self._decode(apart) if titles.may_hold_message(channel, apart) else None


def _is_whole(body: Any, channels: Mapping[str, Payload] | None) -> bool:
    """Whether a body has all its parts undamaged, but for names, and keeps no Sends elsewhere (as formats before 4)."""
    if type(body) is not dict:
        return False
    values, versions, seen = body.get("channel_values"), body.get("channel_versions"), body.get("versions_seen")
    if type(values) is not dict or type(versions) is not dict or type(seen) is not dict:
        return False
    v = body.get("v")
    if type(v) is not int or v < 3 or (v < 4 and (channels is not None or body.get("pending_sends") != [])):
        return False
    by_node = seen.values()
    if not _DICT.issuperset(map(type, by_node)):
        return False
    if not _VERSIONS.issuperset(map(type, chain(versions.values(), *map(dict.values, by_node)))):
        return False
    types = [*map(type, body.values())]
    return types.count(dict) == 3 and Node not in types
