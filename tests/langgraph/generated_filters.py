"""Stored metadata, and filters made from it: its own keys and values, changed in one way or another."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

Metadata = dict[str, Any]

_KEYS = (
    "user",
    "run_id",
    "score",
    "flag",
    "tags",
    "nested",
    "ключ",
    "a.b",
    "a b",
    "x-y",
    "",
    "x\n",
    "Source",
    "parents",
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 1.0, 1.5, 10**15, 2**53 + 1, 1e300, 0.1, "", "1", "u-1", "U-1", "true", "null"),
    *(" u-1 ", "a,b", "日本", "it's", '"q"', "%s", "\\", "2026-11-22", "2026-11-22T10:00:00+00:00"),
    *([], [1], [1, 2, "a"], ["a", ["b", None]], [{"k": 1}, {"k": 2, "l": None}], {}, {"k": None}),
    *({"k": {"l": [1, {"m": True}]}, "n": "日本"}, {"": 1}, {"b": 1, "a": 2}, {"a": {"b": 1}}),
)
_TYPED: tuple[Any, ...] = (datetime(2026, 11, 22, tzinfo=UTC), date(2026, 11, 22), b"\x00\xff", {1, 2}, UUID(int=7))
"""Values that only savers with a serializer for metadata can store."""

_STRANGE: tuple[Any, ...] = (
    *_TYPED,
    *(Decimal(1), object(), float("nan"), float("inf"), 2**63, 2**70, -(2**70), "\x00", "a\x00b", "\ud800"),
    *((1, 2), [float("nan")], {"k": object()}, {"k": date(2026, 1, 1)}, {1: 2}, "*", "loop|input", "{loop}", "lo\\op"),
    *({"$ne": None}, {"k": {"$gt": ""}}, ["loop", "input"], ["loop", ""], {"loop"}, "LOOP", " loop", ("fork",)),
)
_HOSTILE_KEYS: tuple[Any, ...] = (
    *("a' OR 1=1 --", "source') IS NOT NULL OR ('", "$where", "$", "..", ".", "a..b", "nested.", ".nested", "a[0]"),
    *('a"b', "%s", "a\x00b", "parents.", "nested.k.l", "tags[0]", "tags.0", "-", "source\n", "日本", "\ud800"),
    *(5, None, True, b"source", ("a",)),
)


def metadata_of(random: Random, step: int, *, typed: bool) -> Metadata:
    """The metadata of one checkpoint."""
    keys = random.sample(_KEYS, random.randint(0, 7))
    values = (*_VALUES, *_TYPED) if typed else _VALUES
    own = {key: deepcopy(random.choice(values)) for key in keys}
    if random.random() < 0.3:
        own["parents"] = {"": "1f0", "sub": random.choice(["1f1", None])}
    run_id = {"run_id": random.choice(["r-1", "R-1", "", "r 1", "a,b"])} if "run_id" in own else {}
    return {"source": random.choice(["input", "loop", "loop", "update"]), "step": step, **own, **run_id}


def filters(random: Random, stored: list[Metadata]) -> Iterator[Any]:
    """Filters without end; most differ from some stored metadata in one place, or in none."""
    while True:
        own = random.choice(stored)
        keys = random.sample([*own], min(len(own), random.choice((1, 1, 1, 2, 3))))
        chosen: dict[Any, Any] = {key: deepcopy(own[key]) for key in keys}
        for _ in range(random.choice((0, 1, 1, 2))):
            random.choice(_CHANGES)(random, chosen)
        yield chosen


def _other_value(random: Random, chosen: dict[Any, Any]) -> None:
    chosen[random.choice([*chosen])] = deepcopy(random.choice((*_VALUES, *_STRANGE)))


def _similar_value(random: Random, chosen: dict[Any, Any]) -> None:
    key = random.choice([*chosen])
    chosen[key] = _similar(random, chosen[key])


def _similar(random: Random, value: Any) -> Any:
    """A part of the value, or another spelling or type of it."""
    if isinstance(value, dict) and value:
        inner = random.choice([*value])
        return random.choice([{inner: value[inner]}, {inner: _similar(random, value[inner])}, {**value, "more": 1}])
    if isinstance(value, list) and value:
        one = random.choice(value)
        return random.choice([[one], one, value[::-1], value * 2, tuple(value), [_similar(random, one)], [[one]]])
    if isinstance(value, bool | int | float) and value == value and abs(value) < 1e308:
        return random.choice([bool(value), int(value), float(value), str(value), [value], value + 1])
    if isinstance(value, str):
        return random.choice(
            [value.upper(), f" {value}", value.encode("utf-8", "replace"), [value], value + "\x00", None]
        )
    return random.choice([None, str(value), [value], {"k": value}])


def _other_key(random: Random, chosen: dict[Any, Any]) -> None:
    old = random.choice([*chosen])
    chosen[random.choice((*_KEYS, *_HOSTILE_KEYS))] = chosen.pop(old)


def _path_key(random: Random, chosen: dict[Any, Any]) -> None:
    """Name a value inside a nested one by a dotted key."""
    nested = [key for key, value in chosen.items() if isinstance(value, dict) and value]
    for key in nested:
        inner = random.choice([*chosen[key]])
        chosen[f"{key}.{inner}"] = chosen.pop(key)[inner]


def _absent(random: Random, chosen: dict[Any, Any]) -> None:
    chosen[random.choice(("missing", *_KEYS))] = random.choice((None, None, 1))


_CHANGES: tuple[Callable[[Random, dict[Any, Any]], None], ...] = (
    *(_other_value, _other_key, _path_key, _absent),
    *(_similar_value, _similar_value),
)
