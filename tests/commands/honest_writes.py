"""Channels with honest reducers, and what nodes write to them: now and then a null, a duplicate, an empty value."""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from tests.commands.honest_reducers import DICTS, FLAGS, LISTS, NUMBERS, SETS, TEXTS, Fold, Folds

Make = Callable[[], Any]


class Channel(NamedTuple):
    """A channel of a graph: its type, its reducer, and what nodes write to it."""

    name: str
    kind: Any
    reducer: Fold
    make: Make


def _lists(random: Random) -> Make:
    size, longest = random.choice([3, 9, 30, 200]), random.choice([1, 1, 2, 4])
    empty, null, rising = random.choice([0, 0, 0.03, 0.2]), random.choice([0, 0, 0, 0.02]), random.random() < 0.4
    shape, last = random.choice(["number", "number", "text", "dict"]), [0]
    signed = random.choice([0, 0, 0.05])

    def item() -> Any:
        if random.random() < null:
            return None
        last[0] = last[0] + random.randint(0, 2) if rising else random.randrange(size)
        number = -last[0] if random.random() < signed else last[0]
        return {"number": number, "text": f"t{number}", "dict": {"id": number, "n": random.randrange(3)}}[shape]

    return lambda: [] if random.random() < empty else [item() for _ in range(random.randint(1, longest))]


def _numbers(random: Random) -> Make:
    size, kind, last = random.choice([3, 10, 40, 150]), random.choice([int, int, float]), [0]
    zero, negative, rising = random.choice([0, 0.03, 0.2]), random.choice([0, 0, 0.03, 0.3]), random.random() < 0.3

    def make() -> Any:
        last[0] = last[0] + random.randint(0, 3) if rising and random.random() < 0.97 else random.randint(1, size)
        number = 0 if random.random() < zero else -last[0] if random.random() < negative else last[0]
        return number if kind is int else number + random.choice([0.0, 0.5, 0.25])

    return make


def _texts(random: Random) -> Make:
    size, empty, odd = random.choice([2, 6, 50]), random.choice([0, 0.03, 0.2]), random.choice([0, 0.03, 0.2])

    def make() -> str:
        if random.random() < empty:
            return ""
        word = f"word{random.randrange(size)}"
        return random.choice([f" {word}", word.upper(), "done", word * 2]) if random.random() < odd else word

    return make


def _dicts(random: Random) -> Make:
    size, longest, null = random.choice([2, 6, 20, 200]), random.choice([1, 1, 3]), random.choice([0, 0, 0.03, 0.2])
    empty, nested = random.choice([0, 0, 0.03]), random.choice(["number", "text", "dict", "one"])

    def value() -> Any:
        if random.random() < null:
            return None
        number = random.randrange(9)
        return {"number": number, "text": f"t{number}", "dict": {f"k{number % 4}": number}, "one": 1}[nested]

    def make() -> Any:
        keys = [random.randrange(size) for _ in range(random.randint(1, longest))]
        return {} if random.random() < empty else {("reset" if key == 199 else f"key{key}"): value() for key in keys}

    return make


def _sets(random: Random) -> Make:
    size, longest, empty = random.choice([4, 20, 100]), random.choice([1, 3]), random.choice([0, 0.03, 0.2])
    return lambda: set() if random.random() < empty else {random.randrange(size) for _ in range(longest)}


def _flags(random: Random) -> Make:
    rate = random.choice([0.03, 0.3])
    return lambda: random.random() < rate


_KINDS: dict[Any, tuple[Folds, Callable[[Random], Make], int]] = {
    list: (LISTS, _lists, 6),
    int: (NUMBERS, _numbers, 5),
    dict: (DICTS, _dicts, 4),
    str: (TEXTS, _texts, 4),
    set: (SETS, _sets, 1),
    bool: (FLAGS, _flags, 1),
}
"""Type to the reducers of such channels, what is written to them, and how many of twenty channels have it."""


def channel(random: Random, name: str) -> Channel:
    """A channel with one of these reducers."""
    kinds = [*_KINDS]
    kind = random.choices(kinds, [_KINDS[one][2] for one in kinds])[0]
    folds, makes, _ = _KINDS[kind]
    fold = random.choice([*folds])
    made = makes(random)
    if kind is int and isinstance(made(), float):
        kind = float
    return Channel(f"{name}: {fold}", kind, folds[fold](random), made)
