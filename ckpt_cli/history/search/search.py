"""Which texts in values match a pattern, from which to which checkpoint; equal objects searched once.

Neighbouring checkpoints hold nearly the same objects. Objects with equal bytes are searched only once: the matches are
remembered by a hash of the bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ckpt_cli.history.search.pattern import Match, Needle
from ckpt_cli.history.state.channels import START
from ckpt_cli.values.langgraph_values import is_secret
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.parts import inside, is_leaf, parts
from ckpt_cli.values.well_known_types import arguments, text

_NESTED = 60  # levels of objects that are remembered one by one; a deeper object is searched as a part of its owner
_REMEMBERED = 100_000  # objects whose matches are remembered; then they are searched again
_NONE: list["MatchedText"] = []

Path = tuple[Any, ...]


class Place(StrEnum):
    """Where a text is in a value."""

    STATE = "state"
    WRITES = "writes"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class MatchedText:
    """A matching text in one value; `mark` is equal for equal texts. `is_key`: the text is the last key of the path."""

    path: Path
    mark: int
    match: Match
    is_key: bool = False


class Search:
    """Searches many values for one needle."""

    def __init__(self, needle: Needle) -> None:
        self._needle = needle
        self._known: dict[tuple[str, int], list[MatchedText]] = {}
        """The matches in an object, by its encoding and the hash of its bytes."""
        self._broken: list[tuple[Path, Node]] = []

    def broken(self) -> list[tuple[Path, Node]]:
        """The paths and nodes that couldn't be read since the last call; nodes with equal bytes are given once."""
        broken, self._broken = self._broken, []
        return broken

    def find(self, value: Any, path: Path = ()) -> Iterator[MatchedText]:
        """Every matching text in a value: a string, a key of a dict, a number, or the text of a date and the like."""
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
                    if not self._has_no_match(item):
                        stack.append((item, (*path, key)))
                    if isinstance(key, str) and isinstance(value, dict):
                        yield from self._text(key, (*path, key), is_key=True)

    def _has_no_match(self, value: Any) -> bool:
        """Whether a value is an object that was searched before and had no match."""
        return type(value) is Node and self._known.get((value.encoding, hash(value.raw))) == []

    def _node(self, node: Node, path: Path, nested: int) -> Iterator[MatchedText]:
        raw = node.raw or b""
        key = (node.encoding, hash(raw))
        matches = self._known.get(key)
        if matches is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            matches = self._known[key] = self._search_new(node, path, nested) or _NONE
        for inner in matches:
            yield MatchedText((*path, *inner.path), inner.mark, inner.match, inner.is_key)

    def _search_new(self, node: Node, path: Path, nested: int) -> list[MatchedText]:
        """The matches in an object that was not searched before; their paths begin at the object."""
        may_match = self._needle.may_hold_raw(node.encoding, node.raw or b"")
        if (may_match or node.opened) and node.form is Form.BROKEN:
            self._broken.append((path, node))
        elif may_match:
            before = len(self._broken)
            matches = list(self._open(node, nested + 1))
            self._broken[before:] = [((*path, *inner), bad) for inner, bad in self._broken[before:]]
            return matches
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
            yield from self._text(_text_of(value), path)
        elif not self._needle.word:  # a number contains no word
            yield from self._text(str(value) if not isinstance(value, int) or value.bit_length() < 4096 else "", path)

    def _text(self, text: str, path: Path, *, is_key: bool = False) -> Iterator[MatchedText]:
        match = self._needle.match(text)
        if match is not None:
            yield MatchedText(path, hash((text, is_key)), match, is_key)


def _text_of(node: Node) -> str:
    if node.form in (Form.BROKEN, Form.OPAQUE, Form.UNDEFINED, Form.ARRAY):
        return ""
    args, _ = arguments(node)
    return "" if args and isinstance(args[0], bytes) else text(node) or ""


@dataclass(slots=True)
class Sighting:
    """A matching text in the history of one namespace.

    Attributes:
        path: the path of the text in the checkpoint `first`.
        first: the checkpoint with the lowest id that holds the text.
        last: the checkpoint with the highest id that holds the text.
        checkpoints: the number of checkpoints that hold the text.
        is_key: whether the text is the last key of the path, and no value.
    """

    place: Place
    channel: str
    path: Path
    match: Match
    mark: int
    first: str
    last: str
    checkpoints: int = 1
    is_key: bool = False


class Sightings:
    """Collects the matches of checkpoints that are searched in ascending order."""

    def __init__(self) -> None:
        self._all: dict[tuple[Place, Path, int], Sighting] = {}

    def add(self, checkpoint_id: str, place: Place, texts: Iterable[MatchedText]) -> None:
        """Add the matches in one checkpoint; if a text only moved in its list, this is the same sighting."""
        for one in texts:
            names = tuple(step for step in one.path if not isinstance(step, int))
            sighting = self._all.get((place, names, one.mark))
            if sighting is None:
                channel = str(one.path[0])
                self._all[(place, names, one.mark)] = Sighting(
                    place, channel, one.path, one.match, one.mark, checkpoint_id, checkpoint_id, is_key=one.is_key
                )
            elif sighting.last != checkpoint_id:
                sighting.last = checkpoint_id
                sighting.checkpoints += 1

    def distinct(self, parents: Sequence[tuple[str, str | None]] = ()) -> list[Sighting]:
        """The sightings in the order of their first checkpoints, without those that only repeat the state.

        Most texts of an input or a write are in the state of the next checkpoint too, and old metadata repeats the
        writes. So a sighting outside the state only counts if the following states don't have the text: the write is
        pending or special, or its channel is a delta channel. `parents` has pairs of checkpoint id and parent id.
        """
        parent_of = dict(parents)
        in_state: dict[int, list[Sighting]] = {}
        for one in self._all.values():
            if one.place is Place.STATE:
                in_state.setdefault(one.mark, []).append(one)
        distinct = [one for one in self._all.values() if not _repeats(one, in_state.get(one.mark, ()), parent_of)]
        return sorted(distinct, key=lambda one: (one.first, one.place != Place.STATE))


def _repeats(one: Sighting, in_state: Sequence[Sighting], parent_of: dict[str, str | None]) -> bool:
    if one.place is Place.STATE:
        return one.channel == START and any(other.channel != START for other in in_state)
    if one.place is Place.METADATA:
        return bool(in_state)
    return any(parent_of.get(other.first) == one.first or other.first <= one.first for other in in_state)
