"""Which equal elements of a list can't be distinguished after a step.

A step that drops one of two equal elements, or adds a third, leaves the same list whichever of them it was.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from ckpt_cli.history.diff.align import Alignment, content_keys
from ckpt_cli.values.same import same

_MOST = 20


class When(Enum):
    """When an element may have come at another checkpoint than the one that `align` finds."""

    ALWAYS = auto()
    PREPENDED = auto()
    """Only if the list grows at its beginning: the elements that were there are its beginning and its end."""
    WRITTEN = auto()
    """Only if the step wrote the element, and not the whole list with it: then an equal one went in the same step."""
    REWRITTEN = auto()
    """The same of an element that has no equal: if the step wrote it, it is of that step, and of no older one."""


class Alternative(NamedTuple):
    """Another checkpoint at which an element may have come; `size` is how long the list was there."""

    when: When = When.ALWAYS
    size: int = 0

    def of_several(self) -> "Alternative":
        """The same where it is the alternative of one of several equal elements, perhaps of another one."""
        return self._replace(when=When.WRITTEN) if self.when is When.REWRITTEN else self


def newest(others: Mapping[int, Alternative]) -> dict[int, Alternative]:
    """The newest alternatives and the oldest: a capped list would have more and more of them."""
    numbers = sorted(others)
    return {number: others[number] for number in [*numbers[:1], *numbers[1:][-_MOST:]]}


class Alike(NamedTuple):
    """Equal elements that can't be distinguished: their places before and after a step; whether one of these is new."""

    old: Sequence[int]
    new: Sequence[int]
    now: Alternative


def alike(old: Sequence[Any], new: Sequence[Any], alignment: Alignment, edited: Collection[int]) -> Iterator[Alike]:
    """The equal elements without ids that the step mixed up.

    Args:
        old: the list before the step.
        new: the list after it.
        alignment: of both.
        edited: the places in the first list of elements that have a partner with another content.
    """
    is_moved, partners = bool(alignment.moved), {i: j for i, j in alignment.pairs if i in edited}
    touched_old, touched_new = [*alignment.removed, *partners], [*alignment.added, *partners.values()]
    if not (is_moved or touched_old or touched_new):
        return
    keys_old, keys_new = content_keys(old, new)
    touched = {keys_old[i] for i in touched_old} | {keys_new[j] for j in touched_new}
    chosen = {key for key in (keys_old if is_moved else touched) if key is not None}
    places_old, places_new = _places(keys_old, chosen), _places(keys_new, chosen)
    for key in places_old.keys() & places_new.keys():
        before, after = places_old[key], places_new[key]
        when = When.WRITTEN if len(before) > 1 else When.REWRITTEN
        yield Alike(before, after, Alternative() if len(after) > len(before) else Alternative(when, len(new)))


def alike_at_both_ends(old: Sequence[Any], new: Sequence[Any]) -> Iterator[Alike]:
    """The same for a list that grew at its end, as far as it may have grown at its beginning."""
    keys_old, keys_new = content_keys(old, new)
    chosen = {key for key in keys_old if key is not None}
    places_old, places_new = _places(keys_old, chosen), _places(keys_new, chosen)
    for key, before in places_old.items():
        yield Alike(before, places_new[key], Alternative(When.PREPENDED))


def ends_with(new: Sequence[Any], old: Sequence[Any]) -> bool:
    """Whether the end of a list is another, shorter list."""
    more = len(new) - len(old)
    return more > 0 and bool(old) and same(old[-1], new[-1]) and all(map(same, old, new[more:]))


def _places(keys: Sequence[int | None], chosen: Collection[int]) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for place, key in enumerate(keys):
        if key is not None and key in chosen:
            places.setdefault(key, []).append(place)
    return places
