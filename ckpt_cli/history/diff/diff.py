"""How two values differ in their structure: fields, list elements moved or changed, set members.

Equal bytes are equal values and are never decoded. Below `_DEEPEST` levels, a difference has no details.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ckpt_cli.history.diff.align import align
from ckpt_cli.history.diff.element_keys import digest
from ckpt_cli.history.state.paths import spell
from ckpt_cli.values import langgraph_values
from ckpt_cli.values.difference import Counts, Difference, DifferenceKind, RoughCounts
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import fields, inside, is_leaf, positions
from ckpt_cli.values.same import same

_DEEPEST = 40
_SETS = frozenset({"set", "frozenset", "Set"})

Path = tuple[Any, ...]


def differences(before: Mapping[Any, Any], after: Mapping[Any, Any], path: Path = ()) -> list[Difference]:
    """The differences between two states or other mappings: one `Difference` for each key that differs."""
    result = []
    for key in dict.fromkeys([*before, *after]):
        here = (*path, key)
        if key not in after:
            result.append(
                Difference(spell(here), DifferenceKind.REMOVED, before=inside(before[key]), who=_who(before[key]))
            )
        elif key not in before:
            result.append(Difference(spell(here), DifferenceKind.ADDED, after=inside(after[key]), who=_who(after[key])))
        elif (changed := difference(before[key], after[key], here)) is not None:
            result.append(changed)
    return result


def difference(before: Any, after: Any, path: Path) -> Difference | None:
    """The difference between two values at one path; None if they are the same."""
    if same(before, after):
        return None
    before, after = inside(before), inside(after)
    if same(before, after):
        return None
    where = spell(path)
    if len(path) > _DEEPEST or not _comparable(before, after):
        return Difference(where, DifferenceKind.CHANGED, before, after)
    if _is_set(after):
        return _members(langgraph_values.items(before) or [], langgraph_values.items(after) or [], path)
    parts = differences(_keyed_parts(before, after), _keyed_parts(after, before), path)
    counts = None
    if (old := positions(before)) is not None and (new := positions(after)) is not None:
        counts, elements = _elements(old, new, path)
        parts += elements
    if not parts:
        return Difference(where, DifferenceKind.CHANGED, before, after)
    return Difference(where, DifferenceKind.CHANGED, who=_who(after), counts=counts, parts=parts)


def _comparable(before: Any, after: Any) -> bool:
    """Whether two values have the same kind and parts to compare."""
    if type(before) is not type(after) or is_leaf(before) or is_leaf(after):
        return False
    if not isinstance(before, Node):
        return True
    (kind, own, _), (other, others, _) = before.compared, after.compared
    has_parts = (isinstance(own, dict) and isinstance(others, dict)) or None not in (
        positions(before),
        positions(after),
    )
    return kind == other and (before.form is after.form or has_parts)


def _keyed_parts(value: Any, other: Any) -> Mapping[Any, Any]:
    """The fields to compare with another value's; what is a default wherever it is left out is none of them."""
    if isinstance(value, list | tuple):
        return {}
    own = fields(value)
    content = value.compared.content if isinstance(value, Node) else own
    if not isinstance(content, dict) or content.keys() == own.keys():
        return own
    both = fields(other)
    return {key: part for key, part in own.items() if key in content or key in both}


def _is_set(value: Any) -> bool:
    return isinstance(value, Node) and value.name in _SETS and langgraph_values.items(value) is not None


def _members(old: Sequence[Any], new: Sequence[Any], path: Path) -> Difference:
    """The difference between two sets: their members, in any order."""
    left, right = ({digest(item, raw=False): item for item in items} for items in (old, new))
    where = spell(path)
    only_old = [item for mark, item in left.items() if mark not in right]
    only_new = [item for mark, item in right.items() if mark not in left]
    removed = [Difference(where, DifferenceKind.REMOVED, before=item) for item in only_old]
    added = [Difference(where, DifferenceKind.ADDED, after=item) for item in only_new]
    kept = len(left) - len(removed)
    return Difference(
        where,
        DifferenceKind.CHANGED,
        counts=Counts(kept=kept, added=len(added), removed=len(removed)),
        parts=[*removed, *added],
    )


def _elements(old: Sequence[Any], new: Sequence[Any], path: Path) -> tuple[Counts, list[Difference]]:
    """The counts and the elements that differ, in the order of the newer list; removed elements keep their place."""
    alignment = align(old, new)
    parts: list[tuple[float, Difference]] = []
    place, kept_before = 0.0, iter([*alignment.pairs, (len(old), 0)])
    next_kept = next(kept_before)
    for i in alignment.removed:
        while next_kept[0] < i:
            place, next_kept = next_kept[1] + 1, next(kept_before)
        removed = Difference(spell((*path, i)), DifferenceKind.REMOVED, before=old[i], who=_who(old[i]))
        parts.append((place - 0.5, removed))  # behind the nearest kept element before it
    for i, j in alignment.pairs:
        if (changed := difference(old[i], new[j], (*path, j))) is not None:
            parts.append((j, changed))
    kept = len(alignment.pairs) - sum(1 for _, part in parts if part.kind is DifferenceKind.CHANGED)
    parts += [(j, _moved(old[i], new[j], (*path, i), (*path, j))) for i, j in alignment.moved]
    for j in alignment.added:
        added = Difference(spell((*path, j)), DifferenceKind.ADDED, after=new[j], who=_who(new[j]))
        parts.append((j, added))
    parts.sort(key=lambda part: part[0])
    changed_count = len(alignment.pairs) - kept
    counted = Counts if alignment.exact else RoughCounts
    counts = counted(kept, changed_count, len(alignment.added), len(alignment.removed), len(alignment.moved))
    return counts, [part for _, part in parts]


def _moved(old: Any, new: Any, was: Path, path: Path) -> Difference:
    inner = difference(old, new, path)
    parts = [inner] if inner is not None else []
    return Difference(
        spell(path), DifferenceKind.MOVED, after=None if parts else new, was=spell(was), who=_who(new), parts=parts
    )


def _who(value: Any) -> str | None:
    """The role and the id of a message; None for other values."""
    parsed = langgraph_values.message(value)
    return None if parsed is None else f"{parsed.role} {parsed.id}" if parsed.id else parsed.role
