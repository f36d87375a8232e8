"""``bisect``: tests checkpoints of a line until the first bad one is found; no moment is open in a test."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ckpt_cli.errors import Failed, PayloadCorrupt, UsageError
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.lineage.bisection import Bisection, Verdict, doubling
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.history.state.paths import parse
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Ref, Thread
from ckpt_cli.output import json
from ckpt_cli.queries.rebuilt_notes import note_on, rebuilt_notes
from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.queries.thread_status import ThreadStatus
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.shell_words import command, ns_option
from ckpt_cli.values.difference import Difference
from ckpt_cli.views.bisect import BisectView, Tested
from ckpt_cli.views.steps import StepView

_SKIP, _LAST_BAD = 125, 127
"""The exit codes of ``git bisect run``: skip, and the highest one that means bad."""


class Answer(NamedTuple):
    """What a test says about a checkpoint; `why` says why a checkpoint that can't be read was skipped."""

    verdict: Verdict
    exit_code: int | None = None
    why: str = ""


Test = Callable[[Ref], Answer]


class Line(NamedTuple):
    """The checkpoints from the good end to the bad end, oldest first."""

    refs: Sequence[Ref]
    good: str
    bad: str


def line_between(reader: Reader, good: CheckpointRow, bad: CheckpointRow) -> Line:
    """The line from a good checkpoint to a bad one.

    Raises:
        UsageError: the good one is no ancestor of the bad one; the hint says what may be meant.
    """
    lineage, short = reader.lineage(bad.thread_id, bad.ns), reader.short(bad.thread_id)
    ends = Line([], short(good.checkpoint_id), short(bad.checkpoint_id))
    if good.checkpoint_id == bad.checkpoint_id:
        raise UsageError(f"{ends.good} can't be good and bad", hint="name two checkpoints: --good REV --bad REV")
    line = list(lineage.line(bad.checkpoint_id))[::-1]
    if good.checkpoint_id in line:
        chosen = line[line.index(good.checkpoint_id) :]
        return ends._replace(refs=[bad.ref._replace(checkpoint_id=i) for i in chosen])
    older = set(lineage.line(good.checkpoint_id))
    if bad.checkpoint_id in older:
        hint = f"the other way round: --good {ends.bad} --bad {ends.good}, with the test turned round too"
        raise UsageError(f"the good checkpoint {ends.good} comes after the bad one {ends.bad}", hint=hint)
    common = next((i for i in reversed(line) if i in older), None)
    if common is None:
        raise UsageError(f"{ends.good} and {ends.bad} have no ancestor in common", hint="both must be on one line")
    hint = f"{short(common)} is their last ancestor in common; if it is good: --good {short(common)}"
    raise UsageError(f"{ends.good} and {ends.bad} are on two branches: no steps lead from one to the other", hint=hint)


def by_expression(session: Session, where: Filter) -> Test:
    """A test for which a checkpoint is bad if the expression is true; one that can't be read or decided is skipped."""

    def read(reader: Reader, ref: Ref) -> Answer:
        status, undecided = ThreadStatus(reader, Thread(ref.thread_id, ref), rebuilds=True), where.undecided.copy()
        is_bad = status.fits(where)
        unknown = sorted(name for name, count in where.undecided.items() if count > undecided[name])
        why = status.problem or (f"the value of delta channel {unknown[0]!r} isn't known there" if unknown else "")
        return Answer(Verdict.SKIP, why=why) if why else Answer(_verdict(is_bad=is_bad))

    return lambda ref: session.read(lambda reader: read(reader, ref))


def by_command(session: Session, words: str) -> Test:
    """A test by the exit code of a command, which gets the state as JSON.

    Raises:
        UsageError: the command can't be used.
    """
    from ckpt_cli.output.state_command import StateCommand

    runner, told = StateCommand(words), set[str]()

    def test(ref: Ref) -> Answer:
        try:
            values = session.read(lambda reader: _values(session, reader, ref, told))
        except PayloadCorrupt as error:
            return Answer(Verdict.SKIP, why=error.message)
        code = runner.exit_code(json.text(json.form(values, session.reveal), indent=None))
        if not 0 <= code <= _LAST_BAD:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            hint = "0 means good, 125 skip, any other up to 127 bad; a higher one ends the search"
            raise Failed(f"{runner.words[0]} {how} at {ref.checkpoint_id}: the search ended", hint=hint)
        return Answer(Verdict.SKIP if code == _SKIP else _verdict(is_bad=code != 0), code)

    return test


def _values(session: Session, reader: Reader, ref: Ref, told: set[str]) -> dict[str, Any]:
    """The state for a command; of each delta channel whose value isn't proven it is said once."""
    inspection = Inspection(reader, ref)
    for channel, one in inspection.deltas().items():
        if one.is_unshown and channel not in told:
            told.add(channel)
            session.say(note_on(reader, ref, channel, one))
    return inspection.values()


def _verdict(*, is_bad: bool) -> Verdict:
    return Verdict.BAD if is_bad else Verdict.GOOD


class Search:
    """A bisection of one line, with all that was tested."""

    def __init__(self, session: Session, line: Line, test: Test, where: Filter | None = None) -> None:
        """Test nothing yet; `where` is the filter of the test, if it is one.

        Such a test is cheap, so some more are spent to notice verdicts that contradict each other.
        """
        self._session = session
        self._line = line
        self._test = test
        self._where = where
        self._tested: dict[int, Tested] = {}
        self._lines = session.read(lambda reader: StepLines(reader, line.refs[0].thread_id, line.refs[0].ns))

    def run(self, expression: str) -> BisectView:
        """The view of the result; with an expression or a command, both ends are tested first."""
        bisection = Bisection(0, len(self._line.refs) - 1)
        if expression:
            self._test_ends()
        for _ in bisection.run(self._verdict):
            self._report(bisection, is_asking=not expression)
        contrary = list(self._contrary(bisection)) if self._where is not None else []
        self._session.progress("")
        places, refs = bisection.candidates, self._line.refs
        steps = self._session.read(lambda _: self._views([refs[place].checkpoint_id for place in places]))
        [end] = self._session.read(lambda _: self._views([refs[-1].checkpoint_id]))
        if end.command is not None:
            self._session.say(
                f"not tested: the Command that waits at {end.short}; no checkpoint holds what it wrote yet"
            )
        changes = self._session.read(lambda reader: _changes(reader, refs, places[0])) if len(places) == 1 else []
        for note in self._session.read(lambda reader: _notes(reader, refs, places[0], changes)):
            self._session.say(note)
        return BisectView(
            refs[0].thread_id,
            refs[0].ns,
            expression,
            refs[bisection.good].checkpoint_id,
            steps,
            changes,
            len(refs),
            list(self._tested.values()),
            contrary,
            end.command,
        )

    def _report(self, bisection: Bisection, *, is_asking: bool) -> None:
        """Say how much is left: above the next question, or in the line of progress."""
        more = "1 more test" if bisection.steps_left == 1 else f"{bisection.steps_left} more tests"
        remaining = f"{bisection.left:,} left, about {more}"
        if not is_asking:
            self._session.progress(f"bisect: {len(self._tested)} tested, {remaining}")
        elif bisection.left:
            self._session.say(remaining)

    def _test_ends(self) -> None:
        """Test both ends.

        Raises:
            UsageError: an end isn't what it is said to be.
        """
        line, last = self._line, len(self._line.refs) - 1
        verdicts = [self._verdict(0), self._verdict(last)]
        if self._where is not None:
            self._where.must_have_worked()
            if complaint := self._where.complaint:
                hint = f"`{show_command(line.refs[-1], line.bad)}` lists the channels"
                raise UsageError(complaint, hint=hint)
        if verdicts == [Verdict.BAD, Verdict.GOOD]:
            hint = "turn the test round, as in --where 'not (…)'"
            raise UsageError(f"the test says that {line.good} is bad and {line.bad} is good", hint=hint)
        for verdict, wanted, short, why in (
            (verdicts[0], Verdict.GOOD, line.good, "name an older checkpoint that is good"),
            (verdicts[1], Verdict.BAD, line.bad, "name a checkpoint that is bad"),
        ):
            if verdict is not wanted:
                said = "can't test it" if verdict is Verdict.SKIP else f"says that it is {verdict}"
                raise UsageError(f"{short} should be {wanted}, and the test {said}", hint=why)

    def _verdict(self, place: int) -> Verdict:
        if place not in self._tested:
            ref = self._line.refs[place]
            answer = self._test(ref)
            self._tested[place] = self._session.read(lambda reader: self._tested_view(reader, ref, answer))
        return Verdict(self._tested[place].verdict)

    def _tested_view(self, reader: Reader, ref: Ref, answer: Answer) -> Tested:
        checkpoint_id = ref.checkpoint_id
        step = self._lines.notes([checkpoint_id])[checkpoint_id].step
        short = reader.short(ref.thread_id)(checkpoint_id)
        return Tested(checkpoint_id, short, step, str(answer.verdict), answer.exit_code, answer.why)

    def _contrary(self, bisection: Bisection) -> Iterator[Tested]:
        """The tests at doubling distances from the result that contradict it."""
        for place in list(doubling(bisection.bad, len(self._line.refs) - 1)):
            wanted = Verdict.GOOD if place < bisection.bad else Verdict.BAD
            if self._verdict(place) not in (wanted, Verdict.SKIP):
                yield self._tested[place]

    def _views(self, checkpoint_ids: Sequence[str]) -> list[StepView]:
        return list(self._lines.views(checkpoint_ids))


def _changes(reader: Reader, refs: Sequence[Ref], place: int) -> list[Difference]:
    """How the state of a checkpoint differs from that of its parent; [] if one of them can't be read."""
    try:
        before, after = (Inspection(reader, ref).values() for ref in refs[place - 1 : place + 1])
    except PayloadCorrupt:
        return []
    return differences(before, after)


def _notes(reader: Reader, refs: Sequence[Ref], place: int, changes: Sequence[Difference]) -> list[str]:
    """Which of the values in the changes aren't proven, before or after."""
    channels = {str(parse(one.path)[0]) for one in changes if one.path}
    both = refs[place - 1 : place + 1] if channels else []
    return [note for ref in both for note in rebuilt_notes(reader, ref, channels)]


def show_command(ref: Ref, short: str) -> str:
    """The command that shows a checkpoint."""
    return command("ckpt show", ref.thread_id, short, options=ns_option(ref.ns))
