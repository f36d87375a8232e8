"""Which elements of two lists belong together, by id or content."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ckpt_cli.history.diff.element_keys import Around, Id, OwnId, id_of, keys
from ckpt_cli.history.diff.matching import Block, match
from ckpt_cli.values.node import Node
from ckpt_cli.values.same import same, sort_key


class Alignment(NamedTuple):
    """Where the elements of one list are in another; a place is an index.

    Attributes:
        pairs: places in both lists, ascending in both.
        moved: places of elements that are in both lists, but in another order.
        removed: places in the first list of elements that the second doesn't have.
        added: places in the second list of elements that the first doesn't have.
        exact: False if there are too many repeated elements to match. Then some pairs only have the same place.
        guessed: places in the first list of elements whose partner is another one in the same place, of the same type
            and with the same id, if they have one: it may be the element, changed, or have come instead of it.
    """

    pairs: list[tuple[int, int]]
    moved: list[tuple[int, int]]
    removed: list[int]
    added: list[int]
    exact: bool = True
    guessed: Collection[int] = ()

    def shifted(self, by: int) -> "Alignment":
        """The same alignment of two lists before which some equal elements are put."""
        pairs, moved = ([(i + by, j + by) for i, j in some] for some in (self.pairs, self.moved))
        removed, added, guessed = ([place + by for place in some] for some in (self.removed, self.added, self.guessed))
        return Alignment(pairs, moved, removed, added, self.exact, {*guessed})


def align(
    a: Sequence[Any], b: Sequence[Any], before: Around | None = None, equal: Callable[[Any, Any], bool] = same
) -> Alignment:
    """The alignment of two lists. Equal ends are matched first, since most lists only grow.

    Args:
        a: the first list.
        b: the second.
        before: gives the ids of elements that both lists have before these.
        equal: whether an element is one of the other list, at the equal ends.
    """
    head = 0
    while head < min(len(a), len(b)) and equal(a[head], b[head]):
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and equal(a[-1 - tail], b[-1 - tail]):
        tail += 1

    def around() -> Iterator[OwnId]:
        return chain(before() if before else (), map(id_of, a[:head]), map(id_of, a[len(a) - tail :]))

    has_ends = bool(before or head or tail)
    middle = _align(a[head : len(a) - tail], b[head : len(b) - tail], around if has_ends else None).shifted(head)
    ends = [(i, i) for i in range(head)], [(len(a) - n, len(b) - n) for n in range(tail, 0, -1)]
    return middle._replace(pairs=[*ends[0], *middle.pairs, *ends[1]])


def align_sets(a: Sequence[Any], b: Sequence[Any], equal: Callable[[Any, Any], bool] = same) -> Alignment:
    """The alignment of the elements of two sets, by id or content: the order in which they are stored means nothing.

    Those that are left are paired too if all of them, sorted, are `equal`.
    """
    old, new = keys(a, b)
    places: dict[Hashable, list[int]] = {}
    for j in reversed(range(len(b))):
        places.setdefault(new[j], []).append(j)
    pairs = [(i, places[key].pop()) for i, key in enumerate(old) if places.get(key)]
    kept = {i for i, _ in pairs}
    removed = [i for i in range(len(a)) if i not in kept]
    added = sorted(j for left in places.values() for j in left)
    if removed and len(removed) == len(added):
        first, second = sorted(removed, key=lambda i: sort_key(a[i])), sorted(added, key=lambda j: sort_key(b[j]))
        left = [*zip(first, second, strict=True)]
        if all(equal(a[i], b[j]) for i, j in left):
            return Alignment(sorted([*pairs, *left]), [], [], [])
    return Alignment(pairs, [], removed, added)


def _align(a: Sequence[Any], b: Sequence[Any], around: Around | None) -> Alignment:
    if not a or not b:
        return Alignment([], [], list(range(len(a))), list(range(len(b))))
    old, new = keys(a, b, around)
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
    return Alignment(pairs, moved, removed, added, matching.exact, {i for i, _ in in_place})


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
    """The elements of a block that changed: pairs with the same type and position, and the same shared id or none."""
    moved_old, moved_new = moved
    left = [i for i in range(block[0], block[1]) if i not in moved_old]
    right = [j for j in range(block[2], block[3]) if j not in moved_new]
    return [(i, j) for i, j in zip(left, right, strict=False) if _alike(a[i], b[j], old[i], new[j])]


def _alike(x: Any, y: Any, key_x: Hashable, key_y: Hashable) -> bool:
    if isinstance(key_x, Id) or isinstance(key_y, Id) or type(x) is not type(y) or id_of(x) != id_of(y):
        return False
    return not isinstance(x, Node) or x.type == y.type
