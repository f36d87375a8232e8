"""`Watch`: finds new checkpoints and statuses by looking again and again; each is given once."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, NamedTuple

from ckpt_cli.history.lineage import ids
from ckpt_cli.model import Ref, Thread
from ckpt_cli.parameters.options import matcher
from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.queries.head_marks import NO_MARKS, Marks, read_marks, with_asking
from ckpt_cli.queries.metadata_filter import UnreadThreads, threads_that_fit
from ckpt_cli.queries.seen_checkpoints import LATE, SeenCheckpoints
from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.queries.thread_status import ThreadStatus
from ckpt_cli.reading import Reader
from ckpt_cli.savers.arrivals import Arrivals, Floor
from ckpt_cli.views.steps import StepView

FOLLOWED = 300
"""The heads of so many threads, those that were active last, are looked at again for questions, errors and answers."""
_NEAR = 120.0  # seconds; most looks ask only for checkpoints that are not older than this
_AT_ONCE = 500  # new checkpoints in one look; the next look takes more
_FORGET = 60.0  # seconds; what was seen is forgotten in such portions
_WHOLE_AFTER = 30.0  # seconds between looks for all that is late, unless these take long
_SHARE = 20  # such looks take at most a 20th of the time


class Event(NamedTuple):
    """A checkpoint that is new, or whose thread has a new status.

    Attributes:
        thread_id: its thread.
        step: the checkpoint as a row of `log`.
        statuses: those of the thread.
        is_new: whether the checkpoint is new, and not only the status.
        is_shown: whether it is one to show: ``--status`` leaves out the others, which still count.
    """

    thread_id: str
    step: StepView
    statuses: Sequence[str]
    is_new: bool
    is_shown: bool = True


class _Head(NamedTuple):
    """The head of a thread as it was at the last look."""

    ref: Ref
    marks: Marks
    statuses: Sequence[str] | None = None


class Look(NamedTuple):
    """What one look found; nothing is remembered of it until it is taken.

    Attributes:
        events: in the order of their ids.
        refs: the checkpoints that were seen.
        heads: those of the threads that are followed.
        is_whole: whether it looked for all checkpoints, however late.
        has_more: whether there are more, for which to look at once.
    """

    events: list[Event]
    refs: list[Ref]
    heads: dict[str, _Head]
    arrivals: Arrivals
    is_whole: bool
    has_more: bool
    newest: float | None
    begun: float
    ended: float

    @property
    def seconds(self) -> float:
        """How long the look took."""
        return self.ended - self.begun


class Watch:
    """What is known between two looks.

    Args:
        chosen: the threads to watch.
    """

    def __init__(self, chosen: ThreadSelection) -> None:
        self._chosen = chosen
        self._matches = matcher(chosen.match)
        self._seen = SeenCheckpoints()
        self._heads: OrderedDict[str, _Head] = OrderedDict()
        self._mark: Any = None
        self._last: float | None = None  # when the last look began
        self._next_whole = 0.0
        self._by_mark = False  # the floor counts only where the mark is lost, and then for all that is late
        self._since = 0.0
        self._unread = UnreadThreads()

    def look(self, reader: Reader) -> Look:
        """Look for what is new. This changes nothing here, so it may run again after the connection was lost."""
        now = reader.clock()
        is_first = self._last is None
        newest = self._newest(reader) if is_first else None
        is_whole = is_first or now >= self._next_whole
        latest = now if newest is None else min(now, newest)
        since = (latest if is_first else self._seen.latest(now)) - LATE if is_whole or self._by_mark else self._since
        floor = Floor(since, ids.lowest_id(since))
        named = None if self._chosen.named is None else list(self._chosen.named)
        arrivals = self._arrivals(reader, floor, None if is_whole else self._mark, named)
        if is_first:
            heads = self._first_heads(reader)
            events = [*self._present(reader, heads)] if named is not None else []
            return Look(events, arrivals.refs, heads, arrivals, True, False, newest, now, reader.clock())
        fresh = sorted((r for r in {*arrivals.refs} if self._seen.is_new(r)), key=_by_id)
        taken = fresh[:_AT_ONCE]
        events, heads = self._events(reader, taken)
        return Look(events, taken, heads, arrivals, is_whole, len(taken) < len(fresh), None, now, reader.clock())

    def _arrivals(self, reader: Reader, floor: Floor, mark: Any, named: list[str] | None) -> Arrivals:
        """What is stored since the mark; where that may not be all, all of the threads that are followed or new here.

        So a thread's checkpoints are found in the order of their ids, wherever its rows are stored.
        """
        arrivals = reader.saver.arrivals(floor, mark, named)
        if not arrivals.is_partial or mark is None:
            return arrivals
        fresh = (ref.thread_id for ref in arrivals.refs if self._seen.is_new(ref))
        own = reader.saver.arrivals(floor, None, list(dict.fromkeys([*self._heads, *fresh])))
        return arrivals._replace(refs=[*arrivals.refs, *own.refs])

    def take(self, look: Look) -> list[Event]:
        """Remember what a look found, and give its events."""
        self._seen.note_time(look.newest)
        self._seen.add(look.refs, look.begun)
        self._seen.raise_floor(ids.unix_time(look.arrivals.highest_missing) or self._seen.floor)
        for thread_id, head in look.heads.items():
            self._heads[thread_id] = head
            self._heads.move_to_end(thread_id)
        while len(self._heads) > FOLLOWED:
            self._heads.popitem(last=False)
        if not look.has_more:
            self._go_on_from(look)
        return look.events

    @property
    def has_begun(self) -> bool:
        """Whether a look was taken."""
        return self._last is not None

    @property
    def undecided(self) -> list[str]:
        """The delta channels without a value at heads for which ``--where`` has left threads out so far."""
        return [] if self._chosen.where is None else sorted(self._chosen.where.undecided)

    @property
    def unread_note(self) -> str:
        """The remark about threads that ``--where`` has left out because metadata can't be read; "" if none was."""
        return self._unread.note

    def look_at_all_next(self) -> None:
        """Let the next look search for all that is late, as after a lost connection."""
        self._next_whole = 0.0

    def _go_on_from(self, look: Look) -> None:
        self._mark, self._last = look.arrivals.mark, look.begun
        latest = self._seen.latest(look.begun)
        self._since = latest - _NEAR
        if latest - LATE > self._seen.floor + _FORGET:
            self._seen.raise_floor(latest - LATE)
        self._by_mark = look.arrivals.is_complete
        if self._by_mark:
            self._next_whole = float("inf")
        elif look.is_whole:
            least = 0.0 if look.arrivals.is_partial else _WHOLE_AFTER
            self._next_whole = look.ended + max(least, _SHARE * look.seconds)

    def _newest(self, reader: Reader) -> float | None:
        """When the newest checkpoint was made, as far as the heads tell."""
        head = next(reader.saver.threads(), None)
        return None if head is None else ids.unix_time(head.head.checkpoint_id)

    def _first_heads(self, reader: Reader) -> dict[str, _Head]:
        if self._chosen.named is not None:
            threads = [reader.thread(thread_id) for thread_id in self._chosen.named]
        else:
            threads = list(islice((t for t in reader.saver.threads() if self._matches(t.thread_id)), FOLLOWED))
        marks = with_asking(reader, read_marks(reader, {thread.head: () for thread in threads}))
        return {t.thread_id: _Head(t.head, marks[t.head]) for t in reversed(threads)}

    def _present(self, reader: Reader, heads: dict[str, _Head]) -> Iterator[Event]:
        """Where the named threads stand."""
        for thread_id, head in reversed(heads.copy().items()):
            step = _step(reader, head.ref) if self._fits(reader, Thread(thread_id, head.ref)) else None
            if step is not None:
                heads[thread_id] = head._replace(statuses=_statuses(step))
                yield Event(thread_id, step, _statuses(step), is_new=False)

    def _events(self, reader: Reader, fresh: Sequence[Ref]) -> tuple[list[Event], dict[str, _Head]]:
        threads = [reader.saver.thread(thread_id) for thread_id in dict.fromkeys(ref.thread_id for ref in fresh)]
        touched = {one.thread_id: one.head for one in threads if one is not None and self._fits(reader, one)}
        events = [*_new(reader, fresh, touched)]
        heads, changed = self._statuses(reader, touched, events)
        both = self._marked([*events, *changed])
        return sorted(both, key=lambda event: (event.step.checkpoint_id, not event.is_new)), heads

    def _statuses(
        self, reader: Reader, touched: dict[str, Ref], events: list[Event]
    ) -> tuple[dict[str, _Head], list[Event]]:
        """The heads that changed, or at which tasks wrote; an event for each that no new checkpoint shows."""
        followed = {**{thread_id: head.ref for thread_id, head in self._heads.items()}, **touched}
        same = {i: head.marks for i, head in self._heads.items() if head.ref == followed[i]}
        marks = read_marks(reader, {ref: same.get(i, NO_MARKS).asking for i, ref in followed.items()})
        shown = {event.thread_id: event.statuses for event in events if event.statuses}
        heads, changed = {}, []
        for thread_id, ref in followed.items():
            if same.get(thread_id) == (now := marks[ref]):
                continue
            statuses = shown.get(thread_id)
            if self._seen.is_new(ref) and statuses is None:  # its own event comes first
                continue
            step = None if statuses is not None else _step(reader, ref)
            if step is not None:
                statuses = _statuses(step)
                before = self._heads.get(thread_id)
                is_news = statuses != _before(before) or same.get(thread_id, NO_MARKS).halts != now.halts
                if is_news and self._fits(reader, Thread(thread_id, ref)):
                    changed.append(Event(thread_id, step, statuses, is_new=False))
            heads[thread_id] = _Head(ref, now, statuses)
        marks = with_asking(reader, {head.ref: head.marks for head in heads.values()})
        return {thread_id: head._replace(marks=marks[head.ref]) for thread_id, head in heads.items()}, changed

    def _fits(self, reader: Reader, thread: Thread) -> bool:
        """Whether a thread is one of those to watch, as far as its status doesn't decide."""
        chosen = self._chosen
        if chosen.named is not None and thread.thread_id not in chosen.named:
            return False
        if not self._matches(thread.thread_id) or not chosen.period.holds(ids.unix_time(thread.head.checkpoint_id)):
            return False
        if chosen.where is None:
            return True
        if chosen.any_checkpoint:
            return any(threads_that_fit(reader, [thread], chosen.where, self._unread))
        one = ThreadStatus(reader, thread)
        if one.fits(chosen.where):
            return True
        self._unread.add(thread.thread_id, one.problem or one.metadata_problem)
        return False

    def _marked(self, events: Iterable[Event]) -> list[Event]:
        """The events, those that ``--status`` leaves out as not to be shown."""
        if not (statuses := self._chosen.statuses):
            return [*events]
        fits = ((event, statuses.fit(event.statuses, ids.unix_time(event.step.checkpoint_id))) for event in events)
        return [event._replace(is_shown=fit) for event, fit in fits]


def _new(reader: Reader, fresh: Sequence[Ref], touched: dict[str, Ref]) -> Iterator[Event]:
    """An event for each new checkpoint of these threads; those of a namespace are read together."""
    here = [ref for ref in fresh if ref.thread_id in touched]
    here.sort(key=lambda ref: (ref.thread_id, ref.ns, _by_id(ref)))
    for (thread_id, ns), refs in groupby(here, key=lambda ref: (ref.thread_id, ref.ns)):
        lines = StepLines(reader, thread_id, ns)
        stored = [ref.checkpoint_id for ref in refs if ref.checkpoint_id in lines.lineage.rows]
        for step in lines.views(stored):
            is_head = touched[thread_id] == Ref(thread_id, ns, step.checkpoint_id)
            yield Event(thread_id, step, _statuses(step) if is_head else (), is_new=True)


def _step(reader: Reader, head: Ref) -> StepView | None:
    """The row of a head; None if it was deleted."""
    lines = StepLines(reader, head.thread_id, head.ns)
    return next(lines.views([head.checkpoint_id])) if head.checkpoint_id in lines.lineage.rows else None


def _statuses(step: StepView) -> list[str]:
    """The statuses of a thread, from the row of its head; a thread waits and has failed if its tasks did either."""
    halted = {status for task in step.tasks for status in task.statuses} & {"waiting", "failed"}
    return sorted(halted) or [step.status or "unreadable"]


def _before(head: _Head | None) -> Sequence[str]:
    """The statuses that were known; a head that nobody has looked at closely was running, or nothing is known of it."""
    return ["unfinished"] if head is None or head.statuses is None else head.statuses


def _by_id(ref: Ref) -> tuple[float, str]:
    """By time, whatever the ids are."""
    return ids.unix_time(ref.checkpoint_id) or 0.0, ref.checkpoint_id
