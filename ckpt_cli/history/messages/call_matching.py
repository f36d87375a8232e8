"""Matches tool calls with their results, and finds faults: unanswered, answered twice, out of order.

Ids can repeat in a list (some servers number the calls of each answer from 0), so a result belongs to the nearest call
before it that has no result yet.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
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
        is_last: whether only results follow, so that the next step may still answer.
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
        self.waiting = {at: list(turn.calls) for at, turn in enumerate(turns) if turn.calls}
        self.misplaced: dict[int, list[Place]] = {}
        self.twice: list[tuple[Place, int]] = []
        self.unasked: list[Place] = []
        for place, caller in list(self._placed()):
            self._match_elsewhere(place, self._key(place), caller)

    def _key(self, place: Place) -> str:
        return self.turns[place.position].results[place.number]

    def _placed(self) -> Iterator[tuple[Place, int | None]]:
        """Match the results right behind their calls; the others, each with the calling message before it."""
        caller: int | None = None
        left = []
        for at, turn in enumerate(self.turns):
            for number, key in enumerate(turn.results):
                place = Place(at, number)
                if caller is None or turn.rest_first or not self._take(caller, key):
                    left.append((place, caller))
            if turn.calls:
                caller = at
            elif turn.has_rest:
                caller = None
        return iter(left)

    def _match_elsewhere(self, place: Place, key: str, caller: int | None) -> None:
        """Match a result with the nearest call without one: before it, then behind it; else it is one too many."""
        at = place.position
        behind = sorted(one for one in self.waiting if one > at)
        for one in (*self._before(at), *behind):
            if self._take(one, key):
                if one > at or not self.turns[one].rule.anywhere or self.turns[at].rest_first:
                    self.misplaced.setdefault(one, []).append(place)
                return
        named = [one for one in (caller, *self._before(at), *behind) if one is not None and self._asks(one, key)]
        if named:
            self.twice.append((place, named[0]))
        else:
            self.unasked.append(place)

    def _before(self, at: int) -> list[int]:
        return sorted((one for one in self.waiting if one < at), reverse=True)

    def _asks(self, caller: int, key: str) -> bool:
        return any(call.key == key for call in self.turns[caller].calls)

    def _take(self, caller: int, key: str) -> bool:
        """Count a call as answered, if one with this key isn't."""
        calls = self.waiting[caller]
        for number, call in enumerate(calls):
            if call.key == key:
                del calls[number]
                return True
        return False

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
            yield self._fault(Kind.MISPLACED, at, self._calls(at, [self._key(place) for place in places]), last)
        for at, count in Counter(caller for _, caller in self.twice).items():
            keys = [self._key(place) for place, caller in self.twice if caller == at]
            yield self._fault(Kind.TWICE, at, self._calls(at, keys)[:count], last)
        for place in self.unasked:
            key = self._key(place)
            call = Call(None, key[1:]) if key.startswith("\0") else Call(key, str(_name(self.turns[place.position])))
            yield self._fault(Kind.UNASKED, place.position, [call], last)._replace(rule=self._rule_near(place.position))

    def _rule_near(self, at: int) -> str:
        """The rule of the nearest calls before a position, else of any in the list."""
        callers = [*self._before(at), *self.waiting]
        return self.turns[callers[0] if callers else at].rule.name

    def _calls(self, at: int, keys: list[str]) -> list[Call]:
        return [next(call for call in self.turns[at].calls if call.key == key) for key in dict.fromkeys(keys)]

    def _fault(self, kind: Kind, at: int, calls: Iterable[Call], last: int) -> Fault:
        return Fault(kind, at, tuple(calls), self.turns[at].rule.name, at == last)


def match_calls(value: Any) -> Matching | None:
    """The matching of a list of messages; None if the value is none, or has neither calls nor results."""
    turns = read_turns(value)
    return None if turns is None else Matching(turns)


def _only_results(turn: Turn) -> bool:
    return bool(turn.results) and not turn.has_rest


def _name(turn: Turn) -> Any:
    return turn.fields.get("name") or ""
