"""Which equal elements of a list can't be distinguished after a step.

A step that drops one of two equal elements, or adds a third, leaves the same list whichever of them it was; so does one
that drops an element and adds an equal one.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from ckpt_cli.history.diff.align import Alignment
from ckpt_cli.history.diff.element_keys import content_keys

_MOST = 20


class When(Enum):
    """When an element may have come at another checkpoint than the one that `align` finds."""

    ALWAYS = auto()
    PREPENDED = auto()
    """Only if the list grows at its beginning: the elements that were there are its beginning and its end."""
    WRITTEN = auto()
    """Only if the step wrote the element, and not the whole list with it: then an equal one went in the same step."""
    UNSEEN = auto()
    """If it went and came again in steps that aren't stored."""
    BETWEEN = auto()
    """If it went and came again at the checkpoints directly before, at which the value isn't known."""
    UNREAD = auto()
    """At a checkpoint at which the value isn't known, if the step wrote the element."""


class Alternative(NamedTuple):
    """Another checkpoint at which an element may have come; `size` is how long the list was there."""

    when: When = When.ALWAYS
    size: int = 0


def newest(others: Mapping[int, Alternative]) -> dict[int, Alternative]:
    """The newest alternatives and the oldest: a capped list would have more and more of them."""
    if len(others) <= _MOST:
        return {**others}
    numbers = sorted(others)
    return {number: others[number] for number in [*numbers[:1], *numbers[1:][-_MOST:]]}


class Alike(NamedTuple):
    """Equal elements that can't be distinguished: their places before and after a step; whether one of these is new."""

    old: Sequence[int]
    new: Sequence[int]
    now: Alternative


def alike(old: Sequence[Any], new: Sequence[Any], alignment: Alignment, edited: Collection[int]) -> Iterator[Alike]:
    """The equal elements that no id identifies, and that the step mixed up, or may have dropped and added.

    Args:
        old: the list before the step.
        new: the list after it.
        alignment: of both.
        edited: the places in the first list of elements that have a partner with another content.
    """
    if not (alignment.moved or alignment.removed or alignment.added or edited):
        return
    keys_old, keys_new = content_keys(old, new)
    places_old, places_new = _places(keys_old), _places(keys_new)
    for key in places_old.keys() & places_new.keys():
        before, after = places_old[key], places_new[key]
        yield Alike(before, after, Alternative() if len(after) > len(before) else Alternative(When.WRITTEN, len(new)))


def alike_at_both_ends(old: Sequence[Any], new: Sequence[Any]) -> Iterator[Alike]:
    """The same for a list that grew at its end, as far as it may have grown at its beginning."""
    keys, _ = content_keys(new, ())
    places_old, places_new = _places(keys[: len(old)]), _places(keys)
    for key, before in places_old.items():
        yield Alike(before, places_new[key], Alternative(When.PREPENDED))


def equal_places(old: Sequence[Any], removed: Collection[int]) -> dict[int, list[int]]:
    """For each of these places of a list: where equal elements are, if not all of them are removed with it."""
    keys, _ = content_keys(old, ())
    places = _places(keys)
    equal = {place: places[key] for place in removed if (key := keys[place]) is not None}
    return {place: [one for one in some if one != place] for place, some in equal.items() if not {*some} <= {*removed}}


def ends_with(new: Sequence[Any], old: Sequence[Any], equal: Callable[[Any, Any], bool]) -> bool:
    """Whether the end of a list is another, shorter list, by what elements are `equal`."""
    more = len(new) - len(old)
    return more > 0 and bool(old) and equal(old[-1], new[-1]) and all(map(equal, old, new[more:]))


def _places(keys: Sequence[int | None]) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for place, key in enumerate(keys):
        if key is not None:
            places.setdefault(key, []).append(place)
    return places
