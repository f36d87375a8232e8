"""Which elements of two lists belong together, by id or content; the digest by which values are compared."""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from math import isnan
from typing import Any, NamedTuple

from ckpt_cli.history.diff.matching import Block, match
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import fields
from ckpt_cli.values.same import same

_DEEPEST = 40


class Alignment(NamedTuple):
    """Where the elements of one list are in another; a place is an index.

    Attributes:
        pairs: places in both lists, ascending in both.
        moved: places of elements that are in both lists, but in another order.
        removed: places in the first list of elements that the second doesn't have.
        added: places in the second list of elements that the first doesn't have.
        exact: False if there are too many repeated elements to match. Then some pairs only have the same place.
    """

    pairs: list[tuple[int, int]]
    moved: list[tuple[int, int]]
    removed: list[int]
    added: list[int]
    exact: bool = True

    def shifted(self, by: int) -> "Alignment":
        """The same alignment of two lists before which some equal elements are put."""
        pairs, moved = ([(i + by, j + by) for i, j in some] for some in (self.pairs, self.moved))
        return self._replace(
            pairs=pairs, moved=moved, removed=[i + by for i in self.removed], added=[j + by for j in self.added]
        )


def align(a: Sequence[Any], b: Sequence[Any]) -> Alignment:
    """The alignment of two lists. Equal ends are matched first, since most lists only grow."""
    head = 0
    while head < min(len(a), len(b)) and same(a[head], b[head]):
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and same(a[-1 - tail], b[-1 - tail]):
        tail += 1
    middle = _align(a[head : len(a) - tail], b[head : len(b) - tail])
    ends = [(i, i) for i in range(head)], [(len(a) - n, len(b) - n) for n in range(tail, 0, -1)]
    return Alignment(
        pairs=[*ends[0], *((i + head, j + head) for i, j in middle.pairs), *ends[1]],
        moved=[(i + head, j + head) for i, j in middle.moved],
        removed=[i + head for i in middle.removed],
        added=[j + head for j in middle.added],
        exact=middle.exact,
    )


def align_sets(a: Sequence[Any], b: Sequence[Any]) -> Alignment:
    """The alignment of the elements of two sets, by id or content: the order in which they are stored means nothing."""
    raw = _encodings(a) == _encodings(b)
    places: dict[Hashable, list[int]] = {}
    for j in reversed(range(len(b))):
        places.setdefault(_key(b[j], raw), []).append(j)
    keys = [_key(item, raw) for item in a]
    pairs = [(i, places[key].pop()) for i, key in enumerate(keys) if places.get(key)]
    kept = {i for i, _ in pairs}
    removed = [i for i in range(len(a)) if i not in kept]
    return Alignment(pairs, [], removed, sorted(j for left in places.values() for j in left))


def content_keys(a: Sequence[Any], b: Sequence[Any]) -> tuple[list[int | None], list[int | None]]:
    """For each element of two lists a number that equal contents share; None for an element with an id."""
    raw = _encodings(a) == _encodings(b)
    a_keys, b_keys = ([None if id_of(one) is not None else digest(one, raw=raw) for one in some] for some in (a, b))
    return a_keys, b_keys


def _align(a: Sequence[Any], b: Sequence[Any]) -> Alignment:
    if not a or not b:
        return Alignment([], [], list(range(len(a))), list(range(len(b))))
    raw = _encodings(a) == _encodings(b)
    old, new = [_key(item, raw) for item in a], [_key(item, raw) for item in b]
    matching = match(old, new)
    pairs = matching.pairs
    moved = _moved(old, new, dict(pairs)) if pairs or matching.exact else []
    if any(i == j for i, j in moved):
        pairs, moved = _with_fixed(pairs, moved)
        matching = matching._replace(pairs=pairs)
    taken = {i for i, _ in moved}, {j for _, j in moved}
    in_place = [pair for block in matching.loose(len(a), len(b)) for pair in _in_place(a, b, old, new, block, taken)]
    pairs = sorted([*pairs, *in_place])
    matched_old, matched_new = {i for i, _ in [*pairs, *moved]}, {j for _, j in [*pairs, *moved]}
    removed = [i for i in range(len(a)) if i not in matched_old]
    added = [j for j in range(len(b)) if j not in matched_new]
    return Alignment(pairs, moved, removed, added, matching.exact)


def _moved(old: list[Hashable], new: list[Hashable], taken: dict[int, int]) -> list[tuple[int, int]]:
    """Where the other elements are; of equal elements, those at the same place belong together first."""
    taken_new = set(taken.values())
    common = range(min(len(old), len(new)))
    fixed = {i for i in common if old[i] == new[i] and i not in taken and i not in taken_new}
    places: dict[Hashable, list[int]] = {}
    for j in reversed(range(len(new))):
        if j not in taken_new and j not in fixed:
            places.setdefault(new[j], []).append(j)
    others = (i for i in range(len(old)) if i not in taken and i not in fixed)
    return sorted([*((i, i) for i in fixed), *((i, places[old[i]].pop()) for i in others if places.get(old[i]))])


def _with_fixed(
    pairs: list[tuple[int, int]], moved: list[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The same matches, none of which says of an element that has the same place in both lists that it moved.

    What passed such an element moved instead.
    """
    fixed = [i for i, j in moved if i == j]
    passing = {(i, j) for i, j in pairs if bisect_right(fixed, min(i, j)) < bisect_left(fixed, max(i, j))}
    kept = sorted([*(pair for pair in pairs if pair not in passing), *((i, i) for i in fixed)])
    return kept, sorted([*passing, *((i, j) for i, j in moved if i != j)])


def _in_place(
    a: Sequence[Any],
    b: Sequence[Any],
    old: list[Hashable],
    new: list[Hashable],
    block: Block,
    moved: tuple[set[int], set[int]],
) -> list[tuple[int, int]]:
    """The elements of a block that changed: pairs with the same type and position, and without ids."""
    moved_old, moved_new = moved
    left = [i for i in range(block[0], block[1]) if i not in moved_old]
    right = [j for j in range(block[2], block[3]) if j not in moved_new]
    return [(i, j) for i, j in zip(left, right, strict=False) if _alike(a[i], b[j], old[i], new[j])]


def _alike(x: Any, y: Any, key_x: Hashable, key_y: Hashable) -> bool:
    if isinstance(key_x, _Id) or isinstance(key_y, _Id) or type(x) is not type(y):
        return False
    return not isinstance(x, Node) or x.type == y.type


class _Id(NamedTuple):
    """The key of an element that has an id."""

    id: str | int


def _encodings(items: Sequence[Any]) -> set[str]:
    """The encodings of the nodes in a list.

    Raw bytes are compared only if both lists have the same encodings: a newer release may store an equal object in
    other bytes.
    """
    return {item.encoding for item in items if isinstance(item, Node)}


def id_of(item: Any) -> str | int | None:
    """The id of an element, by which it is known again; None if it has none."""
    own = fields(item).get("id") if isinstance(item, dict | Node) else None
    return own if isinstance(own, str | int) and own != "" else None


def _key(item: Any, raw: bool) -> Hashable:
    own = id_of(item)
    return digest(item, raw=raw) if own is None else _Id(own)


def digest(value: Any, depth: int = 0, *, raw: bool = True) -> int:
    """A hash that is equal for equal values; with `raw`, a node is hashed by its bytes, without decoding."""
    if isinstance(value, Node):
        if raw and value.raw is not None:
            return hash((value.encoding, value.raw))
        if depth > _DEEPEST:
            return 0
        if (members := value.members) is not None:  # a set: its elements have no order, and may be stored twice
            return hash((value.type, value.form, *sorted(digest(item, depth + 2, raw=raw) for item in members)))
        return hash((value.type, value.form, digest(value.state, depth + 1, raw=raw)))
    if depth > _DEEPEST:
        return 0
    if isinstance(value, dict):
        return hash(frozenset((type(key), key, digest(item, depth + 1, raw=raw)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return hash((type(value), *(digest(item, depth + 1, raw=raw) for item in value)))
    if isinstance(value, float) and isnan(value):
        return hash("nan")
    return hash((type(value), value))
