"""What a reducer is: how it folds writes; the value of a channel that holds nothing; a recorded step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ckpt_cli.values.langgraph_values import overwrite


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Any = _Absent()
"""The value of a channel that holds nothing."""


class Unfit(Exception):
    """A reducer can't take these values. If they are recorded, it is not the reducer of this channel."""


class Undecided(Unfit):
    """What a reducer makes of these values isn't known: the graph's own function decides it."""


class PartlyUnfit(Unfit):
    """Of several reducers that fit the steps, some can't take these values and others can."""


class TooManyWrites(Unfit):
    """A reducer can't take several writes in one step, whatever their values."""


@dataclass(frozen=True, slots=True, eq=False)
class Reducer:
    """One way to fold writes into a value; `fold` raises `Unfit` if it can't take the values."""

    name: str
    fold: Callable[[Any, Sequence[Any]], Any]
    fades: bool = False
    """Whether a step without writes empties the channel."""
    makes: frozenset[type] | None = None  # the types that `fold` may give; None if any
    is_plain: bool = False  # a channel without a reducer, which keeps an Overwrite itself (``channels/last_value.py``)
    starts: tuple[Any, ...] = ()  # values with which its channel may begin (``channels/binop.py: __init__``)
    supposes: Callable[[Any, Sequence[Any]], Any] | None = None
    """Like `fold`, where objects of an agent's class are supposed to have the order that Python makes for a class."""

    def step(self, before: Any, writes: Sequence[Any], *, supposing: bool = False) -> Any:
        """The value after one step. If a write is an ``Overwrite``, only this write counts, but for a plain channel.

        Args:
            before: the channel's value.
            writes: what is written to it.
            supposing: whether `supposes` counts. What it gives is a reason to doubt other reducers, and proves nothing.

        Raises:
            Unfit: the reducer can't take the writes, or two are an ``Overwrite`` (langgraph 1.0 ``channels/binop.py``).
        """
        replaced = [wrapped for write in writes if not self.is_plain and (wrapped := overwrite(write)) is not None]
        if len(replaced) > 1:
            raise Unfit("a channel takes one Overwrite a step")
        fold = self.supposes if supposing and self.supposes is not None else self.fold
        return replaced[0].value if replaced else fold(before, writes)

    def replay(self, seed: Any, writes: Sequence[Any]) -> Any:
        """The value after the writes of many steps (``channels/delta.py: replay_writes``).

        Writes before the last ``Overwrite`` don't count.
        """
        base, start = seed, 0
        for place, write in enumerate(writes):
            if (wrapped := overwrite(write)) is not None:
                base, start = wrapped.value, place + 1
        return self.fold(base, writes[start:]) if writes[start:] else base


class ChannelStep(NamedTuple):
    """One recorded step of a channel.

    Attributes:
        command: the writes of a ``Command`` that the run got as its input, applied before `writes`.
        moved: whether the channel has a new version after the step; False if nobody asked.
        kept: whether it has the same version after the step; False if nobody asked.
    """

    before: Any
    writes: Sequence[Any]
    after: Any
    command: Sequence[Any] = ()
    moved: bool = False
    kept: bool = False
