"""Which task of a step gave or removed a part of a channel's value, as far as writes prove it."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from ckpt_cli.history.diff.element_keys import digest
from ckpt_cli.history.tasks.write_signs import (
    Explains,
    is_certain,
    is_open,
    is_open_to_any,
    part_signs,
    write_signs,
)
from ckpt_cli.values.same import same

_SEVERAL = "several tasks wrote the channel in this step"
_MADE_OTHERWISE = (
    "a reducer of the graph's own, an error handler that ran again, or code that alters values in place may make it, "
    "or somebody altered the database"
)
_OTHERWISE = f"what it wrote isn't this; {_MADE_OTHERWISE}"
_ALL_OTHERWISE = f"{_SEVERAL}, and what they wrote isn't this; {_MADE_OTHERWISE}"


class Writer(NamedTuple):
    """One task, or one input or update, and what it wrote to the channel.

    Attributes:
        by: ``node``, ``input`` or ``update``.
        node: None if it isn't known.
        values: what it wrote to the channel; None if this was not read.
    """

    by: str
    node: str | None
    task: str
    values: Sequence[Any] | None = None


class Credit(NamedTuple):
    """Who gave a part its value.

    Attributes:
        by: ``node``, ``input``, ``update``, ``fork``, ``channel`` or ``default``; "" if this isn't known.
        candidates: the nodes of which one did it, if it isn't known which.
        why: why it isn't known; "" if it is.
        is_unwritten: whether the step's writes are known, and none explains it, or they have fewer of its like.
    """

    by: str = ""
    node: str | None = None
    task: str | None = None
    candidates: Sequence[str] = ()
    why: str = ""
    is_unwritten: bool = False


def _is_unproved() -> bool:
    return False


class Writers:
    """Writers of one step; there may be thousands, and each may be asked for thousands of parts.

    Attributes:
        is_exact: whether `Writer.values` are what was written; what old metadata records isn't always.
    """

    def __init__(self, writers: Sequence[Writer], *, is_exact: bool = True) -> None:
        self.all = writers
        self.is_exact = is_exact

    @cached_property
    def are_one(self) -> bool:
        """Whether they are one task, or tasks of one node whose name is known."""
        of_one = len({(one.by, one.node) for one in self.all}) == 1
        return of_one and (len(self.all) == 1 or self.all[0].node is not None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each, once."""
        return tuple(dict.fromkeys(name_of(one.by, one.node) for one in self.all))

    @cached_property
    def _alike(self) -> list[list[int]]:
        """The numbers of those that wrote the same: what explains something is asked of one of them."""
        groups: dict[Hashable, list[int]] = {}
        for number, writer in enumerate(self.all):
            values = [*(writer.values or ())]
            group = groups.setdefault(tuple(map(digest, values)), [])
            if not group or same([*(self.all[group[0]].values or ())], values):
                group.append(number)
            else:
                groups["apart", number] = [number]
        return [*groups.values()]

    @cached_property
    def _by_sign(self) -> dict[Hashable, dict[int, None]]:
        by_sign: dict[Hashable, dict[int, None]] = {}
        for place, (first, *_) in enumerate(self._alike):
            for sign in chain.from_iterable(map(write_signs, self.all[first].values or ())):
                by_sign.setdefault(sign, {})[place] = None
        return by_sign

    @cached_property
    def _fitting(self) -> "dict[frozenset[int], Writers]":
        return {}

    def possible(self, explains: Explains) -> Sequence[Writer]:
        """Those whose writes may explain something; those of the others don't, and add nothing to these."""
        return self._of(self._places(explains)).all

    def fitting(self, explains: Explains) -> "Writers":
        """Those whose writes explain something; only those that did it whatever the others wrote, if there are any."""
        fitting = [place for place in self._places(explains) if explains(self._values(place))]
        certain = [place for place in fitting if is_certain(explains, self._values(place))]
        return self._of(certain or fitting)

    def _places(self, explains: Explains) -> Iterable[int]:
        """Where in `_alike` those are whose writes may explain something."""
        if len(self.all) == 1 or (signs := part_signs(explains)) is None:
            return range(len(self._alike))
        return {place for sign in (None, *signs) for place in self._by_sign.get(sign, ())}

    def _values(self, place: int) -> Sequence[Any]:
        return self.all[self._alike[place][0]].values or ()

    def _of(self, places: Iterable[int]) -> "Writers":
        """Those at some places, in their order; the same object where thousands of parts ask."""
        key = frozenset(places)
        if key not in self._fitting:
            numbers = sorted(number for place in key for number in self._alike[place])
            self._fitting[key] = Writers([self.all[number] for number in numbers])
        return self._fitting[key]


def credit(writers: Writers, explains: Explains, is_made: Callable[[], bool] = _is_unproved) -> Credit:
    """The writer among those of one step whose writes explain it, or the node that all of them belong to.

    Args:
        writers: at least one.
        explains: asked with the writes of one writer, and of all.
        is_made: asked last: whether a known reducer makes the channel's value of these writes.
    """
    found = writers.fitting(explains) if writers.is_exact or len(writers.all) > 1 else Writers(())
    fitting, left = found.all, found if found.all else writers
    first = left.all[0]
    if fitting and left.are_one and not writers.are_one:
        own = set(map(id, fitting))
        others = [one for one in writers.possible(explains) if id(one) not in own]
        if is_open(explains, list(_values(fitting)), list(_values(others))):
            return Credit(candidates=writers.names, why=_SEVERAL)
    is_unwritten = writers.is_exact and not fitting
    if is_unwritten and not explains(list(_values(writers.possible(explains)))) and not is_made():
        return Credit(candidates=left.names, why=_OTHERWISE if left.are_one else _ALL_OTHERWISE, is_unwritten=True)
    if left.are_one:
        return Credit(first.by, first.node, first.task or None if len(left.all) == 1 else None)
    return Credit(candidates=left.names, why=_SEVERAL)


def or_by(made: Credit, causes: Sequence[str]) -> Credit:
    """The same credit; if no write explains the value, these causes may be behind it, too."""
    others = "".join(f"{cause}, " for cause in causes)
    return made._replace(why=made.why.replace(_MADE_OTHERWISE, others + _MADE_OTHERWISE))


def credit_beside(writers: Writers, explains: Explains, unstored: Sequence[str], why: str) -> Credit:
    """The same in a step in which tasks ran of which no result is stored.

    Args:
        writers: the others.
        explains: as for `credit`.
        unstored: the nodes of these tasks, as far as they are known.
        why: says that their results aren't stored.
    """
    fitting = writers.fitting(explains)
    if fitting.all and fitting.are_one and not is_open_to_any(explains, list(_values(fitting.all))):
        first = fitting.all[0]
        return Credit(first.by, first.node, first.task or None if len(fitting.all) == 1 else None)
    return Credit(candidates=tuple(dict.fromkeys([*writers.names, *unstored])), why=why)


def _values(writers: Sequence[Writer]) -> Iterator[Any]:
    return (value for one in writers for value in one.values or ())


def name_of(by: str, node: str | None) -> str:
    """The name of a writer among several: its node, ``unknown node``, ``input`` or the like."""
    return node or ("unknown node" if by == "node" else by)
