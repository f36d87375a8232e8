"""The parts of a value up to a path's end, each followed from checkpoint to checkpoint.

A list's elements are followed by id or content (`align`), so that an inserted element doesn't make its neighbours new;
a set's without their order. Equal elements may be as old as each other (`equal_elements`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress, count
from operator import is_not
from typing import Any

from ckpt_cli.history.diff.align import Alignment, align, align_sets
from ckpt_cli.history.diff.element_keys import OwnId, content_keys, id_of
from ckpt_cli.history.diff.equal_elements import (
    Alike,
    Alternative,
    When,
    alike,
    alike_at_both_ends,
    ends_with,
    equal_places,
    newest,
)
from ckpt_cli.history.diff.part_kinds import Kind
from ckpt_cli.history.diff.part_moments import ABSENT, NO_OTHERS, Alternatives, Became, Gone, Path, Standing
from ckpt_cli.history.diff.part_walk import Walk
from ckpt_cli.history.state.paths import find
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import inside, positions


class Part:
    """A value on the way to the end of the path, or there; with the parts below it."""

    __slots__ = ("before", "elements", "ids", "ignored", "keyed", "kind", "others", "past", "since", "steps", "value")

    def __init__(self, steps: Path | None) -> None:
        self.steps = steps
        self.value: Any = ABSENT
        self.before: Any = ABSENT
        self.since = 0
        self.kind = Kind.NOTHING
        self.elements: list[Part] = []
        self.ids: list[OwnId] = []
        self.keyed: dict[Any, Part] = {}
        self.past: list[Became] = []
        self.others = NO_OTHERS
        self.ignored = False

    def take(self, value: Any, path: Path, walk: Walk) -> bool:
        """Take the next value; returns whether it differs from the last one."""
        if value is self.value:
            return False
        kind = walk.kind(value, self.steps)
        if kind is not self.kind:
            is_new = self.kind is Kind.NOTHING
            self.end(path, walk, value)
            self._begin(value, kind, path, walk)
            return not is_new or kind is not Kind.NOTHING
        changed = {
            Kind.WHOLE: self._take_whole,
            Kind.LIST: self._take_list,
            Kind.KEYS: self._take_keys,
            Kind.STEP: self._take_step,
        }[kind](value, path, walk)
        self.value = value
        if changed:
            self._note(path, walk)
        return changed

    def end(self, path: Path, walk: Walk, after: Any = ABSENT, equal: Sequence[int] = ()) -> None:
        """Report the parts below as gone: the value is `after` from now on, `equal` elements were at these places."""
        if walk.gone is not None:
            replaced = after if self.kind is Kind.WHOLE else ABSENT
            for one in self.standing(path, every=True):
                elsewhere = [(*path[:-1], place, *one.path[len(path) :]) for place in equal]
                walk.gone.append(Gone(*one[:3], walk.number, replaced, elsewhere))
        self.kind, self.elements, self.ids, self.keyed = Kind.NOTHING, [], [], {}

    def standing(self, path: Path, *, every: bool = False) -> Iterator[Standing]:
        """The parts at the end of the path; with `every`, those of all elements, whichever the path names."""
        if self.ignored:
            return
        if self.kind is Kind.WHOLE:
            yield Standing(path, self.value, self.since, self.before, self.others)
        elif self.kind is Kind.LIST:
            if not self.elements and not self.steps and not every:
                yield Standing(path, self.value, self.since)
            for place in range(len(self.elements)) if every else self._places():
                yield from self.elements[place].standing((*path, place), every=every)
        else:
            if self.kind is Kind.KEYS and not self.keyed and not every:
                yield Standing(path, self.value, self.since)
            for key, part in self.keyed.items():
                yield from part.standing((*path, key), every=every)

    def choose(self) -> None:
        """Ignore the elements that the path doesn't name; see `PartAges.choose`."""
        places = self._places()
        for place, part in enumerate(self.elements):
            part.ignored = part.ignored or place not in places
            part.choose()
        for part in self.keyed.values():
            part.choose()

    def ends(self) -> Iterator["Part"]:
        """The parts to which the path leads."""
        if not self.steps:
            yield self
        elif self.kind is Kind.LIST:
            for place in self._places():
                yield from self.elements[place].ends()
        else:
            for part in self.keyed.values():
                yield from part.ends()

    def _places(self) -> Sequence[int]:
        """The places of the elements that the path names."""
        size = len(self.elements)
        step = self.steps[0] if self.steps else slice(None)
        return range(size)[step] if isinstance(step, slice) else [step % size] if -size <= step < size else []

    def _begin(self, value: Any, kind: Kind, path: Path, walk: Walk) -> None:
        self.value, self.kind, self.before = value, kind, ABSENT
        if kind is Kind.LIST:
            self.elements = [self._new(item, (*path, i), walk) for i, item in enumerate(positions(value) or ())]
        elif kind is Kind.KEYS:
            self.keyed = {key: self._new(item, (*path, key), walk) for key, item in _items(value)}
        elif kind is Kind.STEP and self.steps:
            key, item = find(value, self.steps[0]) or (self.steps[0], ABSENT)
            self.keyed = {key: self._new(item, (*path, key), walk)}
        self._note(path, walk)

    def _note(self, path: Path, walk: Walk) -> None:
        """Note that the value is another one since this checkpoint."""
        self.since, self.others = walk.number, NO_OTHERS
        if not self.steps and walk.whole:
            self.past.append(Became(walk.number, None if self.kind is Kind.NOTHING else path))

    def doubt(self, others: Alternatives) -> None:
        """Note at which other checkpoints the value may have come."""
        self.others = {number: other for number, other in others.items() if number != self.since}
        if self.past:
            self.past[-1] = self.past[-1]._replace(others=self.others)
        for part in (*self.elements, *self.keyed.values()):
            part.doubt(others)

    def doubt_over_gap(self, number: int) -> None:
        """Note that the value may have gone and come again in the steps before this checkpoint, which aren't stored."""
        self.others = newest({**self.others, number: Alternative(When.UNSEEN)})
        if self.past:
            self.past[-1] = self.past[-1]._replace(others=self.others)
        for part in (*self.elements, *self.keyed.values()):
            part.doubt_over_gap(number)

    def _new(self, value: Any, path: Path, walk: Walk) -> "Part":
        rest = self.steps[1:] if self.steps and not isinstance(self.steps[0], slice) else None
        part = Part(rest)
        part._begin(value, walk.kind(value, rest), path, walk)
        return part

    def _take_whole(self, value: Any, path: Path, walk: Walk) -> bool:
        if (walk.same_part if path else walk.same_whole)(self.value, value):
            return False
        if walk.gone is not None and not self.ignored:
            walk.gone.append(Gone(path, self.value, self.since, walk.number, value, is_guessed=walk.is_guessed))
        self.before = self.value
        return True

    def _take_keys(self, value: Any, path: Path, walk: Walk) -> bool:
        new = dict(_items(value))
        lost = [key for key in self.keyed if key not in new]
        for key in lost:
            self.keyed.pop(key).end((*path, key), walk)
        changed = bool(lost)
        for key, item in new.items():
            part = self.keyed.get(key)
            if part is None:
                self.keyed[key] = self._new(item, (*path, key), walk)
                changed = True
            elif part.value is not item:
                changed |= part.take(item, (*path, key), walk)
        return changed

    def _take_step(self, value: Any, path: Path, walk: Walk) -> bool:
        step = self.steps[0] if self.steps else None
        key, item = find(value, step) or (step, ABSENT)
        [(_, part)] = self.keyed.items()
        self.keyed = {key: part}
        return part.take(item, (*path, key), walk)

    def _take_list(self, value: Any, path: Path, walk: Walk) -> bool:
        old, new = positions(self.value) or (), positions(value) or ()
        first = _first_other(old, new)
        if first == len(old) == len(new):
            return False
        del self.ids[first:]
        is_set, same = _is_set(value), walk.same_part
        is_doubtful = walk.is_after_gap and not is_set and not (len(old) <= len(new) and all(map(same, old, new)))
        first = 0 if is_doubtful or is_set else first
        before_ids = partial(self._ids_until, first, old) if first else None
        alignment = align_sets(old, new, same) if is_set else align(old[first:], new[first:], before_ids, same)
        changed = bool(alignment.moved or alignment.removed or alignment.added)
        tail: list[Part | None] = [None] * (len(new) - first)
        contents = content_keys(old, new)[1] if is_doubtful else ()
        edited, before, unseen = dict[int, tuple[int, Alternatives]](), self.elements[first:], list[Part]()
        is_guessed = walk.is_guessed
        for i, j in [*alignment.pairs, *alignment.moved]:
            is_unseen = is_doubtful and contents[j] is not None
            if is_unseen and not same(before[i].value, new[first + j]):
                before[i].end((*path, first + i), walk)
                tail[j] = self._new(new[first + j], (*path, first + j), walk)
                changed = True
                continue
            tail[j] = part = before[i]
            unseen += [part] if is_unseen else []
            last = part.since, part.others
            walk.is_guessed = is_guessed or i in alignment.guessed
            if part.take(new[first + j], (*path, first + i), walk):
                edited[first + i] = last
        walk.is_guessed = is_guessed
        removed = [first + i for i in alignment.removed]
        equal = equal_places(old, removed) if removed and walk.gone is not None and not is_set else {}
        for place in removed:
            self.elements[place].end((*path, place), walk, equal=equal.get(place, ()))
        for j in alignment.added:
            tail[j] = self._new(new[first + j], (*path, first + j), walk)
        is_clear = is_set or walk.gone is not None  # nobody asks when a part that went may have come
        mixed = () if is_clear else _alike(old, new, alignment.shifted(first), edited, walk)
        doubts = [(one, self._alternatives(one, edited, walk)) for one in mixed]
        self.elements[first:] = [part for part in tail if part is not None]
        for one, others in doubts:
            for place in one.new:
                part = self.elements[place]
                part.doubt({**others, **part.others} if one.now.when is When.PREPENDED else others)
        for part in unseen:
            part.doubt_over_gap(walk.number)
        return changed or bool(edited)

    def _ids_until(self, end: int, value: Sequence[Any]) -> list[OwnId]:
        """The ids of the first elements of the list; they are kept, since a list may be asked for them at each step."""
        self.ids += map(id_of, value[len(self.ids) : end])
        return self.ids

    def _alternatives(self, one: Alike, edited: Mapping[int, tuple[int, Alternatives]], walk: Walk) -> Alternatives:
        """When each of some equal elements may have come; `edited` has the ages of elements that are other ones now."""
        parts = ((place, self.elements[place]) for place in one.old)
        ages = [edited.get(place) or (part.since, part.others) for place, part in parts]
        if one.now.when is When.PREPENDED:
            return dict.fromkeys((walk.number, *(since for since, _ in ages)), one.now)
        possible = [walk.possible(some) for _, some in ages]
        others = {number: other for some in possible for number, other in some.items()}
        return newest({walk.number: one.now, **others, **dict.fromkeys((since for since, _ in ages), Alternative())})


def _alike(
    old: Sequence[Any], new: Sequence[Any], alignment: Alignment, edited: Mapping[int, Any], walk: Walk
) -> Iterable[Alike]:
    """The equal elements that a step mixed up; notes at which end the list grew."""
    is_more = bool(alignment.added and old) and not (alignment.moved or alignment.removed or edited)
    at_beginning = is_more and ends_with(new, old, walk.same_part)
    at_end = is_more and alignment.added[0] == len(old)
    if is_more and at_beginning != at_end:
        walk.grew("end" if at_end else "beginning")
    if at_end:
        return alike_at_both_ends(old, new) if at_beginning else ()
    return alike(old, new, alignment, edited)


def _is_set(value: Any) -> bool:
    plain = inside(value)
    return isinstance(plain, Node) and plain.unordered


def _first_other(old: Sequence[Any], new: Sequence[Any]) -> int:
    """The first place where two lists don't have the same object, found at the speed of C: most lists only grow."""
    shorter = min(len(old), len(new))
    return next(compress(count(), map(is_not, old, new)), shorter)


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    plain = inside(value)
    return iter(plain.items()) if isinstance(plain, Mapping) else iter(())
