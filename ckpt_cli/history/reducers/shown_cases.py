"""`ShownCases`: the cases, as a key again, and the sizes that a delta channel's stretches show.

A counter of keys looks like a dict union until a key comes again, and a list of the last six items like an append until
the seventh item comes.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.history.reducers.cases import cases, unmet
from ckpt_cli.history.reducers.reducers import MESSAGES, ChannelStep, Reducer
from ckpt_cli.values.counts import count_text
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.node import Node


@dataclass(slots=True)
class ShownCases:
    """The cases and the size of the stretches that a reducer explains.

    Attributes:
        largest: the most elements of a value that such a stretch ends with; -1 if there is none.
        begins: the versions of the values with which stretches begin of which all writes count.
    """

    largest: int = -1
    begins: set[str] = field(default_factory=set)
    _met: set[str] = field(default_factory=set)

    @property
    def most(self) -> str:
        """The size of the largest value, in words."""
        return count_text(self.largest, "element")

    def copy(self) -> "ShownCases":
        """The same, to which other stretches are added."""
        return ShownCases(self.largest, {*self.begins}, {*self._met})

    def add(self, reducers: Collection[Reducer], step: ChannelStep) -> None:
        """Count a stretch that these reducers explain."""
        tested = {*reducers} - {MESSAGES}  # whatever a merge of messages does, it does by their ids
        self._met |= {case[0] for case in cases(tested, step.before, step.writes, proving=True)}
        self.largest = max(self.largest, size_of(step.after))

    def unmet(self, reducers: Collection[Reducer], before: Any, writes: Sequence[Any]) -> str:
        """A case in which these writes are and that no stretch shows; "" if there is none."""
        return unmet(reducers, self._met, before, writes)

    def is_larger(self, value: Any) -> bool:
        """Whether a value has more elements than all that were shown; then the reducer may leave out some of them."""
        return not 0 <= size_of(value) <= self.largest

    def has_shrunk(self, base: Any, begin: str | None = None) -> bool:
        """Whether writes go on from fewer elements than were shown, as after an ``Overwrite``.

        Then a value of that size shows nothing: what is new may be sorted, cut or dropped as the shown writes were not.
        A stretch that begins at the same stored value, of version `begin`, shows these very writes.
        """
        return begin not in self.begins and max(size_of(base), 0) < self.largest

    def is_beyond(self, reducer: Reducer, base: Any, value: Any) -> bool:
        """Whether a value is so much larger that no change may store it, or was made of one that has shrunk.

        The message merge is LangGraph's own, which has no such bound (langgraph 1.2 ``pregel/_messages.py``): of it a
        note is enough, though a reducer around it may trim the list.
        """
        return reducer is not MESSAGES and (self.is_larger(value) or self.has_shrunk(base))


def size_of(value: Any) -> int:
    """The number of elements of a list, dict or set; -1 of other values, which may have other bounds."""
    if isinstance(value, Node):
        value = items(value)
    return len(value) if isinstance(value, list | dict) else -1
