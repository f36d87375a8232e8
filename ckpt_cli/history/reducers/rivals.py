"""`Rivals`: reducers that ckpt doesn't learn, and that look like `append if new`.

A list that keeps its last four items, and one that moves what comes again to its end, look like a list without
duplicates until a stretch tells them apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ckpt_cli.history.reducers.reducers import ABSENT, APPEND, ChannelStep, Reducer, Unfit
from ckpt_cli.history.reducers.selections import item_key
from ckpt_cli.values.write_forms import is_as_written


@dataclass(slots=True)
class Rivals:
    """What the stretches that `append if new` explains say of the others.

    Attributes:
        least: the most elements of a list from which nothing was dropped; a list that is cut keeps no fewer.
        last: how many elements a list keeps at its end; None if no stretch shows it, -1 if a stretch refutes that.
        first: the same of a list that keeps them at its beginning.
        moves: whether what comes again may have moved to the end.
    """

    least: int = 0
    last: int | None = None
    first: int | None = None
    moves: bool = True

    def copy(self) -> "Rivals":
        """The same, to which other stretches are added."""
        return replace(self)

    def add(self, step: ChannelStep) -> None:
        """Count a stretch that `append if new` explains."""
        joined, kept = _joined(step.before, step.writes), step.after
        count = len(kept)
        if len(joined) == count:
            self.least = max(self.least, count)
            return
        self.last = count if self.last in (None, count) and is_as_written(joined[-count:], kept) else -1
        self.first = count if self.first in (None, count) and is_as_written(joined[:count], kept) else -1
        self.moves = self.moves and is_as_written(_moved(step.before, step.writes), kept)

    @property
    def reducers(self) -> list[Reducer]:
        """Those that explain all of these stretches, if something was dropped from one."""
        if self.last is None or self.first is None:
            return []
        lists = frozenset({list})
        found = [Reducer("append, known items to the end", _moved, makes=lists)] if self.moves else []
        if self.last >= max(1, self.least):
            found.append(Reducer(f"the last {self.last}", partial(_last, self.last), makes=lists))
        if self.first >= max(1, self.least):
            found.append(Reducer(f"the first {self.first}", partial(_first, self.first), makes=lists))
        return found


def _joined(before: Any, writes: Sequence[Any]) -> list[Any]:
    value = APPEND.fold([] if before is ABSENT else before, writes)
    if not isinstance(value, list):
        raise Unfit("not a list")
    return value


def _last(count: int, before: Any, writes: Sequence[Any]) -> list[Any]:
    return _joined(before, writes)[-count:]


def _first(count: int, before: Any, writes: Sequence[Any]) -> list[Any]:
    return _joined(before, writes)[:count]


def _moved(before: Any, writes: Sequence[Any]) -> list[Any]:
    """Each item where it came last."""
    kept: dict[Any, Any] = {}
    for item in reversed(_joined(before, writes)):
        kept.setdefault(item_key(item), item)
    return [*kept.values()][::-1]
