"""Cases in which a reducer is believed only if a recorded step was such a case, as a key again.

A dict union and a dict of counters do the same until a key comes again, an append and a list without duplicates until
an item comes again that is known by its ``url``. So steps without such a case say nothing about one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ckpt_cli.history.reducers.reducer import ABSENT
from ckpt_cli.history.reducers.reducers import APPEND, GATHER, MESSAGES, NEW, UNION, WITHOUT_NULLS, Reducer
from ckpt_cli.values.node import Node
from ckpt_cli.values.same import same

_MANY = 8  # if a field tells so many items apart, it may be what they are known by, whatever its name is
_ID_NAMES = frozenset(
    {"id", "uuid", "key", "url", "uri", "href", "link", "path", "name", "title", "slug", "doi", "hash"}
)
_DICTS, _LISTS = frozenset({UNION, WITHOUT_NULLS}), frozenset({APPEND, GATHER, NEW})


def cases(reducers: Collection[Reducer], before: Any, writes: Sequence[Any], *, proving: bool = False) -> set[str]:
    """The cases in which these writes are, in the words of a refusal; empty for reducers that have none.

    Args:
        reducers: those that are to be believed, or that explain the step.
        before: the channel's value.
        writes: what is written to it.
        proving: only those cases in which another reducer would have made another value: a sum is no other with 0.
    """
    if not _DICTS.isdisjoint(reducers):
        return set(_keys_again(before, writes, proving))
    return set() if MESSAGES in reducers or _LISTS.isdisjoint(reducers) else set(_items_again(before, writes))


def unmet(reducer: Reducer, met: Collection[str], before: Any, writes: Sequence[Any]) -> str:
    """A case in which these writes are and no recorded step was; "" if there is none."""
    return min(cases([reducer], before, writes) - {*met}, default="")


def _keys_again(before: Any, writes: Iterable[Any], proving: bool) -> Iterable[str]:
    known = dict(before) if isinstance(before, dict) else {}
    for write in writes:
        if not isinstance(write, dict):
            return
        for key, value in write.items():
            old = known.get(key, ABSENT)
            if old is not ABSENT and not (proving and (old is None or old in (0, "", [], {}))) and not same(old, value):
                yield f"a key that it has already, with {_kind(old)}"
        known.update(write)


def _kind(value: Any) -> str:
    if isinstance(value, dict | list | str):
        return {dict: "a dict", list: "a list", str: "a text"}[type(value)]
    return "a number" if isinstance(value, int | float) and not isinstance(value, bool) else "such a value"


def _items_again(before: Any, writes: Iterable[Any]) -> Iterable[str]:
    items = list(before) if isinstance(before, list) else []
    for write in writes:
        new = write if isinstance(write, list) else [write]
        for field, value in {(f, v) for item in new for f, v in _fields(item).items() if type(v) in (str, int)}:
            if _is_known_by(field, value, items):
                yield f"an item whose {field!r} it has already"
        items += new


def _is_known_by(field: str, value: str | int, items: Sequence[Any]) -> bool:
    """Whether an item has this value in a field that no two items share: one with such a name, else any."""
    values = [_fields(item).get(field, ABSENT) for item in items]
    if value not in values:
        return False
    if not all(type(one) in (str, int) for one in values) or len(set(values)) < len(values):
        return False
    return _names_items(field) or (len(items) >= _MANY and not any(map(_names_items, _fields(items[0]))))


def _names_items(field: Any) -> bool:
    return isinstance(field, str) and (field.lower() in _ID_NAMES or field.lower().endswith(("_id", "_key", "_url")))


def _fields(item: Any) -> Mapping[Any, Any]:
    fields = item.fields if isinstance(item, Node) else item
    return fields if isinstance(fields, Mapping) else {}
