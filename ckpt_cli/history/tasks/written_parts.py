"""Whether a step's writes have a part of a value, make it of what was there, or take it away."""

from collections.abc import Sequence
from math import isclose
from typing import Any

from ckpt_cli.history.diff.part_moments import ABSENT
from ckpt_cli.history.state.paths import find
from ckpt_cli.history.tasks.step_changes import are_numbers
from ckpt_cli.values.langgraph_values import REMOVE_ALL, items, message, overwrite, spelled_out
from ckpt_cli.values.parts import inside
from ckpt_cli.values.write_forms import is_as_written


def give(writes: Sequence[Any], steps: Sequence[Any], value: Any, before: Any = ABSENT) -> bool:
    """Whether one of the writes has this value at this path of the channel, or all of them together make it.

    A write to a list may be the whole list, some elements or one element, in any place.

    Args:
        writes: what was written to the channel.
        steps: the path inside the channel.
        value: the value there after the step.
        before: the value there before; sums, texts and dicts may have grown by the writes.
    """
    if any(_has(one, steps, value) for one in writes):
        return True
    given = [part[0] for one in writes if (part := _at(one, steps)) is not None]
    return before is not ABSENT and bool(given) and _grew(before, given, value)


def remove(writes: Sequence[Any], steps: Sequence[Any], value: Any) -> bool:
    """Whether a write may have removed the part at this path: it removes it by name, or may be the whole value now.

    By name do a RemoveMessage (langgraph 1.2 ``graph/message.py: add_messages``), and a null for a key in reducers that
    people write. A list of messages isn't taken for the whole value: it is merged nearly always.
    """
    return any(_removes(one, steps, value) for one in writes)


def adds(writes: Sequence[Any], steps: Sequence[Any], value: Any, size: int) -> bool:
    """Whether a write has this element of a list of `size` elements, and isn't the whole list with it.

    Of several writes none is taken for the whole list: only a reducer takes several, and an Overwrite among them
    puts its own elements there.
    """
    place = next(place for place, step in enumerate(steps) if type(step) is int)
    plain = (_bare(one) for one in writes)
    lists = [part[0] for one in plain if (part := _at(one, steps[:place])) is not None]
    is_one = len(lists) == 1
    return any(not (is_one and _count(one) == size) and _has(one, steps[place:], value) for one in lists)


def removes_by_name(writes: Sequence[Any], steps: Sequence[Any], value: Any) -> bool:
    """Whether a write removes the part by name or puts a value without it in the place of the old one."""
    return any(_names(one, steps, value) for one in writes)


def overwrites(writes: Sequence[Any]) -> bool:
    """Whether one of the writes puts its value in the place of whatever was there."""
    return any(overwrite(one) is not None for one in writes)


def are_joined(own: Sequence[Any], others: Sequence[Any], steps: Sequence[Any], value: Any, before: Any) -> bool:
    """Whether a value at a path of keys may have parts of the writes of several tasks, though one of them explains it.

    A list or a dict may; a text that isn't what the one task wrote; a number that is the sum of all.
    """
    if isinstance(inside(value), dict | tuple) or items(value) is not None:
        return True
    given = [part[0] for one in [*own, *others] if (part := _at(one, steps)) is not None]
    if isinstance(value, str):
        return not any(_has(one, steps, value) for one in own)
    return are_numbers([before, value, *given]) and sum(map(bool, given)) > 1 and _grew(before, given, value)


def reaches(writes: Sequence[Any], steps: Sequence[Any]) -> bool:
    """Whether a write has anything at a path of keys, or is no dict there."""
    return any(overwrite(one) is not None or _at(one, steps) is not None or not _is_dict(one) for one in writes)


def _count(written: Any) -> int:
    elements = written if isinstance(written, tuple) else items(written)
    return 1 if elements is None else len(elements)


def _removes(written: Any, steps: Sequence[Any], value: Any) -> bool:
    if _is_named(written, steps):
        return _names(written, steps, value)
    return not any(map(message, _listed(written))) and not _has(written, steps, value)


def _is_named(written: Any, steps: Sequence[Any]) -> bool:
    """Whether a write says itself what it removes."""
    return overwrite(written) is not None or bool(_removed_ids(written)) or _nulls(written, steps)


def _names(written: Any, steps: Sequence[Any], value: Any) -> bool:
    wrapped = overwrite(written)
    if wrapped is not None:
        return not _has(wrapped.value, steps, value)
    if removed := _removed_ids(written):
        own = message(value)
        return REMOVE_ALL in removed or (own is not None and own.id in removed)
    return _nulls(written, steps)


def _removed_ids(written: Any) -> set[str | None]:
    return {one.id for one in map(message, _listed(written)) if one is not None and one.role == "remove"}


def _listed(written: Any) -> list[Any]:
    return written if isinstance(written, list) else [written]


def _nulls(written: Any, steps: Sequence[Any]) -> bool:
    part = find(written, steps[0]) if len(steps) == 1 and _is_dict(written) else None
    return part is not None and part[1] is None


def _is_dict(written: Any) -> bool:
    return isinstance(inside(written), dict)


def _has(written: Any, steps: Sequence[Any], value: Any) -> bool:
    written = inside(_bare(written))
    if not steps:
        return is_as_written(written, value) or _same_message(written, value)
    step, rest = steps[0], steps[1:]
    if type(step) is int and not isinstance(written, dict):
        elements = written if isinstance(written, tuple) else items(written)
        return any(_has(one, rest, value) for one in elements or ()) or _has(written, rest, value)
    part = find(written, step)
    return part is not None and _has(part[1], rest, value)


def _bare(written: Any) -> Any:
    """What is inside an Overwrite; any other value as it is."""
    wrapped = overwrite(written)
    return written if wrapped is None else wrapped.value


def _at(written: Any, steps: Sequence[Any]) -> tuple[Any] | None:
    """What a write has at a path of keys."""
    for step in steps:
        part = find(inside(written), step) if isinstance(inside(written), dict) else None
        if part is None:
            return None
        written = part[1]
    return (inside(written),)


def _grew(before: Any, given: Sequence[Any], value: Any) -> bool:
    """Whether a value is what was there, and nothing but what was given."""
    before, value = inside(before), inside(value)
    if are_numbers([before, value, *given]):
        return isclose(before + sum(given), value, rel_tol=1e-9)
    if isinstance(before, str) and isinstance(value, str):
        return value.startswith(before) and any(isinstance(one, str) and one and value.endswith(one) for one in given)
    if isinstance(before, list) and isinstance(value, list):
        more = value[len(before) :]
        return bool(more) and all(map(is_as_written, before, value)) and all(give(given, [0], one) for one in more)
    if not isinstance(before, dict) or not isinstance(value, dict) or before.keys() - value.keys():
        return False
    changed = [key for key in value if key not in before or not is_as_written(before[key], value[key])]
    return all(give(given, [key], value[key], before.get(key, ABSENT)) for key in changed)


def _same_message(written: Any, value: Any) -> bool:
    """Whether a write is this message, in whatever form, perhaps without the id that `add_messages` gives it."""
    own = message(value)
    if own is None:
        return False
    forms = spelled_out(written)
    given = message(forms[0]) if len(forms) == 1 else None
    if given is None or (given.id is not None and given.id != own.id):
        return False
    return (given.role, given.text, list(given.tool_calls)) == (own.role, own.text, list(own.tool_calls))
