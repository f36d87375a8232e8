"""Learns a channel's reducer from recorded steps, one at a time; suspect steps; steps of several threads.

Its memory doesn't grow with the history.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ckpt_cli.history.reducers.agreement import is_empty
from ckpt_cli.history.reducers.cases import add_kept, add_met, cases, empty_cases
from ckpt_cli.history.reducers.explaining import BITS, explaining_bits, is_plain, reducers_of
from ckpt_cli.history.reducers.forged_values import TrueValues, is_put_there
from ckpt_cli.history.reducers.message_merging import Merging
from ckpt_cli.history.reducers.oddities import Oddity, Usual, oddity
from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    ANY,
    APPEND,
    COLLECT,
    GATHER,
    LAST,
    MAX,
    MIN,
    REDUCERS,
    ChannelStep,
    Evidence,
    Reducer,
    are_whole,
)
from ckpt_cli.history.reducers.seen_order import SeenOrder
from ckpt_cli.values.write_forms import is_as_written

ENOUGH = 8
"""A single step that a reducer doesn't explain is suspect if it explains this many that another one doesn't (each)."""

_SOME = 4
"""So many are enough if other threads count, and the reducer explains twice `ENOUGH` steps of all of them."""

FEW = 2
"""A reducer is named as nearly known if it explains this many times as many steps as it doesn't."""


@dataclass(slots=True)
class Tally:
    """The number of a channel's steps that each reducer explains.

    Attributes:
        steps: the number of steps with writes.
        faded: whether a step without writes emptied the channel.
        kept: whether a step without writes left the channel as it was.
        leaves_list: whether what such a step left was an empty list, as a topic does.
        moved: the number of steps without writes that gave the channel a new version and didn't empty it.
        threads: the number of threads whose tallies were added up; 0 for the steps of one thread alone.
        met: the cases in which steps were that a reducer explains; see `cases`.
        begins: the types of 0 with which a sum begins, as the first whole numbers show that were written.
        went_on: whether the last step with writes went on from another value than is recorded before it.
    """

    steps: int = 0
    faded: bool = False
    kept: bool = False
    leaves_list: bool = False
    moved: int = 0
    threads: int = 0
    met: set[str] = field(default_factory=set)
    begins: set[type] = field(default_factory=set)
    went_on: bool = False
    _counts: Counter[int] = field(default_factory=Counter)  # by the reducers that explain a step, a bit for each
    _first: Counter[int] = field(default_factory=Counter)  # the same, of the steps before which it held nothing
    _merging: Merging = field(default_factory=Merging)
    _holding: int = (1 << len(REDUCERS)) - 1  # the bits of the reducers that explain all steps so far
    _true: TrueValues = field(default_factory=TrueValues)
    _usual: Usual = field(default_factory=Usual)
    _odd: dict[int, Oddity] = field(default_factory=dict)  # by the reducer's place: the first step it doesn't explain
    _order: SeenOrder = field(default_factory=SeenOrder)
    _forged: int = 0  # the bits of the reducers of which the next step went on from what they made of that step

    def explaining(self, step: ChannelStep) -> int:
        """The bits of the reducers that explain a step with writes, whether or not it is added."""
        return explaining_bits(step, self._merging)

    def add(self, step: ChannelStep) -> int:
        """Add one more step; gives the bits of the reducers that explain it, 0 for a step without writes.

        A step that goes on from the value that a reducer made of the step before, where another one is recorded, is
        explained by it: only the step before is not. So is a step that goes on from the value before one that was put
        there without a write.
        """
        if step.writes or step.command:
            self.steps += 1
            own = self.explaining(step)
            explaining = own | self._true.explain(step)
            self.went_on = explaining != own
            goes_on = any(own >> place & 1 for place in self._true.made)  # from what is recorded, as another one may
            self._forged |= 0 if goes_on or self._true.is_before else explaining & ~own
            self._counts[explaining] += 1
            if step.before is ABSENT:
                self._first[explaining] += 1
            failed, self._holding = self._holding & ~explaining, self._holding & explaining
            self._true.keep(step, [place for place in range(len(REDUCERS)) if failed >> place & 1] if failed else ())
            self._usual.add(step)
            for place, value in self._true.made.items():
                self._odd[place] = oddity(step, value)
            plain = is_plain(step)
            as_written = plain and explaining & BITS[LAST.name] > 0
            self._order.add(step, by_extreme=explaining & _EXTREMES > 0, as_written=as_written)
            if explaining & BITS[LAST.name]:
                add_kept(self.met, step.before, step.after)
            if plain:
                fitting = reducers_of(explaining)
                add_met(self.met, cases(fitting, step.before, step.writes, proving=True))
                add_met(self.met, empty_cases(fitting, step.before, step.writes))
                if step.before is ABSENT and are_whole(step.writes) and type(step.after) in (int, float):
                    self.begins.add(type(step.after))
            return explaining
        if is_put_there(step):
            self._true.keep_before(step, [place for place in range(len(REDUCERS)) if self._holding >> place & 1])
        self.moved += step.moved and not is_empty(step.after)
        if step.before is not ABSENT and step.before != []:
            if is_empty(step.after):
                self.faded = True
                self.leaves_list |= step.after == []
            elif not self.kept:
                self.kept = is_as_written(step.before, step.after)
        return 0

    def may_add_partial(self, step: ChannelStep) -> bool:
        """Whether to add a step of which some writes may not be stored: not if it would speak against a reducer."""
        if step.writes or step.command:
            return (self.explaining(step) | self._true.explain(step)) & self._holding > 0
        return not is_empty(step.after) and not is_put_there(step)

    @property
    def candidates(self) -> list[Evidence]:
        """The reducers that explain all steps, the most specific first; [] if nothing was recorded.

        If no step emptied the channel, a reducer that would is only a candidate if no other reducer explains the steps.
        """
        explaining = [reducer for place, reducer in enumerate(REDUCERS) if self._explained(place) == self.steps]
        alive = [reducer for reducer in explaining if LAST not in explaining or self._is_likely(reducer)]
        lasting = [] if self.faded else [reducer for reducer in alive if not reducer.fades]
        fitting = lasting or [reducer for reducer in alive if reducer.fades and not self.kept]
        shown = frozenset(self.begins), frozenset(self._order.taken)
        return [Evidence(r, self.steps, self.steps, self.threads, (), *shown) for r in fitting] if self.steps else []

    @property
    def keeps_last(self) -> bool:
        """Whether each value is the last that its step wrote: so the reducer may keep the last of several writes."""
        return self._explained(REDUCERS.index(ANY)) == self.steps

    @property
    def may_extend(self) -> bool:
        """Whether a Topic that accumulates, or code that extends a list in place, may have made all steps so far."""
        return self._holding & _EXTENDING > 0

    def _is_likely(self, reducer: Reducer) -> bool:
        return reducer not in (MAX, MIN) or self._order.is_likely(least=reducer is MIN)

    @property
    def fades(self) -> bool | None:
        """Whether a step without writes empties the channel; None if no step shows it."""
        if self.faded or self.kept:
            return None if self.faded and self.kept else self.faded
        is_open = any(reducer.fades and self._explained(at) == self.steps for at, reducer in enumerate(REDUCERS))
        return None if is_open else False

    @property
    def suspected(self) -> list[Evidence]:
        """Reducers that explain all steps but one, and at least `ENOUGH` steps that another reducer doesn't, for each.

        Reducers that fail at this one step alone count together here. This proves nothing: an honest reducer that ckpt
        doesn't know may do the same as a known one in all steps but one.
        """
        nearly = [place for place in range(len(REDUCERS)) if self.steps and self._explained(place) == self.steps - 1]
        strong = [place for place in nearly if self._is_enough(place, nearly) and not self._is_excused(place)]
        return [Evidence(REDUCERS[place], self.steps - 1, self.steps, self.threads) for place in strong]

    def _is_enough(self, place: int, nearly: Iterable[int]) -> bool:
        """Whether the steps that a reducer explains make suspect the one that it doesn't.

        What is written to an empty channel is taken as it is by most reducers, so it shows no reducer. It does show
        what the first write of a thread becomes: if the odd step is one, those of other threads are enough.
        """
        alone = self._alone(place, nearly)
        if alone >= ENOUGH or not self.threads:
            return alone >= ENOUGH
        first = sum(count for explaining, count in self._first.items() if explaining >> place & 1)
        if first < self._first.total():
            return first >= ENOUGH
        return alone >= _SOME and self.steps > 2 * ENOUGH

    def _is_excused(self, place: int) -> bool:
        """Whether the step that a reducer doesn't explain may well be honest; a value that no next step saw isn't."""
        odd = self._odd.get(place)
        return not self._forged >> place & 1 and (odd is None or self.excuses(odd))

    @property
    def most(self) -> int:
        """The number of steps that the reducer explains which explains most."""
        return max(map(self._explained, range(len(REDUCERS))))

    @property
    def lacks_one(self) -> bool:
        """Whether the reducer that explains most steps explains all but one: then other threads may make it suspect."""
        return self.steps > 0 and self.most == self.steps - 1

    @property
    def nearest(self) -> Evidence | None:
        """The reducer that explains most steps, where all but a few are explained; it proves nothing about the others.

        Its equals fail at the same steps. None if it explains fewer than `FEW` as many steps as it doesn't.
        """
        counts = [self._explained(place) for place in range(len(REDUCERS))]
        best, most = counts.index(max(counts)), max(counts)
        if most < FEW * max(1, self.steps - most):
            return None
        equals = [
            reducer
            for place, reducer in enumerate(REDUCERS)
            if place != best and not any((mask >> place ^ mask >> best) & 1 for mask in self._counts)
        ]
        return Evidence(REDUCERS[best], most, self.steps, self.threads, tuple(equals))

    def shows_kinds_of(self, step: ChannelStep) -> bool:
        """Whether steps had writes that are empty, null or negative as this one's, which a reducer may treat apart."""
        return self._usual.shows_kinds_of(step)

    def excuses(self, odd: Oddity | None) -> bool:
        """Whether a reducer that ckpt doesn't know may well have made the value of an odd step."""
        return odd is not None and self._usual.excuses(odd)

    @property
    def is_strong(self) -> bool:
        """Whether the candidates explain at least `ENOUGH` steps that another reducer doesn't, for each other one."""
        alive = [place for place in range(len(REDUCERS)) if self._explained(place) == self.steps]
        return bool(alive) and self._alone(alive[0], alive) >= ENOUGH

    def _explained(self, place: int) -> int:
        return sum(count for explaining, count in self._counts.items() if explaining >> place & 1)

    def _alone(self, place: int, equals: Iterable[int]) -> int:
        """The fewest steps that this reducer explains and another one doesn't.

        Those of `equals` that fail wherever this one fails are no others.
        """
        failed = [explaining for explaining in self._counts if not explaining >> place & 1]
        together = {at for at in equals if not any(explaining >> at & 1 for explaining in failed)}
        others = (at for at in range(len(REDUCERS)) if at not in together)
        own = [(mask, n) for mask, n in self._counts.items() if mask >> place & 1]
        return min((sum(n for mask, n in own if not mask >> at & 1) for at in others), default=self._explained(place))


_EXTREMES = BITS[MAX.name] | BITS[MIN.name]
_EXTENDING = BITS[APPEND.name] | BITS[COLLECT.name] | BITS[GATHER.name]


def add_up(tallies: Iterable[Tally]) -> Tally:
    """The steps of several threads of one graph as one `Tally`; one step that a reducer doesn't explain excludes it."""
    total = Tally()
    for tally in tallies:
        total.steps += tally.steps
        total.threads += bool(tally.steps)
        total.faded |= tally.faded
        total.kept |= tally.kept
        total.leaves_list |= tally.leaves_list
        total.met |= tally.met
        total.begins |= tally.begins
        total.moved += tally.moved
        total._counts.update(tally._counts)
        total._first.update(tally._first)
        total._usual.add_all(tally._usual)
        total._odd.update(tally._odd)
        total._order.add_all(tally._order)
        total._forged |= tally._forged
    return total
