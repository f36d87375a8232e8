"""Views of finished threads, a page at a time: the heads themselves show that nothing is due.

Most threads of a large database are finished. For these, `ThreadStatus` would do the same with ten times the work; it
reads all others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.short_ids import SHORTEST, ShortIds
from ckpt_cli.history.state import titles
from ckpt_cli.history.state.channels import NOT_NODES, START, TASKS, target
from ckpt_cli.history.tasks.snapshot import Status
from ckpt_cli.layouts import Decode, read_metadata
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Thread
from ckpt_cli.output.quantities import iso
from ckpt_cli.queries.thread_status import PLAIN_METADATA, ThreadStatus, prefetch_threads
from ckpt_cli.reading import Reader
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
    finished = FinishedThreads(reader)
    for page in pages(threads, max(reader.saver.page, _AT_ONCE)):
        views = finished.views(page)
        others = [thread for thread in page if thread.thread_id not in views]
        title_of_input = _TitlesOfPage(reader, others, finished.rows).get if reader.saver.page == 1 else None
        rest = prefetch_threads(reader, others)
        for thread in page:
            view = views.get(thread.thread_id)
            if view is not None:
                yield FinishedThread(view)
                continue
            other = next(rest)
            if thread.thread_id in finished.rows:
                reader.keep_rows(thread.thread_id, finished.rows[thread.thread_id])
            yield ThreadStatus(reader, other, title_of_input)


class _TitlesOfPage:
    """The titles of the inputs of some threads; all are read when the first of them is asked for."""

    def __init__(self, reader: Reader, threads: Sequence[Thread], rows: Mapping[str, Sequence[CheckpointRow]]) -> None:
        self._reader = reader
        self._threads = threads
        self._rows = rows

    @cached_property
    def _titles(self) -> Mapping[Ref, str]:
        from ckpt_cli.queries.input_title import titles_of_inputs

        firsts = (_first(thread.head.ns, self._rows.get(thread.thread_id, ())) for thread in self._threads)
        return titles_of_inputs(self._reader, [row for row in firsts if row is not None])

    def get(self, ref: Ref) -> str | None:
        """The title of an input by its checkpoint; None if other checkpoints must be read for it."""
        return self._titles.get(ref)


class FinishedThreads:
    """Finds the finished threads of pages, and makes their views; what it learns of one head serves the next.

    Attributes:
        rows: the rows of the last page's threads, by thread.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.rows: dict[str, list[CheckpointRow]] = {}
        self._shapes: dict[Any, bool] = {}

    def views(self, threads: Sequence[Thread]) -> dict[str, ThreadView]:
        """The views of those of these threads that surely are finished, by id; a thread that is gone has none."""
        saver = self._reader.saver
        heads = [thread.head for thread in threads]
        written = {write.ref for write in saver.writes_on(heads, values=0)}
        quiet = [head for head in heads if head not in written]
        read = quiet if saver.page > 1 else heads  # a server sends the rows of other threads with their heads
        rows: dict[str, list[CheckpointRow]] = {head.thread_id: [] for head in read}
        self.rows = rows
        for row in saver.rows_of(list(rows)):
            rows[row.thread_id].append(row)
        read_heads = (self._head(checkpoint, rows[checkpoint.row.thread_id]) for checkpoint in saver.checkpoints(quiet))
        finished = [head for head in read_heads if head is not None]
        titles_by_ref = self._titles_of_inputs(finished)
        views: dict[str, ThreadView] = {}
        for head in finished:
            title = head.title or titles_by_ref.get(head.first)
            if title is None and saver.page == 1:
                title = self._title_of_input(head.first)
            if title is not None:  # else a server would be asked for the input of this thread alone
                views[head.row.thread_id] = _view(head, title)
        return views

    def _titles_of_inputs(self, heads: Sequence["_Head"]) -> Mapping[Ref, str]:
        """The titles that many first checkpoints show at once, of threads without a message."""
        untitled = [head for head in heads if not head.title]
        if not untitled:
            return {}
        from ckpt_cli.queries.input_title import titles_of_inputs

        firsts = (_first(head.row.ns, head.rows) for head in untitled)
        return titles_of_inputs(self._reader, [row for row in firsts if row is not None])

    def _title_of_input(self, first: Ref) -> str:
        from ckpt_cli.queries.input_title import title_of_input

        return title_of_input(self._reader, first)

    def _head(self, checkpoint: Checkpoint, rows: Sequence[CheckpointRow]) -> "_Head | None":
        """What the view needs of a head; None if the thread may not be finished."""
        decode = self._reader.value
        body, apart = decode(checkpoint.body), checkpoint.channels
        if not _is_whole(body, apart) or not self._is_finished(body, apart):
            return None
        values = body["channel_values"]
        title = titles.from_values(values if apart is None else _Values(values, apart, decode))
        return _Head(checkpoint.row, rows, body.get("ts"), title, *read_metadata(decode(checkpoint.metadata)))

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
    """A finished thread's head without its values; `title` is "" if no message is among them."""

    row: CheckpointRow
    rows: Sequence[CheckpointRow]
    ts: Any
    title: str
    metadata: Mapping[str, Any]
    metadata_problem: str

    @property
    def first(self) -> Ref:
        """The first checkpoint of the head's namespace."""
        first = _first(self.row.ns, self.rows)
        return self.row.ref if first is None else first.ref


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


def _view(head: _Head, title: str) -> ThreadView:
    """The view, as `ThreadStatus.view` makes it."""
    (thread_id, ns, head_id, *_), rows, ts, _, metadata, metadata_problem = head
    own = [row for row in rows if row.ns == ns]
    step, source = metadata.get("step"), metadata.get("source")
    updated = ids.unix_time(head_id) or ids.unix_time(ts if isinstance(ts, str) and ts else head_id)
    sizes = [row.size for row in rows if row.size is not None]
    first = own[0].checkpoint_id if own else head_id
    return ThreadView(
        thread_id=thread_id,
        ns=ns,
        head=head_id,
        short=_short(head_id, rows),
        checkpoints=len(rows),
        namespaces=len({row.ns for row in rows} - {ns}) if len(own) < len(rows) else 0,
        branches=_branches(own),
        step=step if isinstance(step, int) else ids.step(head_id),
        source=source if isinstance(source, str) else "",
        status=str(Status.DONE),
        next=[],
        updated=iso(updated),
        created=iso(ids.unix_time(first)),
        title=title,
        size=sum(sizes) if sizes else None,
        interrupts=[],
        errors=[],
        metadata={key: value for key, value in metadata.items() if key not in PLAIN_METADATA},
        metadata_problem=metadata_problem or None,
        statuses=[str(Status.DONE)],
        answered=[],
        old_answers=[],
    )


def _first(ns: str, rows: Iterable[CheckpointRow]) -> CheckpointRow | None:
    """The first checkpoint of a namespace."""
    return next((row for row in rows if row.ns == ns), None)


def _branches(rows: Sequence[CheckpointRow]) -> int:
    """The number of branches of one namespace; a chain, in which each row continues the row before it, is one."""
    before = rows[0].checkpoint_id if rows else ""
    for row in rows[1:]:
        if row.parent_id != before or row.checkpoint_id <= before:
            return len(Lineage(rows).branches)
        before = row.checkpoint_id
    return len(Lineage(rows).branches) if not rows or rows[0].parent_id else 1


def _short(head_id: str, rows: Sequence[CheckpointRow]) -> str:
    """The short form of an id: the beginning of its last group, if no other id needs more of it."""
    short = head_id[24 : 24 + SHORTEST]
    for row in rows:
        other = row.checkpoint_id
        if other != head_id and (other.startswith(short) or other[24:].startswith(short)):
            return ShortIds(row.checkpoint_id for row in rows)(head_id)
    return short if ids.is_uuid6(head_id) else ShortIds(row.checkpoint_id for row in rows)(head_id)
