"""`VerifiedSteps`: what the steps of one graph show, each read once; the verdicts, at the end.

A verdict may need a reducer that only later steps show. So what each step shows is counted by its kind, and the kinds
are few, however long the history.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard

from ckpt_cli.history.integrity.faults import Fault, Kind, explaining
from ckpt_cli.history.reducers.agreement import explains
from ckpt_cli.history.reducers.channel_facts import (
    Change,
    ChannelFacts,
    channel_facts,
    channel_step,
    unreadable,
    untouched,
)
from ckpt_cli.history.reducers.explaining import BITS
from ckpt_cli.history.reducers.known_reducers import Reducers
from ckpt_cli.history.reducers.names import NamedReducers
from ckpt_cli.history.reducers.possible_writes import ALL, fits_in_other_orders, fits_without_sends
from ckpt_cli.history.reducers.reducers import ABSENT, REDUCERS, ChannelStep
from ckpt_cli.history.reducers.step_verdicts import finding, stayed_full, worst
from ckpt_cli.history.reducers.verdict import Verdict
from ckpt_cli.model import Ref
from ckpt_cli.queries.step_doubts import UNORDERED
from ckpt_cli.queries.walked_step import WalkedStep
from ckpt_cli.values.same import same

_KEPT = 10  # checkpoints of each finding that are listed

_KINDS = {
    Change.WRITTEN: Kind.VALUE,
    Change.MOVED: Kind.CHANGED_UNWRITTEN,
    Change.BUMPED: Kind.VERSION_UNWRITTEN,
    Change.IN_PLACE: Kind.CHANGED_UNVERSIONED,
    Change.GREW: Kind.CHANGED_UNVERSIONED,
    Change.ASKED: Kind.CHANGED_UNVERSIONED,
    Change.EARLY: Kind.CHANGED_UNVERSIONED,
    Change.PERHAPS_EARLY: Kind.NOT_COMPARED,
    Change.UNVERSIONED: Kind.CHANGED_UNVERSIONED,
    Change.STORED_WHOLE: Kind.NOT_COMPARED,
    Change.CAME_BACK: Kind.CHANGED_UNVERSIONED,
    Change.LEFT_OUT: Kind.CHANGED_UNVERSIONED,
}
_CAUSES = {
    Kind.BLOB_GONE: "; no value is stored for its version",
    Kind.BLOB_SHARED: "; another branch made the same version of it, and one value is stored for both",
}
_OUTER = "; the outer graph has a channel of this name, and its reducer may be another one"


class _Shown(NamedTuple):
    """What a step shows of one channel.

    Attributes:
        doubt: why the writes may not explain the value; "" if there is no reason.
        otherwise: the bits of the reducers that explain the value if the tasks' writes are applied in another order.
        without: why tasks of Sends may have been left out, each with the bits of the reducers that explain it then.
        is_unreadable: whether a part of the values can't be decoded.
        cause: the kind of a fault in how the value is stored, which explains that it is another one.
        is_said: whether a fault of its own says so.
    """

    channel: str
    facts: ChannelFacts
    doubt: str
    otherwise: int = 0
    without: tuple[tuple[str, int], ...] = ()
    is_unreadable: bool = False
    cause: Kind | None = None
    is_said: bool = False


class _Part(NamedTuple):
    """One channel's part of a step, with the doubt and the cause of `_Shown`.

    Attributes:
        tasks: the writes of each task, if the order of the tasks isn't recorded.
        without: `WalkedStep.without_sends`.
    """

    channel: str
    step: ChannelStep
    doubt: str
    cause: Kind | None
    tasks: Sequence[Mapping[str, list[Any]]]
    without: Sequence[tuple[str, Mapping[str, list[Any]]]] = ()


class Place(NamedTuple):
    """A checkpoint and its step."""

    ref: Ref
    step: int | None


@dataclass
class Places:
    """Where something was found: how often, and the first checkpoints."""

    count: int = 0
    first: list[Place] = field(default_factory=list)

    def add(self, place: Place) -> None:
        """Add one more checkpoint."""
        self.count += 1
        if len(self.first) < _KEPT:
            self.first.append(place)


class VerifiedSteps:
    """The steps of one graph: of a thread's root namespace, or of all calls of one subgraph."""

    def __init__(self, named: NamedReducers, *, outlasting: bool) -> None:
        self.reducers = Reducers(named.reducers, named.remembered, outlasting=outlasting)
        self._places: dict[_Shown | Fault, Places] = {}
        self._held: set[str] = set()  # the channels of which some checkpoint stores a value
        self._steps: Counter[frozenset[_Shown | Fault]] = Counter()
        self.of_outer: Collection[str] = ()  # the channels of the outer graph, which a person may have meant

    def add(self, step: WalkedStep, faults: Iterable[Fault], shared: Collection[str] = ()) -> None:
        """Add a step with the faults of its checkpoint, and the channels whose value another branch stored first.

        A checkpoint whose body or parent is another one's shows nothing else: all that is odd follows from that.
        """
        found = [*faults]
        said = {fault.channel for fault in found if fault.kind is Kind.BLOB_GONE}
        parts = (one._replace(is_said=True) if _is_gone(one, said) else one for one in self._shown(step, shared))
        shown: list[_Shown | Fault] = [*explaining(found)] or [*found, *parts]
        self._held.update(step.after or ())
        place = Place(step.ref, step.state.step if step.state else None)
        for one in shown:
            self._places.setdefault(one, Places()).add(place)
        self._steps[frozenset(shown)] += 1

    def add_fault(self, fault: Fault, place: Place) -> None:
        """Add a fault that belongs to no step."""
        self._places.setdefault(fault, Places()).add(place)

    def _shown(self, step: WalkedStep, shared: Collection[str]) -> Iterator[_Shown | Fault]:
        if step.before is None or step.after is None:
            yield Fault(Kind.NOT_COMPARED, Verdict.UNKNOWN, "", step.doubt)
            return
        step = step.without_topics(self.reducers.no_topics(step.unproved))
        written = {} if step.state is not None and step.state.source == "input" else step.written
        unordered, by_command, moved, kept = step.in_unknown_order, step.by_command, step.moved, step.kept
        fits: Mapping[str, int] = {}
        if step.by_run or step.partial:
            hidden, is_part = step.showing_nothing, step.partial
            fits = self.reducers.learn(step.began, step.made, written, hidden, by_command, moved, partial=is_part)
            self.reducers.learn_stretches({} if is_part else step.ended)
        doubt = step.doubt or step.task_doubt
        blobless = step.state.blobless if step.state is not None else frozenset()
        before, after, touched = step.began, step.made, {*written, *by_command, *moved}
        early = step.came_early
        yield from (_Shown(channel, ChannelFacts(how), doubt) for channel, how in early.items())
        channels, without = dict.fromkeys([*before, *after, *written, *by_command]), step.without_sends
        self.reducers.channels.update(channels)
        for channel in channels:
            if channel in self.reducers.named and step.by_run and channel in before and channel not in touched:
                yield from self._stayed_full(channel, before[channel], after.get(channel, ABSENT))
            is_same = channel not in touched and untouched(before.get(channel, ABSENT), after.get(channel, ABSENT))
            if is_same or channel in step.rebuilt or early.get(channel) is Change.PERHAPS_EARLY:
                continue
            if (stretch := step.ended.get(channel)) is not None:
                one = _Part(channel, stretch.last_part, stretch.doubt, None, [])
                yield from self._channel(one, None, is_counted=step.by_run)
                continue
            part = channel_step(channel, before, written, after, by_command, moved=moved, kept=kept)
            gone = part.moved and part.after is ABSENT and channel in blobless
            cause = Kind.BLOB_GONE if gone else Kind.BLOB_SHARED if channel in shared else None
            tasks = step.by_task if channel in unordered else []
            one = _Part(channel, part, doubt, cause, tasks, without)
            yield from self._channel(one, fits.get(channel), is_counted=channel in fits)

    def _stayed_full(self, channel: str, before: Any, after: Any) -> Iterator[Fault]:
        """A fault if a reducer that a person named would have emptied the channel, and it kept its value."""
        if (found := stayed_full(channel, after, self.reducers)) is not None and same(before, after):
            verdict, why = found
            outer = channel in self.of_outer
            yield Fault(Kind.VALUE, Verdict.SUSPECT if outer else verdict, channel, why + _OUTER * outer)

    def _channel(self, one: _Part, fits: int | None, *, is_counted: bool) -> Iterator[_Shown]:
        channel, part = one.channel, one.step
        learned = fits is not None
        if fits is None and (part.writes or part.command):
            fits = self._bits(channel, part)
        named = self.reducers.named.get(channel)
        if (facts := channel_facts(part, [] if named is None else [named], fits, learned=learned)) is None:
            return
        facts = facts if is_counted else facts._replace(counted=False)
        without = tuple(fits_without_sends(channel, part, one.without)) if one.without else ()
        if facts.fits and not one.tasks and one.cause is None:
            yield _Shown(channel, facts, one.doubt, without=without)
            return
        otherwise = fits_in_other_orders(channel, part, one.tasks) if one.tasks else 0
        values = (part.before, part.after, *part.writes, *part.command)
        yield _Shown(channel, facts, one.doubt, otherwise, without, any(map(unreadable, values)), one.cause)

    def _bits(self, channel: str, part: ChannelStep) -> int:
        """The bits of the reducers that explain a step from which nothing is learned."""
        tally = self.reducers.tallies.get(channel)
        if tally is not None:
            return tally.explaining(part)
        return sum(BITS[reducer.name] for reducer in REDUCERS if explains(reducer, part))

    def findings(self) -> list[tuple[Fault, Places]]:
        """What was found, and where; of steps that a nearly known reducer explains, `evidence` says enough."""
        found: dict[Fault, Places] = {}
        for one, places in self._places.items():
            if not self._is_usual(one) and (fault := self._judge(one)) is not None:
                total = found.setdefault(fault, Places())
                total.count += places.count
                total.first = sorted([*total.first, *places.first])[:_KEPT]
        return list(found.items())

    def verdicts(self) -> Counter[Verdict]:
        """The number of steps for each verdict."""
        counts: Counter[Verdict] = Counter()
        for shown, count in self._steps.items():
            faults = [fault for one in shown if (fault := self._judge(one)) is not None]
            counts[worst({fault.verdict for fault in faults if _counts(fault)})] += count
        return counts

    def channels(self) -> dict[str, Counter[Verdict]]:
        """Each channel that had writes or changed, or is a delta channel: the number of such steps by verdict."""
        counts: dict[str, Counter[Verdict]] = {channel: Counter() for channel in self.reducers.deltas}
        for one, places in self._places.items():
            if isinstance(one, Fault) and one.kind is Kind.VALUE:
                counts.setdefault(one.channel, Counter())[one.verdict] += places.count
            elif isinstance(one, _Shown) and one.facts.change not in (Change.BUMPED, Change.EARLY):
                fault = self._judge(one)
                verdict = Verdict.AGREES if fault is None else fault.verdict
                counts.setdefault(one.channel, Counter())[verdict] += places.count
        return counts

    def evidence(self, channel: str) -> str:
        """The reducer of a channel and the evidence in words; of one that is nearly known, the steps that don't fit."""
        words, near = self.reducers.evidence(channel), self.reducers.nearest(channel)
        if near is None:
            return words
        steps = set[int]()
        for one, places in self._places.items():
            if isinstance(one, _Shown) and one.channel == channel and one.facts.change is Change.WRITTEN:
                is_named = one.facts.counted and not one.facts.fits & BITS[near.reducer.name]
                steps.update(step for _, step in places.first if is_named and step is not None)
        if not steps:
            return words
        named = ", ".join(map(str, sorted(steps)[:_KEPT])) + (" …" if len(steps) > _KEPT else "")
        kind = "step" if len(steps) == 1 else "steps"
        unit = self.reducers.unit(channel)
        return f"{near.names} in {near.explained:,} of {near.steps:,} {unit}, not in {kind} {named}"

    def _is_usual(self, one: _Shown | Fault) -> bool:
        """Whether it is a step that the nearly known reducer of its channel explains."""
        if not isinstance(one, _Shown) or one.facts.change is not Change.WRITTEN or one.doubt or one.cause:
            return False
        near = self.reducers.nearest(one.channel)
        return near is not None and bool(one.facts.fits & BITS[near.reducer.name])

    def _judge(self, one: _Shown | Fault) -> Fault | None:
        if isinstance(one, Fault):
            needs_value = one.kind in (Kind.BLOB_GONE, Kind.VALUE_GONE)
            is_stored = one.channel in self._held and one.channel not in self.reducers.deltas
            return one if is_stored or not needs_value else None
        found = finding(one.channel, one.facts, self.reducers)
        if found is None or (one.is_said and one.channel in self._held and one.channel not in self.reducers.deltas):
            return None
        verdict, why = found
        if verdict is Verdict.DIFFERS and one.channel in self.reducers.named and one.channel in self.of_outer:
            verdict, why = Verdict.SUSPECT, why + _OUTER
        doubt = one.doubt or (UNORDERED if self._fits(one.channel, one.otherwise) else "")
        doubt = doubt or next((why for why, bits in one.without if self._fits(one.channel, bits)), "")
        if doubt:
            return Fault(Kind.NOT_COMPARED, Verdict.UNKNOWN, one.channel, doubt)
        kind, why = (one.cause, why + _CAUSES[one.cause]) if one.cause else (_KINDS[one.facts.change], why)
        return Fault(kind, Verdict.UNKNOWN if one.is_unreadable else verdict, one.channel, why)

    def _fits(self, channel: str, bits: int) -> bool:
        return bits == ALL or any(bits & BITS[reducer.name] for reducer in self.reducers.tried(channel))


def _is_gone(one: _Shown | Fault, said: Collection[str]) -> TypeGuard[_Shown]:
    return isinstance(one, _Shown) and one.cause is Kind.BLOB_GONE and one.channel in said


def _counts(fault: Fault) -> bool:
    """Whether a fault decides the verdict on its step: what is merely gone beside it doesn't."""
    kinds = (Kind.NOT_COMPARED, *_KINDS.values(), *_CAUSES)
    return fault.verdict is not Verdict.UNKNOWN or fault.kind in kinds
