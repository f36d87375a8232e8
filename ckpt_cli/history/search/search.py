"""Where a pattern is in the history of a namespace: each text once, from where it appeared to where it was last.

Neighbouring checkpoints hold nearly the same objects. The same object (equal bytes) is searched once, and what was not
found in it is not looked for again; its bytes are not kept for that, only a number.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ckpt_cli.history.search.pattern import Match, Needle
from ckpt_cli.history.state.channels import START
from ckpt_cli.values.known import is_secret
from ckpt_cli.values.natural import arguments, text
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.parts import inside, is_leaf, parts

_NESTED = 60  # objects inside each other that are remembered one by one; deeper ones are searched with their owner

Path = tuple[Any, ...]


class Place(StrEnum):
    """Where a text is in a value."""

    STATE = "state"
    WRITES = "writes"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class MatchedText:
    """A text that matches, in one value; `mark` is equal for equal texts."""

    path: Path
    mark: int
    match: Match


class Search:
    """Looks for one needle in many values."""

    def __init__(self, needle: Needle) -> None:
        self._needle = needle
        self._known: dict[tuple[str, int], list[MatchedText]] = {}  # what was found in objects, by their bytes
        self._broken: list[tuple[Path, Node]] = []

    def broken(self) -> list[tuple[Path, Node]]:
        """What couldn't be read in the values searched since the last call; equal bytes are reported once."""
        found, self._broken = self._broken, []
        return found

    def find(self, value: Any, path: Path = ()) -> Iterator[MatchedText]:
        """Every matching text in a value: strings, keys of dicts, numbers, and what dates and the like read as."""
        return self._walk(value, path, 0)

    def _walk(self, value: Any, path: Path, nested: int) -> Iterator[MatchedText]:
        stack = [(value, path)]
        while stack:
            value, path = stack.pop()
            if isinstance(value, Node) and value.raw is not None and nested < _NESTED:
                yield from self._node(value, path, nested)
            elif isinstance(value, str):
                yield from self._text(value, path)
            elif is_leaf(value):
                yield from self._leaf(value, path)
            else:
                for key, item in parts(value):
                    if not self._is_barren(item):
                        stack.append((item, (*path, key)))
                    if isinstance(key, str) and isinstance(value, dict):
                        yield from self._text(key, (*path, key))

    def _is_barren(self, value: Any) -> bool:
        """Whether it is an object that nothing was found in before."""
        return type(value) is Node and self._known.get((value.encoding, hash(value.raw))) == []

    def _node(self, node: Node, path: Path, nested: int) -> Iterator[MatchedText]:
        raw = node.raw or b""
        key = (node.encoding, hash(raw))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._first(node, path, nested)
        for one in found:
            yield MatchedText((*path, *one.path), one.mark, one.match)

    def _first(self, node: Node, path: Path, nested: int) -> list[MatchedText]:
        """What is in an object that wasn't seen before, by its paths from there."""
        holds = self._needle.may_hold_raw(node.encoding, node.raw or b"")
        if (holds or node.opened) and node.form is Form.BROKEN:
            self._broken.append((path, node))
        elif holds:
            before = len(self._broken)
            found = list(self._open(node, nested + 1))
            self._broken[before:] = [((*path, *inner), bad) for inner, bad in self._broken[before:]]
            return found
        return []

    def _open(self, node: Node, nested: int) -> Iterator[MatchedText]:
        value = inside(node)
        if value is not node:
            yield from self._walk(value, (), nested)
        elif is_leaf(node):
            yield from self._leaf(node, ())
        else:
            for key, item in parts(node):
                yield from self._walk(item, (key,), nested)

    def _leaf(self, value: Any, path: Path) -> Iterator[MatchedText]:
        if isinstance(value, bool | bytes | bytearray) or value is None or is_secret(value):
            return
        if isinstance(value, Node):
            yield from self._text(_read(value), path)
        elif not self._needle.word:  # no number reads like a word
            yield from self._text(str(value) if not isinstance(value, int) or value.bit_length() < 4096 else "", path)

    def _text(self, told: str, path: Path) -> Iterator[MatchedText]:
        match = self._needle.match(told)
        if match is not None:
            yield MatchedText(path, hash(told), match)


def _read(node: Node) -> str:
    if node.form in (Form.BROKEN, Form.OPAQUE, Form.UNDEFINED, Form.ARRAY):
        return ""
    args, _ = arguments(node)
    return "" if args and isinstance(args[0], bytes) else text(node) or ""


@dataclass(slots=True)
class Sighting:
    """A text through the history of one namespace.

    Attributes:
        path: in `first`.
        first: the checkpoint with the lowest id that holds it.
        last: the one with the highest.
        checkpoints: how many hold it.
    """

    place: Place
    channel: str
    path: Path
    match: Match
    mark: int
    first: str
    last: str
    checkpoints: int = 1


class Sightings:
    """Gathers what is found while checkpoints pass by in ascending order."""

    def __init__(self) -> None:
        self._all: dict[tuple[Place, Path, int], Sighting] = {}

    def add(self, checkpoint_id: str, place: Place, found: Iterable[MatchedText]) -> None:
        """What was found in one checkpoint; a text that only moved in its list is still the same sighting."""
        for one in found:
            names = tuple(step for step in one.path if not isinstance(step, int))
            known = self._all.get((place, names, one.mark))
            if known is None:
                channel = str(one.path[0])
                self._all[(place, names, one.mark)] = Sighting(
                    place, channel, one.path, one.match, one.mark, checkpoint_id, checkpoint_id
                )
            elif known.last != checkpoint_id:
                known.last = checkpoint_id
                known.checkpoints += 1

    def told(self, parents: Sequence[tuple[str, str | None]] = ()) -> list[Sighting]:
        """The sightings by first appearance, without those that only repeat what the state tells.

        Input and what a task writes are in the state of the next checkpoint, and old metadata repeats the writes; they
        are told only where the state doesn't hold them from there on: pending, special, or of a delta channel.
        """
        before = dict(parents)
        state: dict[int, list[Sighting]] = {}
        for one in self._all.values():
            if one.place is Place.STATE:
                state.setdefault(one.mark, []).append(one)
        kept = [one for one in self._all.values() if not _repeats(one, state.get(one.mark, ()), before)]
        return sorted(kept, key=lambda one: (one.first, one.place != Place.STATE))


def _repeats(one: Sighting, state: Sequence[Sighting], before: dict[str, str | None]) -> bool:
    if one.place is Place.STATE:
        return one.channel == START and any(other.channel != START for other in state)
    if one.place is Place.METADATA:
        return bool(state)
    return any(before.get(other.first) == one.first or other.first <= one.first for other in state)
