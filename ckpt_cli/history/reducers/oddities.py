"""Whether a step that a reducer alone doesn't explain may be honest, or has a value from nowhere.

Reducers that people write do what a known one does until a rare value comes: a duplicate, a null, a limit. What they
make then is mostly made of parts of what was there, or nothing; or the write has a kind that no other step had. A
value that was put into a database is neither.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from ckpt_cli.history.reducers.compositions import is_composed
from ckpt_cli.history.reducers.reducer import ABSENT, ChannelStep
from ckpt_cli.values.node import Node

_FAMILIAR = 3  # so many steps have a trait, the odd one among them, if it is nothing rare
_LOOKED_AT = 50  # elements of a write whose kinds are looked at


class Oddity(NamedTuple):
    """A step that a reducer doesn't explain, which explained all steps before.

    Attributes:
        made: what the reducer makes of it, as a size: a number itself, the length of a list or text; None if neither.
        stored: the same of the recorded value.
        composed: whether the recorded value has only parts of the values before it.
        keeps_end: whether it begins or ends as what the reducer makes.
        traits: see `traits_of`.
    """

    made: float | None
    stored: float | None
    is_number: bool
    composed: bool
    keeps_end: bool
    traits: frozenset[str]


@dataclass(slots=True)
class Usual:
    """What is usual in a channel's steps: sizes of the recorded values, traits of the writes.

    Attributes:
        lowest: the smallest size of a recorded value; None if none has a size.
        highest: the largest.
    """

    lowest: float | None = None
    highest: float | None = None
    traits: Counter[str] = field(default_factory=Counter)

    def add(self, step: ChannelStep) -> None:
        """Count one more step."""
        self.traits.update(traits_of(step))
        self._widen(size_of(step.after))

    def add_all(self, other: "Usual") -> None:
        """Count the steps of another thread."""
        self.traits.update(other.traits)
        self._widen(other.lowest)
        self._widen(other.highest)

    def _widen(self, size: float | None) -> None:
        if size is not None:
            self.lowest = size if self.lowest is None else min(self.lowest, size)
            self.highest = size if self.highest is None else max(self.highest, size)

    def excuses(self, odd: Oddity) -> bool:
        """Whether a reducer that ckpt doesn't know may well have made the odd step's value."""
        return odd.composed or any(self.traits[one] < _FAMILIAR for one in odd.traits) or self._is_bounded(odd)

    def _is_bounded(self, odd: Oddity) -> bool:
        """Whether the value is a limit of the channel's values, or what is left where they would go beyond one."""
        made, stored, lowest, highest = odd.made, odd.stored, self.lowest, self.highest
        if made is None or stored is None or lowest is None or highest is None:
            return False
        if not odd.is_number:
            return odd.keeps_end and stored < made and made > highest
        is_limit = (stored == highest < made) or (made < lowest == stored)
        return is_limit or (stored >= 0 and made - stored > highest)

    def shows_kinds_of(self, step: ChannelStep) -> bool:
        """Whether steps wrote empty, null or negative values, or elements, where this step does."""
        new = traits_of(step) - self.traits.keys()
        written = (one for one in new if not one.startswith(("on ", "again on ")))
        return not any("empty " in one or "negative " in one for one in written)


def oddity(step: ChannelStep, made: Any) -> Oddity:
    """What is odd in a step of which a reducer makes something else than is recorded; ABSENT if that isn't known."""
    parts = [part for part in (step.before, *step.command, *step.writes) if part is not ABSENT]
    composed = is_composed(step.after, parts) or (made is not ABSENT and is_composed(step.after, [made]))
    sizes = (None, None) if made is ABSENT else (size_of(made), size_of(step.after))
    return Oddity(*sizes, _is_number(step.after), composed, _keeps_end(made, step.after), traits_of(step))


def size_of(value: Any) -> float | None:
    """A number itself, the length of a list or text; None for other values."""
    if isinstance(value, list | str):
        return len(value)
    return value if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _keeps_end(made: Any, stored: Any) -> bool:
    if type(made) is not type(stored) or not isinstance(made, list | str) or not made or not stored:
        return False
    some = 1 if isinstance(made, list) else (len(stored) + 1) // 2
    return bool(made[:some] == stored[:some] or made[-some:] == stored[-some:])


def traits_of(step: ChannelStep) -> frozenset[str]:
    """The kinds of what was there and is written, under keys that come again, and whether a number falls.

    A reducer may do something else then.
    """
    old, writes = step.before, [*step.command, *step.writes]
    traits = {f"on {_kind(old)}", "several" if len(writes) > 1 else "one"}
    for write in writes:
        traits.add(_kind(write))
        traits.update(f"with {_kind(part)}" for part in islice(_parts(write), _LOOKED_AT))
    traits.update(f"again on {_kind(value)}" for value in islice(_written_again(old, writes), _LOOKED_AT))
    if _is_number(old) and _is_number(writes[-1]):
        traits.add("falling" if writes[-1] < old else "rising" if writes[-1] > old else "the same")
    return frozenset(traits)


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _written_again(old: Any, writes: Iterable[Any]) -> Iterable[Any]:
    """The values under whose keys a step writes once more, of the dict before it and of its own earlier writes."""
    known, newer = old if isinstance(old, dict) else {}, dict[Any, Any]()
    for write in writes:
        if isinstance(write, dict):
            yield from (layer[key] for key in write for layer in (newer, known) if key in layer)
            newer.update(write)


def _kind(value: Any) -> str:
    if value is ABSENT or isinstance(value, Node):
        return "nothing" if value is ABSENT else "object"  # what it is of isn't decoded for this
    sign = "empty " if not value else "negative " if _is_number(value) and value < 0 else ""
    return sign + type(value).__name__
