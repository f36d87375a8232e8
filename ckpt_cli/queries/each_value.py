"""The value at one path in each of many threads (``get --each``), page by page; equal values counted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ckpt_cli.errors import CheckpointNotFound, PathNotFound, PayloadCorrupt, ValueUnknown
from ckpt_cli.history.diff.element_keys import digest
from ckpt_cli.history.state.channels import unwrapped
from ckpt_cli.history.state.paths import follow, parse
from ckpt_cli.inspection import Inspection
from ckpt_cli.layouts import values_of
from ckpt_cli.model import Checkpoint, Ref, Thread
from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.queries.rebuilt_notes import rebuilt_notes
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.queries.unknown_parts import explain_unknown
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from ckpt_cli.views.get import EachView, ThreadValue, ValueCount

_AT_ONCE = 100  # threads that are read in one moment; their values are in memory together
_REASONS = 3  # why values can't be read, at most so many are named


class Place(NamedTuple):
    """The value that is wanted of each thread: a path in a checkpoint of a namespace."""

    path: str
    at: str
    ns: str


def each_value(session: Session, chosen: ThreadSelection, place: Place, view: EachView) -> Iterator[ThreadValue]:
    """The values, thread by thread; `view` counts the threads without one. At the end, stderr names their number.

    Raises:
        UsageError: the path is no path, or ``--where`` fails on every thread.
    """
    parse(place.path)
    heads, remarks = session.read(lambda reader: selected_heads(reader, chosen))
    unproven = 0
    for page in pages(heads, _AT_ONCE):
        for one in session.read(partial(_page, threads=page, chosen=chosen, place=place)):
            if one is None:
                view.without += 1
                continue
            view.found += one.problem is None
            view.unreadable += one.problem is not None
            if one.note is not None:
                unproven += 1
            yield one
    for remark in remarks:
        session.say(remark)
    if view.without:
        count = f"{view.without:,} thread{' has' if view.without == 1 else 's have'}"
        session.say(f"{count} no value at {place.path}")
    if unproven:
        count = f"{unproven:,} thread{' has' if unproven == 1 else 's have'}"
        session.say(f"{count} a rebuilt value that the stored ones, of another size, don't prove")


def counted(values: Iterable[ThreadValue], session: Session) -> Iterator[ValueCount]:
    """Each different value with the number of threads that have it, the most frequent first.

    First, stderr says if equal values may have been different. At the end, it has the number of the threads whose value
    can't be read or isn't known, with a reason.
    """
    session.say_lost_differences()
    unread = Counter[str]()
    by_digest: dict[int, list[ValueCount]] = {}  # not of bytes, which have a set in the order of one process
    for one in values:
        if one.problem is not None:
            unread[one.problem] += 1
        else:
            _count(by_digest.setdefault(digest(one.value, raw=False), []), one)
    yield from sorted((each for alike in by_digest.values() for each in alike), key=lambda each: -each.threads)
    for problem, count in unread.most_common(_REASONS):
        session.say(f"{count:,} thread{' is' if count == 1 else 's are'} not counted: {problem}")
    if (rest := unread.total() - sum(count for _, count in unread.most_common(_REASONS))) > 0:
        session.say(f"{rest:,} more not counted, for other reasons")


def _count(alike: list[ValueCount], one: ThreadValue) -> None:
    """Count a value among those with the same digest."""
    for place, known in enumerate(alike):
        if same(known.value, one.value):
            alike[place] = known._replace(threads=known.threads + 1)
            return
    alike.append(ValueCount(1, one.value, one.thread_id))


def _page(reader: Reader, threads: Sequence[Thread], chosen: ThreadSelection, place: Place) -> list[ThreadValue | None]:
    """The value of each thread, or None if it has no such path; a thread that was deleted meanwhile is left out."""
    refs = [ref for thread in threads if (ref := _ref(reader, thread, chosen, place)) is not None]
    names = {place.path, str(parse(place.path)[0])}
    return [_value(reader, checkpoint, place.path) for checkpoint in reader.saver.with_channels(refs, names)]


def _ref(reader: Reader, thread: Thread, chosen: ThreadSelection, place: Place) -> Ref | None:
    """The checkpoint to read; None if the thread doesn't have it."""
    revision = chosen.revision(thread.thread_id) or place.at
    if revision == "@" and not place.ns:
        return thread.head
    try:
        return reader.resolve(thread.thread_id, revision, reader.namespace(thread.thread_id, place.ns)).ref
    except CheckpointNotFound:
        return None


def _value(reader: Reader, checkpoint: Checkpoint, path: str) -> ThreadValue | None:
    thread_id, _, checkpoint_id = checkpoint.row.ref
    try:
        values, versions = values_of(checkpoint, reader.value)
        steps: list[Any] = [path] if path in values or path in versions else parse(path)
        channel = steps[0]
        note = None
        if channel not in values and channel in versions:  # a delta channel is rebuilt
            values = Inspection(reader, checkpoint.row.ref).values()
            note = next(rebuilt_notes(reader, checkpoint.row.ref, [channel]), None)
        if channel not in values:
            return None
        value = follow(unwrapped(values[channel]), steps[1:], steps[:1])
    except PathNotFound:
        return None
    except ValueUnknown:
        return ThreadValue(thread_id, checkpoint_id, None, explain_unknown(reader, checkpoint.row.ref, steps).message)
    except PayloadCorrupt as error:
        return ThreadValue(thread_id, checkpoint_id, None, error.message)
    if isinstance(value, Node) and value.form is Form.BROKEN:
        return ThreadValue(thread_id, checkpoint_id, None, str(value.problem))
    return ThreadValue(thread_id, checkpoint_id, value, note=note)
