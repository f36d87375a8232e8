"""Honest reducers as people write them: most do what a known one does, until a rare value comes."""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

Fold = Callable[[Any, Any], Any]
Folds = dict[str, Callable[[Random], Fold]]
"""The name of each reducer: to a function that makes it, with random limits."""


def _unique(items: Sequence[Any]) -> list[Any]:
    return [item for place, item in enumerate(items) if item not in items[:place]]


def _newest_unique(items: Sequence[Any]) -> list[Any]:
    return _unique(items[::-1])[::-1]


def _by_id(old: list[Any], new: list[Any]) -> list[Any]:
    return list({(one["id"] if isinstance(one, dict) else one): one for one in old + new}.values())


def _without(old: list[Any], new: list[Any]) -> list[Any]:
    gone = [item for item in new if isinstance(item, int) and item < 0]
    return [item for item in old + new if item not in gone and (not isinstance(item, int) or -item not in gone)]


def _summed(size: int, old: list[Any], new: list[Any]) -> list[Any]:
    """Items beyond a size become one with their number."""
    items = old + new
    return items if len(items) <= size else [f"{len(items) - size + 1} more", *items[-size + 1 :]]


def _raised(old: list[Any], new: list[Any]) -> list[Any]:
    return [*old, *([max(new)] if new and all(isinstance(one, int) for one in new) else new)]


LISTS: Folds = {
    "kept last": lambda random: partial(lambda n, a, b: (a + b)[-n:], random.choice([1, 2, 3, 5, 8, 10, 12, 20, 30])),
    "kept first": lambda random: partial(lambda n, a, b: (a + b)[:n], random.choice([1, 3, 5, 10, 20, 30])),
    "halved": lambda random: partial(
        lambda n, a, b: (a + b) if len(a + b) < n else (a + b)[n // 2 :], random.choice([6, 12, 20])
    ),
    "prepended": lambda _: lambda a, b: b + a,
    "new": lambda _: lambda a, b: a + [item for item in b if item not in a],
    "unique": lambda _: lambda a, b: _unique(a + b),
    "newest unique": lambda _: lambda a, b: _newest_unique(a + b),
    "by id": lambda _: _by_id,
    "sorted": lambda _: lambda a, b: sorted(a + b, key=str),
    "sorted unique": lambda _: lambda a, b: sorted(_unique(a + b), key=str),
    "true": lambda _: lambda a, b: a + [item for item in b if item],
    "not null": lambda _: lambda a, b: [item for item in a + b if item is not None],
    "reset by an empty one": lambda _: lambda a, b: a + b if b else [],
    "reset by null": lambda _: lambda a, b: [] if None in b else a + b,
    "replaced by a longer one": lambda _: lambda a, b: b if len(b) > 2 else a + b,
    "longest": lambda _: lambda a, b: max(a, b, key=len),
    "last, if not empty": lambda _: lambda a, b: b or a,
    "first": lambda _: lambda a, b: a or b,
    "removing": lambda _: _without,
    "summed": lambda random: partial(_summed, random.choice([4, 8, 12, 20])),
    "not twice in a row": lambda _: lambda a, b: a + [item for item in b if not a or item != a[-1]],
    "until the end": lambda _: lambda a, b: a if a and a[-1] == 7 else a + b,
    "greatest of each": lambda _: _raised,
    "not seen lately": lambda random: lambda a, b: a + [item for item in b if item not in a[-3:]],
}
NUMBERS: Folds = {
    "max": lambda _: lambda a, b: max(a, b),
    "min": lambda _: lambda a, b: min(a, b),
    "product": lambda _: lambda a, b: a * b if a else b,
    "difference": lambda _: operator.sub,
    "capped sum": lambda random: partial(lambda n, a, b: min(n, a + b), random.choice([5, 10, 50, 100, 300])),
    "floored sum": lambda _: lambda a, b: max(0, a + b),
    "bounded": lambda random: partial(lambda n, _, b: max(0, min(n, b)), random.choice([5, 10, 50, 100])),
    "capped max": lambda random: partial(lambda n, a, b: min(n, max(a, b)), random.choice([5, 10, 50, 100])),
    "last but 0": lambda _: lambda a, b: b or a,
    "first": lambda _: lambda a, b: a or b,
    "mean": lambda _: lambda a, b: (a + b) / 2,
    "around": lambda random: partial(lambda n, a, b: (a + b) % n, random.choice([7, 24, 60, 100])),
    "sum until reset": lambda _: lambda a, b: 0 if b < 0 else a + b,
    "sum of risen": lambda _: lambda a, b: a + max(b, 0),
    "greatest step": lambda random: partial(
        lambda n, a, b: b if not a or abs(b - a) <= n else a, random.choice([5, 20, 80])
    ),
    "rounded": lambda _: lambda a, b: round(a + b, 1),
    "last rounded": lambda _: lambda _, b: round(b, 1),
    "last absolute": lambda _: lambda _, b: abs(b),
    "furthest from 0": lambda _: lambda a, b: max(a, b, key=abs),
    "max until reset": lambda _: lambda a, b: 0 if b < 0 else max(a, b),
    "damped": lambda random: partial(lambda n, a, b: b if abs(b) < n else b // 2, random.choice([20, 50, 90])),
}
TEXTS: Folds = {
    "lines": lambda _: lambda a, b: "\n".join(filter(None, (a, b))),
    "longest": lambda _: lambda a, b: max(a, b, key=len),
    "last, if not empty": lambda _: lambda a, b: b or a,
    "first": lambda _: lambda a, b: a or b,
    "kept last": lambda random: partial(lambda n, a, b: (a + b)[-n:], random.choice([4, 20, 60])),
    "stripped": lambda _: lambda _, b: b.strip(),
    "lower": lambda _: lambda _, b: b.lower(),
    "cut": lambda random: partial(lambda n, _, b: b[:n], random.choice([3, 6, 9])),
    "final": lambda _: lambda a, b: a if a == "done" else b,
    "greatest": lambda _: lambda a, b: max(a, b),
    "spaced": lambda _: lambda a, b: f"{a} {b}" if a and b else a + b,
    "once": lambda _: lambda a, b: a if b and b in a else a + b,
    "default": lambda _: lambda _, b: b or "none",
}
DICTS: Folds = {
    "without nulls": lambda _: lambda a, b: {k: v for k, v in {**a, **b}.items() if v is not None},
    "null keeps": lambda _: lambda a, b: {**a, **{k: v for k, v in b.items() if v is not None}},
    "null deletes": lambda _: lambda a, b: {k: v for k, v in {**a, **b}.items() if k not in b or b[k] is not None},
    "first": lambda _: lambda a, b: {**b, **a},
    "counted": lambda _: lambda a, b: {**a, **{k: _added(a.get(k), v) for k, v in b.items()}},
    "greatest": lambda _: lambda a, b: {**a, **{k: _greater(a.get(k), v) for k, v in b.items()}},
    "deep": lambda _: lambda a, b: _deep(a, b),
    "gathered": lambda _: lambda a, b: {**a, **{k: [*_listed(a.get(k)), v] for k, v in b.items()}},
    "kept last": lambda random: partial(
        lambda n, a, b: dict([*{**a, **b}.items()][-n:]), random.choice([2, 5, 10, 20])
    ),
    "reset by an empty one": lambda _: lambda a, b: {**a, **b} if b else {},
    "last, if not empty": lambda _: lambda a, b: b or a,
    "true": lambda _: lambda a, b: {k: v for k, v in {**a, **b}.items() if v},
    "cleared": lambda _: lambda a, b: {**b} if "reset" in b else {**a, **b},
    "sorted": lambda _: lambda a, b: dict(sorted({**a, **b}.items())),
}
SETS: Folds = {
    "union": lambda _: operator.or_,
    "differing": lambda _: operator.xor,
    "common": lambda _: lambda a, b: a & b if a else b,
    "last, if not empty": lambda _: lambda a, b: b or a,
    "bounded": lambda random: partial(lambda n, a, b: set(sorted(a | b)[-n:]), random.choice([2, 5, 9])),
    "reset by an empty one": lambda _: lambda a, b: a | b if b else set(),
    "without 0": lambda _: lambda a, b: (a | b) - {0},
}
FLAGS: Folds = {
    "any": lambda _: operator.or_,
    "all": lambda _: operator.and_,
    "differing": lambda _: operator.xor,
}


def _added(old: Any, new: Any) -> Any:
    return old + new if isinstance(old, int) and isinstance(new, int) else new


def _greater(old: Any, new: Any) -> Any:
    return max(old, new) if isinstance(old, int) and isinstance(new, int) else new


def _deep(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: _deep(old.get(key), value) for key, value in new.items()}}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
