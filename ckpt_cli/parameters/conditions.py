"""Conditions that people type about numbers of a database: ``bytes < 10GB``, ``rate < 1/m``.

``stats --check`` and ``watch --alert`` share the parser, the names and the units. The names are those of the numbers in
the JSON of `stats`.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.errors import UsageError
from ckpt_cli.output.quantities import size


class Unit(StrEnum):
    """What a number counts, which decides the units that may be typed behind it."""

    COUNT = "count"
    BYTES = "bytes"
    SECONDS = "seconds"
    RATE = "checkpoints an hour"


class Name(NamedTuple):
    """A number that conditions can name; `meaning` is for the documentation and for OpenMetrics."""

    unit: Unit
    meaning: str


NAMES: dict[str, Name] = {
    "threads": Name(Unit.COUNT, "threads"),
    "checkpoints": Name(Unit.COUNT, "checkpoints in all namespaces"),
    "writes": Name(Unit.COUNT, "stored writes of tasks"),
    "waiting": Name(Unit.COUNT, "threads that wait for an answer"),
    "failed": Name(Unit.COUNT, "threads whose head has a failed task"),
    "unfinished": Name(Unit.COUNT, "threads whose next nodes have not run"),
    "done": Name(Unit.COUNT, "threads with nothing to run"),
    "unknown": Name(Unit.COUNT, "threads whose next nodes can't be determined"),
    "unreadable": Name(Unit.COUNT, "threads whose head can't be read"),
    "oldest_waiting": Name(Unit.SECONDS, "age of the head that has waited longest; 0 if none waits"),
    "oldest_failed": Name(Unit.SECONDS, "age of the oldest head with a failed task; 0 if none failed"),
    "idle": Name(Unit.SECONDS, "time since the newest checkpoint was made"),
    "rate": Name(Unit.RATE, "checkpoints made in the last hour"),
    "bytes": Name(Unit.BYTES, "stored checkpoints, channels and writes together"),
    "file_bytes": Name(Unit.BYTES, "the database on disk, with its indexes"),
    "free_bytes": Name(Unit.BYTES, "space inside the database that deleted rows left"),
    "repeated_bytes": Name(Unit.BYTES, "what storing each value once would save"),
}
"""The numbers of `stats`; a command that knows only some of them passes these to `parse_condition`."""

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SIZES = {"b": 1.0}
_SIZES |= {f"{letter}b": 1000.0**power for power, letter in enumerate("kmgtp", 1)}
_SIZES |= {f"{letter}ib": 1024.0**power for power, letter in enumerate("kmgtp", 1)}
_TIMES = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_NUMBER = r"\d{1,18}(?:_\d{3})*(?:\.\d{1,9})?"
_CONDITION = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>=|==|!=|<|>)\s*(\S.*?)\s*")
_EXAMPLES = {
    Unit.COUNT: "a number: 0, 250, 1_000",
    Unit.BYTES: "a size: 500MB, 10GB, 1.5GiB, or bytes",
    Unit.SECONDS: "a time: 90s, 2h, 1d12h, or seconds",
    Unit.RATE: "a rate: 1/m, 60/h, 500/d, or checkpoints an hour",
}


class Condition(NamedTuple):
    """A comparison of one number with a limit.

    Attributes:
        text: the condition as it was typed, with single spaces.
        limit: in bytes, seconds or checkpoints an hour, as the name's unit says.
    """

    text: str
    name: str
    unit: Unit
    comparison: str
    limit: float

    def holds(self, value: float) -> bool:
        """Whether the condition is true of a value, which has the unit of the name."""
        return _COMPARISONS[self.comparison](value, self.limit)

    @property
    def is_lower_bound(self) -> bool:
        """Whether it stays true if the number is larger."""
        return self.comparison in (">", ">=")


def parse_size(text: str) -> int:
    """The bytes that a text states: ``500MB``, ``1.5GiB``, ``20000``.

    Raises:
        UsageError: it is no size.
    """
    number = _limit(text.strip(), Unit.BYTES)
    if number is None or not math.isfinite(number):
        raise UsageError(f"{text!r} is no size", hint=_EXAMPLES[Unit.BYTES])
    return int(number)


def parse_conditions(texts: Iterable[str], names: Mapping[str, Name] = NAMES) -> list[Condition]:
    """The conditions that an option was given, in their order; see `parse_condition`."""
    return [parse_condition(text, names) for text in texts]


def parse_condition(text: str, names: Mapping[str, Name] = NAMES) -> Condition:
    """The condition that a text states, such as ``waiting == 0``.

    Args:
        text: a name, a comparison and a limit with its unit.
        names: the names that may be used.

    Raises:
        UsageError: the text is no comparison, the name doesn't exist, or the limit has another unit.
    """
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        known = [one for one in ("waiting == 0", "bytes < 10GB", "oldest_waiting < 2h") if one.split()[0] in names]
        examples = known or [f"{next(iter(names))} == 0"]
        hint = f"write NAME, one of < <= > >= == !=, and a limit: {', '.join(map(repr, examples))}"
        raise UsageError(f"{text!r} is no condition", hint=hint)
    name, comparison, limit = parts.groups()
    if name not in names:
        near = get_close_matches(name, names, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else f"one of {', '.join(names)}"
        raise UsageError(f"no number is called {name!r}", hint=hint)
    unit = names[name].unit
    number = _limit(limit, unit)
    if number is None or not math.isfinite(number):
        raise UsageError(f"{limit!r} is no limit for {name}", hint=_EXAMPLES[unit])
    return Condition(f"{name} {comparison} {limit}", name, unit, comparison, number)


def spell_number(value: float, unit: Unit) -> str:
    """A number with its unit, as it could be typed: ``13d16h``, ``1.2 GB``, ``60/h``, ``1,000``."""
    if unit is Unit.BYTES:
        return size(round(value))
    if unit is Unit.RATE:
        return f"{value:,.15g}/h"
    if unit is Unit.COUNT:
        return f"{value:,.15g}"
    left, parts = round(value), list[str]()
    for name, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, length)
        parts += [f"{count}{name}"] if count else []
    return "".join(parts[:2]) or "0s"


def _limit(text: str, unit: Unit) -> float | None:
    """A limit in the base unit; None if the text has another unit or is no number."""
    words = text.replace(" ", "")
    if re.fullmatch(_NUMBER, words):
        return float(words)
    if unit is Unit.BYTES and (size := re.fullmatch(rf"({_NUMBER})([A-Za-z]+)", words)):
        factor = _SIZES.get(size[2].casefold())
        return None if factor is None else float(size[1]) * factor
    if unit is Unit.SECONDS and re.fullmatch(rf"(?:{_NUMBER}[smhdw])+", words):
        return sum(float(number) * _TIMES[one] for number, one in re.findall(rf"({_NUMBER})([smhdw])", words))
    if unit is Unit.RATE and (rate := re.fullmatch(rf"({_NUMBER})/([smhdw])", words)):
        return float(rate[1]) * _TIMES["h"] / _TIMES[rate[2]]
    return None
