"""Matches tool calls with their results, and finds faults: unanswered, answered twice, out of order.

Ids can repeat in a list (some servers number the calls of each answer from 0), so a result belongs to the nearest call
before it that has no result yet.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from ckpt_cli.history.messages.tool_calls import Call, Turn, read_turns


class Kind(StrEnum):
    """What is wrong with the calls of a message, or with a result."""

    UNANSWERED = "unanswered"
    PARTLY = "partly answered"
    TWICE = "answered twice"
    MISPLACED = "out of order"
    UNASKED = "not asked for"


class Fault(NamedTuple):
    """A part of a list that a model's API refuses.

    Attributes:
        position: of the message with the calls, or of the result if nothing asked for it.
        calls: the calls that it is about; for a result that wasn't asked for, the call that is missing.
        rule: the API whose rule says so.
        is_last: whether only results follow, so that the next step may still answer; never if all have results.
    """

    kind: Kind
    position: int
    calls: tuple[Call, ...]
    rule: str
    is_last: bool = False


class Place(NamedTuple):
    """Where a result is: the position of its message, and its number among the results there."""

    position: int
    number: int


class Matching:
    """The calls of a list and the results that belong to them.

    Attributes:
        turns: the messages.
        waiting: position of a calling message to its calls without a result.
        misplaced: position of a calling message to its results that are not right behind it, in their order.
        twice: the further results of a call, each with the position of the calling message.
        unasked: results of no call.
    """

    def __init__(self, turns: list[Turn]) -> None:
        self.turns = turns
        self.misplaced: dict[int, list[Place]] = {}
        self.twice: list[tuple[Place, int]] = []
        self.unasked: list[Place] = []
        self._callers = [at for at, turn in enumerate(turns) if turn.calls]
        self._asking: dict[str, list[int]] = {}  # key to the ascending positions of its calls
        for at in self._callers:
            for call in turns[at].calls:
                self._asking.setdefault(call.key, []).append(at)
        self._open = {key: list(positions) for key, positions in self._asking.items()}
        self._answered = Counter[tuple[int, str]]()
        for place in self._match_behind():
            self._match_elsewhere(place)
        self.waiting = {at: self._without_answered(at) for at in self._callers}

    def _key(self, place: Place) -> str:
        return self.turns[place.position].results[place.number]

    def _match_behind(self) -> list[Place]:
        """Match the results right behind their calls; the others are left."""
        caller: int | None = None
        left = []
        for at, turn in enumerate(self.turns):
            for number, key in enumerate(turn.results):
                if caller is None or turn.rest_first or not self._take(caller, key):
                    left.append(Place(at, number))
            if turn.calls:
                caller = at
            elif turn.has_rest:
                caller = None
        return left

    def _match_elsewhere(self, place: Place) -> None:
        """Match a result with the nearest call without one: before it, then behind it; else it is one too many."""
        at, key = place.position, self._key(place)
        one = _nearest(self._open.get(key, ()), at)
        if one is not None:
            self._take(one, key)
            if one > at or not self.turns[one].rule.anywhere or self.turns[at].rest_first:
                self.misplaced.setdefault(one, []).append(place)
            return
        named = _nearest(self._asking.get(key, ()), at)
        if named is None:
            self.unasked.append(place)
        else:
            self.twice.append((place, named))

    def _take(self, caller: int, key: str) -> bool:
        """Count a call as answered, if one with this key isn't."""
        positions = self._open.get(key, [])
        index = bisect_left(positions, caller)
        if index == len(positions) or positions[index] != caller:
            return False
        del positions[index]
        self._answered[caller, key] += 1
        return True

    def _without_answered(self, caller: int) -> list[Call]:
        """The calls of a message without a result; of several with the same key, the first ones are answered."""
        seen, left = Counter[str](), []
        for call in self.turns[caller].calls:
            seen[call.key] += 1
            if seen[call.key] > self._answered[caller, call.key]:
                left.append(call)
        return left

    def faults(self) -> list[Fault]:
        """What is wrong, in the order of the list."""
        return sorted(self._all(), key=lambda fault: fault.position)

    def _all(self) -> Iterator[Fault]:
        last = max((at for at, turn in enumerate(self.turns) if not _only_results(turn)), default=-1)
        for at, calls in self.waiting.items():
            if calls:
                kind = Kind.PARTLY if len(calls) < len(self.turns[at].calls) else Kind.UNANSWERED
                yield self._fault(kind, at, calls, last)
        for at, places in self.misplaced.items():
            yield self._fault(Kind.MISPLACED, at, self._calls(at, map(self._key, places)), last)
        twice: dict[int, list[str]] = {}
        for place, caller in self.twice:
            twice.setdefault(caller, []).append(self._key(place))
        for at, keys in twice.items():
            yield self._fault(Kind.TWICE, at, self._calls(at, keys), last)._replace(is_last=False)
        for place in self.unasked:
            key = self._key(place)
            call = Call(None, key[1:]) if key.startswith("\0") else Call(key, str(_name(self.turns[place.position])))
            yield self._fault(Kind.UNASKED, place.position, [call], last)._replace(rule=self._rule_near(place.position))

    def _rule_near(self, at: int) -> str:
        """The rule of the nearest calls before a position, else of any in the list."""
        caller = _nearest(self._callers, at)
        return self.turns[at if caller is None else caller].rule.name

    def _calls(self, at: int, keys: Iterable[str]) -> list[Call]:
        by_key = {call.key: call for call in reversed(self.turns[at].calls)}
        return [by_key[key] for key in dict.fromkeys(keys)]

    def _fault(self, kind: Kind, at: int, calls: Iterable[Call], last: int) -> Fault:
        return Fault(kind, at, tuple(calls), self.turns[at].rule.name, at == last)


def match_calls(value: Any) -> Matching | None:
    """The matching of a list of messages; None if the value is none, or has neither calls nor results."""
    turns = read_turns(value)
    return None if turns is None else Matching(turns)


def _nearest(positions: Sequence[int], at: int) -> int | None:
    """Of ascending positions the last one before another, else the first one behind it; None if there is neither."""
    before, behind = bisect_left(positions, at), bisect_right(positions, at)
    if before:
        return positions[before - 1]
    return positions[behind] if behind < len(positions) else None


def _only_results(turn: Turn) -> bool:
    return bool(turn.results) and not turn.has_rest


def _name(turn: Turn) -> Any:
    return turn.fields.get("name") or ""
