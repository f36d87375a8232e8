"""Views of finished threads, a page at a time: the heads themselves show that nothing is due.

Most threads of a large database are finished. For these, `ThreadStatus` would do the same with ten times the work; it
reads all others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state import titles
from ckpt_cli.history.state.channels import NOT_NODES, START, TASKS, target
from ckpt_cli.history.tasks.snapshot import Status
from ckpt_cli.layouts import Decode, read_metadata
from ckpt_cli.model import CheckpointRow, Payload, Ref, Thread
from ckpt_cli.queries.finished_view import FinishedView
from ckpt_cli.queries.page_titles import TitlesOfPage
from ckpt_cli.queries.thread_status import ThreadStatus, prefetch_threads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.head_reads import HeadRead
from ckpt_cli.savers.paging import pages
from ckpt_cli.values.node import Node
from ckpt_cli.views.threads import ThreadView

_DICTS = frozenset({"channel_values", "channel_versions", "versions_seen"})
_DICT = frozenset({dict})
_TEXT = frozenset({str})
_VERSIONS = frozenset({int, str, float})
_ODD = frozenset({dict, Node})
_AT_ONCE = 250  # threads whose heads are looked at together
_SHAPES = 1000  # shapes of heads whose judgement is kept


class FinishedThread:
    """A finished thread, with the parts of `ThreadStatus` that a list needs."""

    problem: str | None = None
    exists = True
    statuses = (str(Status.DONE),)

    def __init__(self, view: ThreadView) -> None:
        self.thread_id = view.thread_id
        self._view = view

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


def read_statuses(reader: Reader, threads: Iterable[Thread]) -> Iterator[ThreadStatus | FinishedThread]:
    """The status of each thread, in their order; finished ones a page at a time, and quickly."""
    finished, closely = FinishedThreads(reader), _prefetching(reader)
    for page in pages(threads, max(reader.saver.page, _AT_ONCE)):
        views = finished.views(page)
        others = [thread for thread in page if thread.thread_id not in views]
        titles_of_page = TitlesOfPage(reader, [finished.others.get(thread.thread_id) for thread in others])
        title_of_input = titles_of_page.get if reader.saver.page == 1 else None
        if closely is not reader:
            closely.saver.expect([thread.head for thread in others])
        rest = prefetch_threads(reader, others)
        for thread in page:
            view = views.get(thread.thread_id)
            if view is not None:
                yield FinishedThread(view)
                continue
            other = next(rest)
            if (read := finished.others.get(thread.thread_id)) is not None and read.rows:
                closely.keep_rows(thread.thread_id, read.rows)
            yield ThreadStatus(closely, other, title_of_input)


def _prefetching(reader: Reader) -> Reader:
    """The reader itself or, if a read is no round trip, one that still reads heads and their writes by the page."""
    if reader.saver.page > 1:
        return reader
    from ckpt_cli.savers.prefetch import PrefetchingSaver

    return Reader(PrefetchingSaver(reader.saver), reader.codec, reader.clock, reader.tags)


class FinishedThreads:
    """Finds the finished threads of pages, and makes their views; what it learns of one head serves the next.

    Attributes:
        others: what was read of the last page's other threads, without their heads' values, by thread.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.others: dict[str, HeadRead] = {}
        self._shapes: dict[Any, bool] = {}

    def views(self, threads: Sequence[Thread]) -> dict[str, ThreadView]:
        """The views of those of these threads that surely are finished, by id; a thread that is gone has none."""
        saver, finished, self.others = self._reader.saver, list[_Head](), {}
        for read in saver.head_reads([thread.head for thread in threads]):
            head = None if read.is_written else self._head(read)
            if head is not None:
                finished.append(head)
            else:
                self.others[read.head.thread_id] = read._replace(checkpoint=None)
        titles_by_ref = self._titles_of_inputs(finished)
        views: dict[str, ThreadView] = {}
        for head in finished:
            title = head.title or titles_by_ref.get(head.first.ref)
            if title is None and saver.page == 1:
                title = self._title_of_input(head.first.ref)
            if title is not None:  # else a server would be asked for the input of this thread alone
                rest = head.metadata, head.metadata_problem
                views[head.row.thread_id] = FinishedView.of_head(head.row, head.rows, head.ts, title, *rest)
        return views

    def _titles_of_inputs(self, heads: Sequence["_Head"]) -> Mapping[Ref, str]:
        """The titles that many first checkpoints show at once, of threads without a message."""
        untitled = [head for head in heads if not head.title]
        if not untitled:
            return {}
        from ckpt_cli.queries.input_title import titles_of_inputs

        known = {head.first.ref: head.root_metadata for head in untitled if head.root_metadata is not None}
        return titles_of_inputs(self._reader, [head.first for head in untitled], known)

    def _title_of_input(self, first: Ref) -> str:
        from ckpt_cli.queries.input_title import title_of_input

        return title_of_input(self._reader, first)

    def _head(self, read: HeadRead) -> "_Head | None":
        """What the view needs of a head; None if the thread may not be finished."""
        decode, checkpoint = self._reader.value, read.checkpoint
        if checkpoint is None:
            return None
        body, apart = decode(checkpoint.body), checkpoint.channels
        if not _is_whole(body, apart) or not self._is_finished(body, apart):
            return None
        values = body["channel_values"]
        title = titles.from_values(values if apart is None else _Values(values, apart, decode))
        metadata = read_metadata(decode(checkpoint.metadata))
        first = read.first or checkpoint.row
        return _Head(checkpoint.row, read.rows, body.get("ts"), title, *metadata, first, read.root_metadata)

    def _is_finished(self, body: Mapping[str, Any], channels: Mapping[str, Payload] | None) -> bool:
        """Whether no channel that holds a value can trigger a node; judged once for heads of the same shape."""
        held = [*body["channel_values"], *(c for c, payload in (channels or {}).items() if payload.tag != "empty")]
        seen = body["versions_seen"]
        shape = (*held, None, *body["channel_versions"], None, *((node, *of_node) for node, of_node in seen.items()))
        judgement = self._shapes.get(shape)
        if judgement is None:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            judgement = self._shapes[shape] = _triggers_nothing(held, body["channel_versions"], seen)
        return judgement


class _Head(NamedTuple):
    """A finished thread's head without its values.

    Attributes:
        title: "" if no message is among the values.
        first: the first checkpoint of the head's namespace.
        root_metadata: its metadata, if that was read.
    """

    row: CheckpointRow
    rows: Sequence[CheckpointRow]
    ts: Any
    title: str
    metadata: Mapping[str, Any]
    metadata_problem: str
    first: CheckpointRow
    root_metadata: Payload | None


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
    """Whether a decoded body has all its parts undamaged, and keeps no Sends elsewhere (as formats before 4 may)."""
    if type(body) is not dict:
        return False
    values, versions, seen = body.get("channel_values"), body.get("channel_versions"), body.get("versions_seen")
    if type(values) is not dict or type(versions) is not dict or type(seen) is not dict:
        return False
    v = body.get("v")
    if type(v) is not int or v < 3 or (v < 4 and (channels is not None or body.get("pending_sends") != [])):
        return False
    by_node = seen.values()
    if not _DICT.issuperset(map(type, by_node)) or not _TEXT.issuperset(
        map(type, chain(values, versions, seen, *by_node))
    ):
        return False
    if not _VERSIONS.issuperset(map(type, chain(versions.values(), *map(dict.values, by_node)))):
        return False
    return _ODD.isdisjoint([type(value) for key, value in body.items() if key not in _DICTS])


def _triggers_nothing(held: Iterable[str], versions: Iterable[str], seen: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the channels that hold a value have no listener, in a StateGraph, whose channels name theirs.

    See `history.tasks.next_tasks`: such a head needs no other checkpoint to show that nothing is due.
    """
    nodes = (node for node in seen if node not in NOT_NODES and not node.endswith(":edges"))
    heard = {channel for node in nodes for channel in seen[node]}
    if any(channel in heard or channel in (START, TASKS) or target(channel) is not None for channel in held):
        return False
    return any(channel == START or target(channel) is not None for channel in versions)
