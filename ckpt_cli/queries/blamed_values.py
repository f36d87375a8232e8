"""``blame``: follows a value along a line of checkpoints; who gave, removed or replaced its parts."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple

from ckpt_cli.errors import NotFound
from ckpt_cli.history.diff.equal_elements import Alternative, When
from ckpt_cli.history.diff.part_ages import PartAges
from ckpt_cli.history.diff.part_moments import ABSENT, Alternatives, Became, Gone
from ckpt_cli.history.reducers.names import NOTHING_NAMED, NamedReducers
from ckpt_cli.history.state.paths import follow, spell
from ckpt_cli.history.tasks.write_signs import Explains, Gives, Takes
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.queries.channel_line import ChannelLine, DeltaFoundError, Reading
from ckpt_cli.queries.line_moments import Moments
from ckpt_cli.queries.origins import Origins
from ckpt_cli.queries.part_origins import Arrival, part_origins
from ckpt_cli.queries.rebuilt_notes import rebuilt_notes
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.values.state import Version
from ckpt_cli.views.blame import BlameLine, BlameView, GoneLine, GoneView, PastValue, PastView, Unread
from ckpt_cli.views.write_line import WriteLine

_MOST_UNREAD = 100  # checkpoints without a known value whose writes are asked about a part that came after them
_AT_ONCE = 50  # values that are in memory together where a list has no end


class Question(NamedTuple):
    """What is to be blamed.

    Attributes:
        row: the checkpoint to whose line the question belongs, and its step.
        line: the checkpoints to follow, oldest first.
        steps: the path, beginning with the channel; the last step may be a slice.
        rebuilt: whether the channel is known to be a delta channel.
        absent: the error if the path leads nowhere at the checkpoint; it may have led somewhere before.
        command: what a Command wrote to the channel at that checkpoint, which doesn't hold it yet.
        named: the reducers that a person named, now or earlier.
    """

    row: CheckpointRow
    step: int | None
    line: Sequence[Ref]
    steps: Sequence[Any]
    rebuilt: bool
    absent: NotFound | None = None
    command: Sequence[WriteLine] = ()
    named: NamedReducers = NOTHING_NAMED

    @property
    def path(self) -> str:
        """The path in ckpt's own spelling."""
        if self.steps and isinstance(last := self.steps[-1], slice):
            ends = ("" if end is None else end for end in (last.start, last.stop))
            return f"{spell(self.steps[:-1])}[{':'.join(map(str, ends))}]"
        return spell(self.steps)


def present(session: Session, question: Question) -> BlameView:
    """The view of the parts of the present value, each with the checkpoint since which it stands."""
    if question.absent is not None:
        raise question.absent
    walk = _walked(session, question, PartAges(question.steps[1:]))
    parts, channel = walk.ages.parts(), question.steps[0]
    arrivals = [
        Arrival(p.since, p.path, p.value, Gives(p.path, p.value, p.before), walk.others(p.since, p.others))
        for p in parts
    ]
    origins = list(part_origins(walk.origins(), arrivals))
    session.progress("")
    lines = [
        BlameLine(spell([channel, *part.path]), part.value, origin, *walk.unread_around(part.since))
        for part, origin in zip(parts, origins, strict=True)
    ]
    view = partial(BlameView, **_head(session, question))
    return view(lines=lines, unread=walk.unread(session))


def gone(session: Session, question: Question, start: str | None) -> GoneView:
    """The view of the parts that went; with `start`, of the parts of the first checkpoint of the line."""
    view = GoneView(**_head(session, question), lines=[], start=start)
    view.lines = _gone_lines(session, question, view)
    return view


def past(session: Session, question: Question) -> PastView:
    """The view of every value that the path had on the line."""
    if question.absent is not None and any(isinstance(step, int) for step in question.steps):
        raise question.absent  # a position is that of an element which exists
    walk = _walked(session, question, PartAges(question.steps[1:], whole=True))
    moments = walk.ages.moments()
    if moments and moments[0].path is None:  # the path led nowhere at first
        moments = moments[1:]
    if not moments and question.absent is not None:
        raise question.absent
    values = _past_values(session, question, walk, moments)
    return PastView(**_head(session, question), values=values, unread=walk.unread(session))


class _Walk:
    """Takes the channel at each checkpoint of the line.

    Attributes:
        gaps: the checkpoints, by number, that can't be read, after which the channel had another version.
    """

    def __init__(self, session: Session, question: Question, ages: PartAges, *, rebuilt: bool) -> None:
        self.ages = ages
        self.gaps: list[int] = []
        self._session = session
        self._question = question
        named = question.named.reducers
        self.line = ChannelLine(session, question.line, question.steps[0], rebuilt=rebuilt, named=named)
        self._moments = Moments()
        self._origins: Origins | None = None
        self._problems: dict[int, str] = {}
        self._pending: list[int] = []
        self._version: Version | None = None
        self._step: int | None = None

    def run(self) -> Iterator[int]:
        """Take one checkpoint after the other; gives the number of each that was read."""
        total, first = len(self._question.line), self._question.line[0]
        rows = self._session.read(lambda reader: reader.lineage(first.thread_id, first.ns)).rows
        is_root = rows[first.checkpoint_id].parent_id is None
        for reading in self.line.readings():
            self._session.progress(f"blame: {reading.number:,} of {total:,} checkpoints")
            self._moments.add(reading, is_root=is_root)
            if self._take(reading):
                yield reading.number

    def _take(self, reading: Reading) -> bool:
        if reading.problem:
            self._problems[reading.number] = reading.problem
            self._pending.append(reading.number)
            return False
        has_kept_version = reading.version is not None and reading.version == self._version
        if not has_kept_version:
            self.gaps += self._pending
        self._pending, self._version = [], reading.version
        step, before, self._step = reading.note.step, self._step, reading.note.step
        is_run = reading.note.source in ("loop", "input")
        is_after_gap = is_run and step is not None and before is not None and step > before + 1
        self.ages.take(reading.value, reading.number, is_after_gap=is_after_gap, has_kept_version=has_kept_version)
        return True

    def origins(self) -> Origins:
        """Finds who made changes at the checkpoints that were taken."""
        question = self._question
        self._origins = self._origins or Origins(
            self._session, question.line, question.steps[0], self._moments.all, question.named
        )
        return self._origins

    def others(self, number: int, others: Alternatives) -> Alternatives:
        """The other checkpoints at which a part may have come, with those before them whose value isn't known."""
        if not (self._problems and self.line.rebuilt):
            return others
        known = {n: Alternative(When.BETWEEN) if self._is_between(n, one) else one for n, one in others.items()}
        came = [number, *(n for n, one in known.items() if one.when is When.BETWEEN)]
        before = (takewhile(self._problems.__contains__, range(n - 1, -1, -1)) for n in came)
        unread = {n: Alternative(When.UNREAD) for some in before for n in islice(some, _MOST_UNREAD)}
        return {**unread, **known}

    def _is_between(self, number: int, other: Alternative) -> bool:
        return other.when is When.UNSEEN and number - 1 in self._problems

    def unread_around(self, number: int) -> tuple[int, int]:
        """How many checkpoints after this one can't be read, and how many directly before it."""
        gaps = set(self.gaps)
        before = sum(1 for _ in takewhile(gaps.__contains__, range(number - 1, -1, -1)))
        return sum(one > number for one in gaps), before

    def unread(self, session: Session) -> list[Unread]:
        """The checkpoints that can't be read."""
        line = self._question.line
        short = session.read(lambda reader: reader.short(line[0].thread_id)) if self._problems else str
        ids = {number: line[number].checkpoint_id for number in self._problems}
        return [Unread(ids[number], short(ids[number]), problem) for number, problem in self._problems.items()]


def _walked(session: Session, question: Question, ages: PartAges) -> _Walk:
    """A walk over the whole line; it begins anew if the channel turns out to be a delta channel."""
    walk = _Walk(session, question, ages, rebuilt=question.rebuilt)
    try:
        for _ in walk.run():
            pass
    except DeltaFoundError:
        return _walked(session, question._replace(rebuilt=True), ages.anew())
    return walk


def _gone_lines(session: Session, question: Question, view: GoneView, skip: int = 0) -> Iterator[GoneLine]:
    """The lines, some at a time; the first `skip` were given before."""
    ages, given = PartAges(question.steps[1:], keep_gone=True), 0
    walk = _Walk(session, question, ages, rebuilt=question.rebuilt)
    try:
        for line in islice(_gone(walk, question, only_first=view.start is not None), skip, None):
            yield line
            given += 1
    except DeltaFoundError:
        yield from _gone_lines(session, question._replace(rebuilt=True), view, skip + given)
        return
    session.progress("")
    view.unread = walk.unread(session)
    if question.absent is not None and not skip and not given:
        raise question.absent


def _gone(walk: _Walk, question: Question, *, only_first: bool) -> Iterator[GoneLine]:
    waiting: list[Gone] = []
    begun = False
    for _ in walk.run():
        if only_first and not begun:
            walk.ages.choose()
        begun = True
        waiting += [one for one in walk.ages.gone if one.since == 0 or not only_first]
        walk.ages.gone.clear()
        if len(waiting) >= _AT_ONCE:
            yield from _credited(walk, question, waiting)
            waiting = []
    yield from _credited(walk, question, waiting)
    for part in walk.ages.parts(followed=True) if only_first else ():
        if part.since == 0:
            yield GoneLine(spell([question.steps[0], *part.path]), part.value, None)


def _credited(walk: _Walk, question: Question, waiting: Sequence[Gone]) -> Iterator[GoneLine]:
    wanted: dict[int, list[Explains]] = {}
    for one in waiting:
        wanted.setdefault(one.until, []).append(Takes(one.path, one.value, one.after, one.is_guessed))
    origins = {number: iter(some) for number, some in walk.origins().read(wanted)}
    for one in waiting:
        is_replaced = one.after is not ABSENT
        path, *elsewhere = (spell([question.steps[0], *place]) for place in (one.path, *one.elsewhere))
        after = one.after if is_replaced else None
        yield GoneLine(path, one.value, next(origins[one.until]), is_replaced, after, elsewhere)


def _past_values(session: Session, question: Question, walk: _Walk, moments: Sequence[Became]) -> Iterator[PastValue]:
    channel, line, before = question.steps[0], walk.line, ABSENT
    for page in pages(moments, _AT_ONCE):
        readings = {one.number: one for one in line.at([moment.number for moment in page])}
        values = [_at(readings[number], path) for number, path, _ in page]
        arrivals = list[Arrival]()
        for (number, path, others), value in zip(page, values, strict=True):
            explains = _is_unknown if path is None else Gives(path, value, before)
            arrivals.append(Arrival(number, path or (), value, explains, walk.others(number, others)))
            before = ABSENT if path is None else value
        origins = list(part_origins(walk.origins(), arrivals))
        session.progress("")
        for (number, path, _), value, origin in zip(page, values, origins, strict=True):
            spelled = None if path is None else spell([channel, *path])
            yield PastValue(spelled, value, origin, readings[number].version)


def _is_unknown(_: Any) -> bool:
    """Of several writes, none is known to have made the path lead nowhere."""
    return False


def _at(reading: Reading, path: Sequence[Any] | None) -> Any:
    return None if path is None else follow(reading.value, path)


def _head(session: Session, question: Question) -> dict[str, Any]:
    """The fields that all views of ``blame`` have."""
    row = question.row

    def short(reader: Reader) -> str:
        return reader.short(row.thread_id)(row.checkpoint_id)

    def notes(reader: Reader) -> list[str]:
        ends = dict.fromkeys([question.line[0], row.ref])
        return [
            note for ref in ends for note in rebuilt_notes(reader, ref, question.steps[:1], question.named.reducers)
        ]

    remarks = [*session.read(notes), *filter(None, [session.reader.saver.lost_differences])]
    for note in remarks:
        session.say(note)
    return {
        "thread_id": row.thread_id,
        "ns": row.ns,
        "checkpoint_id": row.checkpoint_id,
        "short": session.read(short),
        "step": question.step,
        "path": question.path,
        "checkpoints": len(question.line),
        "command": list(question.command),
        "notes": remarks,
    }
