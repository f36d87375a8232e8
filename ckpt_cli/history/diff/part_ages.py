"""Since when each part of a value stands along a line of checkpoints; when a part went.

A list's elements are followed by id or content (`align`), so that an inserted element doesn't make its neighbours new.
A part is an element of the list, or a key of the dict, at the end of a path; any other value there is the only part.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, count
from operator import is_not
from typing import Any, NamedTuple

from ckpt_cli.history.diff.align import align, id_of
from ckpt_cli.history.diff.part_kinds import Kind, kind_of
from ckpt_cli.history.state.paths import find
from ckpt_cli.values.parts import inside, positions
from ckpt_cli.values.same import same

ABSENT = object()
"""The value of a channel that holds nothing, or of a path that leads nowhere."""

Path = tuple[Any, ...]


class Standing(NamedTuple):
    """A part of the newest value; `since` is the number of the checkpoint from which on it stands, after `before`."""

    path: Path
    value: Any
    since: int
    before: Any = ABSENT


class Gone(NamedTuple):
    """A part that no longer stands.

    Attributes:
        path: where it was last.
        until: the number of the first checkpoint without it.
        after: the value that replaced it; ABSENT if none did.
    """

    path: Path
    value: Any
    since: int
    until: int
    after: Any


class PartAges:
    """Follows the parts of one channel's value from checkpoint to checkpoint.

    Attributes:
        gone: the parts that went, if `keep_gone`; whoever takes them empties the list.
    """

    def __init__(self, steps: Sequence[Any], *, whole: bool = False, keep_gone: bool = False) -> None:
        """Follow what a path leads to.

        Args:
            steps: the path inside the channel, as `paths.parse` gives it; the last step may be a slice.
            whole: whether the value at the end of the path is one part, even if it is a list or a dict.
            keep_gone: whether `gone` is filled.
        """
        self.gone: list[Gone] = []
        self._steps, self._whole, self._keep_gone = tuple(steps), whole, keep_gone
        self._root = _Part(self._steps)
        self._walk = _Walk(self.gone if keep_gone else None, whole=whole)

    def anew(self) -> "PartAges":
        """The same question, before any value was taken."""
        return PartAges(self._steps, whole=self._whole, keep_gone=self._keep_gone)

    def take(self, value: Any, number: int, *, is_after_gap: bool = False) -> None:
        """Take the channel's value at the next checkpoint, or ABSENT.

        Args:
            value: the value.
            number: the checkpoint's number.
            is_after_gap: whether steps before it aren't stored. Then an element without an id may be an equal one that
                came later, unless the list has only grown.
        """
        self._walk.number, self._walk.is_after_gap = number, is_after_gap
        self._root.take(value, (), self._walk)

    def parts(self, *, followed: bool = False) -> list[Standing]:
        """The parts of the last value at the end of the path, in their order.

        With `followed`, the positions of the path are those of the value at which `choose` was called.
        """
        return list(self._root.standing((), every=followed))

    def choose(self) -> None:
        """Follow only what the path leads to in the present value, wherever it moves; `gone` names only that then.

        Parts that come later are still followed.
        """
        self._root.choose()

    def moments(self) -> list[tuple[int, Path | None]]:
        """With `whole`: at which checkpoints the value at the end of the path became another; None where it went."""
        [part] = self._root.ends()
        return part.past


class _Walk:
    """What all parts share: the number of the checkpoint, and where to report parts that are gone."""

    def __init__(self, gone: list[Gone] | None, *, whole: bool) -> None:
        self.gone = gone
        self.whole = whole
        self.number = 0
        self.is_after_gap = False

    def kind(self, value: Any, steps: Path | None) -> Kind:
        """How a value is followed; `steps` is the rest of the path, None behind its end."""
        if value is ABSENT:
            return Kind.NOTHING
        if steps is None or (not steps and self.whole):
            return Kind.WHOLE
        return kind_of(value, steps)


class _Part:
    """A value on the way to the end of the path, or there; with the parts below it."""

    __slots__ = ("before", "elements", "ignored", "keyed", "kind", "past", "since", "steps", "value")

    def __init__(self, steps: Path | None) -> None:
        self.steps = steps
        self.value: Any = ABSENT
        self.before: Any = ABSENT
        self.since = 0
        self.kind = Kind.NOTHING
        self.elements: list[_Part] = []
        self.keyed: dict[Any, _Part] = {}
        self.past: list[tuple[int, Path | None]] = []
        self.ignored = False

    def take(self, value: Any, path: Path, walk: _Walk) -> bool:
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

    def end(self, path: Path, walk: _Walk, after: Any = ABSENT) -> None:
        """Report the parts below as gone; the value is `after` from now on."""
        if walk.gone is not None:
            replaced = after if self.kind is Kind.WHOLE else ABSENT
            walk.gone.extend(Gone(*one[:3], walk.number, replaced) for one in self.standing(path, every=True))
        self.kind, self.elements, self.keyed = Kind.NOTHING, [], {}

    def standing(self, path: Path, *, every: bool = False) -> Iterator[Standing]:
        """The parts at the end of the path; with `every`, those of all elements, whichever the path names."""
        if self.ignored:
            return
        if self.kind is Kind.WHOLE:
            yield Standing(path, self.value, self.since, self.before)
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

    def ends(self) -> Iterator["_Part"]:
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

    def _begin(self, value: Any, kind: Kind, path: Path, walk: _Walk) -> None:
        self.value, self.kind, self.before = value, kind, ABSENT
        if kind is Kind.LIST:
            self.elements = [self._new(item, (*path, i), walk) for i, item in enumerate(positions(value) or ())]
        elif kind is Kind.KEYS:
            self.keyed = {key: self._new(item, (*path, key), walk) for key, item in _items(value)}
        elif kind is Kind.STEP and self.steps:
            key, item = find(value, self.steps[0]) or (self.steps[0], ABSENT)
            self.keyed = {key: self._new(item, (*path, key), walk)}
        self._note(path, walk)

    def _note(self, path: Path, walk: _Walk) -> None:
        """Note that the value is another one since this checkpoint."""
        self.since = walk.number
        if not self.steps and walk.whole:
            self.past.append((walk.number, None if self.kind is Kind.NOTHING else path))

    def _new(self, value: Any, path: Path, walk: _Walk) -> "_Part":
        rest = self.steps[1:] if self.steps and not isinstance(self.steps[0], slice) else None
        part = _Part(rest)
        part._begin(value, walk.kind(value, rest), path, walk)
        return part

    def _take_whole(self, value: Any, path: Path, walk: _Walk) -> bool:
        if same(self.value, value):
            return False
        if walk.gone is not None and not self.ignored:
            walk.gone.append(Gone(path, self.value, self.since, walk.number, value))
        self.before = self.value
        return True

    def _take_keys(self, value: Any, path: Path, walk: _Walk) -> bool:
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

    def _take_step(self, value: Any, path: Path, walk: _Walk) -> bool:
        step = self.steps[0] if self.steps else None
        key, item = find(value, step) or (step, ABSENT)
        [(_, part)] = self.keyed.items()
        self.keyed = {key: part}
        return part.take(item, (*path, key), walk)

    def _take_list(self, value: Any, path: Path, walk: _Walk) -> bool:
        old, new = positions(self.value) or (), positions(value) or ()
        first = _first_other(old, new)
        if first == len(old) == len(new):
            return False
        is_doubtful = walk.is_after_gap and not (len(old) <= len(new) and all(map(same, old, new)))
        first = 0 if is_doubtful else first
        alignment = align(old[first:], new[first:])
        moved = {*alignment.moved}
        changed = bool(alignment.moved or alignment.removed or alignment.added)
        tail: list[_Part | None] = [None] * (len(new) - first)
        for i, j in [*alignment.pairs, *alignment.moved]:
            if (is_doubtful or (i, j) in moved) and id_of(new[first + j]) is None:
                self.elements[first + i].end((*path, first + i), walk)
                tail[j] = self._new(new[first + j], (*path, first + j), walk)
                changed = True
                continue
            tail[j] = part = self.elements[first + i]
            changed |= part.take(new[first + j], (*path, first + i), walk)
        for i in alignment.removed:
            self.elements[first + i].end((*path, first + i), walk)
        for j in alignment.added:
            tail[j] = self._new(new[first + j], (*path, first + j), walk)
        self.elements[first:] = [part for part in tail if part is not None]
        return changed


def _first_other(old: Sequence[Any], new: Sequence[Any]) -> int:
    """The first place where two lists don't have the same object, found at the speed of C: most lists only grow."""
    shorter = min(len(old), len(new))
    return next(compress(count(), map(is_not, old, new)), shorter)


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    plain = inside(value)
    return iter(plain.items()) if isinstance(plain, Mapping) else iter(())
