"""What two values differ in, by their structure: fields, list elements by id or content, set members.

Equal bytes are equal values and are never decoded. Depth is bounded; below it two values just differ.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ckpt_cli.history.diff.align import align, digest
from ckpt_cli.history.state.paths import spell
from ckpt_cli.values import known
from ckpt_cli.values.difference import Counts, Difference, DifferenceKind
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import fields, inside, is_leaf, positions
from ckpt_cli.values.same import same

_DEEPEST = 40
_SETS = frozenset({"set", "frozenset", "Set"})

Path = tuple[Any, ...]


def differences(before: Mapping[Any, Any], after: Mapping[Any, Any], path: Path = ()) -> list[Difference]:
    """What differs between two states, or two other mappings, one `Difference` a key."""
    found = []
    for key in dict.fromkeys([*before, *after]):
        here = (*path, key)
        if key not in after:
            found.append(
                Difference(spell(here), DifferenceKind.REMOVED, before=inside(before[key]), who=_who(before[key]))
            )
        elif key not in before:
            found.append(Difference(spell(here), DifferenceKind.ADDED, after=inside(after[key]), who=_who(after[key])))
        elif (changed := difference(before[key], after[key], here)) is not None:
            found.append(changed)
    return found


def difference(before: Any, after: Any, path: Path) -> Difference | None:
    """What two values at one place differ in; None where they are the same."""
    if same(before, after):
        return None
    before, after = inside(before), inside(after)
    if same(before, after):
        return None
    where = spell(path)
    if len(path) > _DEEPEST or not _comparable(before, after):
        return Difference(where, DifferenceKind.CHANGED, before, after)
    if _is_set(after):
        return _members(known.items(before) or [], known.items(after) or [], path)
    parts = differences(_named(before), _named(after), path)
    counts = None
    if (old := positions(before)) is not None and (new := positions(after)) is not None:
        counts, elements = _elements(old, new, path)
        parts += elements
    if not parts:
        return Difference(where, DifferenceKind.CHANGED, before, after)
    return Difference(where, DifferenceKind.CHANGED, who=_who(after), counts=counts, parts=parts)


def _comparable(before: Any, after: Any) -> bool:
    """Whether two values are of one kind, and have parts to compare."""
    if type(before) is not type(after) or is_leaf(before) or is_leaf(after):
        return False
    if isinstance(before, Node):
        return (before.type, before.form, before.method) == (after.type, after.form, after.method)
    return True


def _named(value: Any) -> Mapping[Any, Any]:
    return {} if isinstance(value, list | tuple) else fields(value)


def _is_set(value: Any) -> bool:
    return isinstance(value, Node) and value.name in _SETS and known.items(value) is not None


def _members(old: Sequence[Any], new: Sequence[Any], path: Path) -> Difference:
    """Sets differ in their members; in what order they were stored means nothing."""
    left, right = {digest(item): item for item in old}, {digest(item): item for item in new}
    where = spell(path)
    gone = [Difference(where, DifferenceKind.REMOVED, before=item) for mark, item in left.items() if mark not in right]
    come = [Difference(where, DifferenceKind.ADDED, after=item) for mark, item in right.items() if mark not in left]
    kept = len(left) - len(gone)
    return Difference(
        where,
        DifferenceKind.CHANGED,
        counts=Counts(kept=kept, added=len(come), removed=len(gone)),
        parts=[*gone, *come],
    )


def _elements(old: Sequence[Any], new: Sequence[Any], path: Path) -> tuple[Counts, list[Difference]]:
    """The elements that differ, in the order of the newer list; removed ones first where they stood."""
    found = align(old, new)
    after = dict(found.pairs)
    parts: list[tuple[float, Difference]] = []
    for i in found.removed:
        gone = Difference(spell((*path, i)), DifferenceKind.REMOVED, before=old[i], who=_who(old[i]))
        parts.append((_place(i, after) - 0.5, gone))
    for i, j in found.pairs:
        if (changed := difference(old[i], new[j], (*path, j))) is not None:
            parts.append((j, changed))
    kept = len(found.pairs) - sum(1 for _, part in parts if part.kind is DifferenceKind.CHANGED)
    parts += [(j, _moved(old[i], new[j], (*path, i), (*path, j))) for i, j in found.moved]
    parts += [
        (j, Difference(spell((*path, j)), DifferenceKind.ADDED, after=new[j], who=_who(new[j]))) for j in found.added
    ]
    parts.sort(key=lambda part: part[0])
    changed_count = len(found.pairs) - kept
    counts = Counts(kept, changed_count, len(found.added), len(found.removed), len(found.moved))
    return counts, [part for _, part in parts]


def _place(i: int, after: Mapping[int, int]) -> int:
    """Where in the newer list a removed element would stand: behind the nearest one before it that was kept."""
    while i >= 0 and i not in after:
        i -= 1
    return after[i] + 1 if i >= 0 else 0


def _moved(old: Any, new: Any, was: Path, path: Path) -> Difference:
    inner = difference(old, new, path)
    parts = [inner] if inner is not None else []
    return Difference(
        spell(path), DifferenceKind.MOVED, after=None if parts else new, was=spell(was), who=_who(new), parts=parts
    )


def _who(value: Any) -> str | None:
    said = known.message(value)
    return None if said is None else f"{said.role} {said.id}" if said.id else said.role
