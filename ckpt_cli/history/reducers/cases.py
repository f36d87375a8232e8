"""Cases in which a reducer is believed only if a recorded step was such a case, as a key again.

A dict union and a dict of counters do the same until a key comes again, a set union and a toggle until an element does,
an append and a list without duplicates until an item comes again that is known by its ``url``. So steps without such a
case say nothing about one. The writes of one step are cases one after the other, as LangGraph applies them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from typing import Any

from ckpt_cli.history.reducers.known_items import KnownItems, fields_of, has_object_again, may_be_alike
from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    APPEND,
    COLLECT,
    GATHER,
    LAST,
    MAX,
    MESSAGES,
    MIN,
    NEW,
    SETS,
    UNION,
    WITHOUT_NULLS,
    Reducer,
    Unfit,
)
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.node import Node
from ckpt_cli.values.ordering import Unordered, is_less, is_ranked, sign
from ckpt_cli.values.parts import fields
from ckpt_cli.values.same import same

Case = tuple[str, ...]
"""A case in the words of a refusal; behind it other cases: a step that was one of those shows this one too."""

_DICTS, _LISTS = frozenset({UNION, WITHOUT_NULLS}), frozenset({APPEND, COLLECT, GATHER, NEW})
_KEY = "a key under which it has already"
_OBJECT = "an object that it has already"
_HELD, REPLACED = "a value that it has already", "another value than it has"
_FIELDS = 20  # fields of an object under a key that are compared
_MOST = 200  # cases of a channel that are kept, if each step has fields of other names; the rest counts as not met
_TEXTS = "these two texts, of which it keeps one"
_PAIRS = 8  # a `max` that is right about so many pairs of texts goes by the alphabet; else each must have been shown


def cases(reducers: Collection[Reducer], before: Any, writes: Sequence[Any], *, proving: bool = False) -> set[Case]:
    """The cases in which these writes are; empty for reducers that have none.

    Args:
        reducers: those that are to be believed, or that explain the step.
        before: the channel's value.
        writes: what is written to it.
        proving: only those cases in which another reducer would have made another value: a sum is no other with 0.
    """
    found: set[Case] = set()
    if not _DICTS.isdisjoint(reducers) and all(isinstance(write, dict) for write in writes):
        found.update(_keys_again(before, writes, proving))
        if WITHOUT_NULLS in reducers and isinstance(before, dict) and None in before.values():
            found.add(("a null that it has already",))
    if SETS in reducers and any(_elements_again(before, writes, proving)):
        found.add(("an element that it has already",))
    if MESSAGES not in reducers and not _LISTS.isdisjoint(reducers):
        found.update(_items_again(before, writes, drops=NEW in reducers))
    if proving or LAST not in reducers:
        for reducer in {MAX, MIN}.intersection(reducers):
            found.update(_pairs(reducer, before, writes))
    if not proving and LAST in reducers and not is_nothing(before):
        found.add((_HELD,))
    return found


def add_kept(met: set[str], before: Any, write: Any) -> None:
    """Add what the step of a channel shows that kept its only write: whether it had a value, and another one.

    Whatever the reducer, a channel that holds nothing takes the first write as it is.
    """
    if REPLACED not in met and not is_nothing(before):
        met.update([_HELD] if same(before, write) else [_HELD, REPLACED])


def is_nothing(value: Any) -> bool:
    """Whether a channel holds nothing that a reducer could keep, or an empty value, to which nothing can be added."""
    if isinstance(value, Node):
        return items(value) == [] or sign(value) == 0
    return value is ABSENT or not value


def empty_cases(reducers: Collection[Reducer], before: Any, writes: Sequence[Any]) -> set[Case]:
    """The case of an empty list that is added to a list: with some reducers it empties the list."""
    adds = MESSAGES not in reducers and not {APPEND, NEW}.isdisjoint(reducers)
    return {("an empty list",)} if adds and isinstance(before, list) and before and [] in writes else set()


def unmet(
    reducers: Collection[Reducer], met: Collection[str], before: Any, writes: Sequence[Any], *, empty: bool = False
) -> str:
    """A case in which these writes are and that no recorded step shows; "" if there is none.

    `empty`: whether `empty_cases` count.
    """
    found = cases(reducers, before, writes) | (empty_cases(reducers, before, writes) if empty else set())
    if len(_pairs_of(met)) >= _PAIRS:
        found = {case for case in found if not _pairs_of(case)}
    known = {*met}
    return min((case[0].partition("\0")[0] for case in found if known.isdisjoint(case)), default="")


def add_met(met: set[str], found: Collection[Case]) -> None:
    """Add the cases of a step to those that were met, up to a bound; of pairs of texts only those `unmet` asks for."""
    if not found or len(met) >= _MOST:
        return
    is_full = len(_pairs_of(met)) >= _PAIRS
    met.update(case[0] for case in found if not (is_full and _pairs_of(case)))


def _pairs_of(found: Iterable[str]) -> list[str]:
    return [one for one in found if one.startswith(_TEXTS)]


def _pairs(reducer: Reducer, before: Any, writes: Sequence[Any]) -> Iterator[Case]:
    """The texts of which a `max` or `min` keeps one: graphs often rank a few words in an order of their own."""
    texts = [part for part in (before, *writes) if part is not ABSENT]
    if len(texts) < 2 or not all(isinstance(one, str) and not is_ranked(one) for one in texts):
        return
    try:
        kept = reducer.step(before, writes)
    except Unfit:
        return
    for other in {*texts} - {kept}:
        yield (f"{_TEXTS}\0{' '.join(sorted(f'{hash(one):x}' for one in (kept, other)))}",)


def _keys_again(before: Any, writes: Iterable[Mapping[Any, Any]], proving: bool) -> Iterator[Case]:
    known, by_key = before if isinstance(before, dict) else {}, dict[Any, list[Any]]()
    for write in writes:
        for key, value in write.items():
            values = by_key.setdefault(key, [])
            values.extend([known[key]] if not values and key in known else [])
            values.append(value)
    for values in by_key.values():
        pairs = [*pairwise(values)]
        for old, new in pairs if not proving else pairs[-1:] if len(values) > 1 and _tells_apart(values) else ():
            yield _key_again(old, new)
            yield from _moved_fields(old, new)


def _tells_apart(values: Sequence[Any]) -> bool:
    """Whether a key's last value is another one than a sum of all its values would be, or its first one.

    It may be equal to the first one of two, as what is added to a number makes another one.
    """
    *earlier, last = values
    if all(map(_is_number, values)):
        return sum(earlier) != 0 and (len(earlier) == 1 or not same(earlier[0], last))
    return not any(old is None or old in ("", [], {}) for old in earlier) and not (
        len(earlier) > 1 and same(earlier[0], last)
    )


def _key_again(old: Any, new: Any) -> Case:
    """The case of a key with a value that gets this value; one in which more reducers differ shows it too."""
    if isinstance(old, dict | list):
        kind = "dict" if isinstance(old, dict) else "list"
        if type(new) is not type(old):  # a null that deletes the key shows nothing of what two dicts become
            return (f"{_KEY} a {kind}, for which this is none",)
        ways: Case = (f"{_KEY} the same {kind}", f"{_KEY} a part of this {kind}", f"{_KEY} a {kind}")
        return ways if same(old, new) else ways[1 if _is_part(old, new) else 2 :]
    if isinstance(old, bool):
        ways = (f"{_KEY} the same value", f"{_KEY} {'true' if old else 'false'}")
    elif _is_number(old):
        ways = (f"{_KEY} the same number", f"{_KEY} a smaller number", f"{_KEY} a greater number")
        if not same(old, new):
            ways = (f"{_KEY} a number",) if not _is_number(new) or new == old else ways[1:2] if new > old else ways[2:]
    else:
        ways = (f"{_KEY} the same text", f"{_KEY} a text") if isinstance(old, str) else (f"{_KEY} such a value",)
    return ways if same(old, new) else ways[-1:]


def _moved_fields(old: Any, new: Any) -> Iterator[Case]:
    """The cases of fields that rise or fall in an object under a key: a reducer may keep the newer or better one."""
    before, after = (one if isinstance(one, dict) else fields(one) for one in (old, new))
    for name in islice((name for name in after if name in before), _FIELDS):
        one, other = before[name], after[name]
        if any(isinstance(value, bool | None) or not is_ranked(value) for value in (one, other)):
            continue
        with suppress(Unordered):
            rises, falls = is_less(one, other), is_less(other, one)
            if rises or falls:
                yield (f"{_KEY} an object with a {'greater' if rises else 'smaller'} {name!r}",)


def _is_part(old: Any, new: Any) -> bool:
    if isinstance(old, dict):
        return isinstance(new, dict) and old.keys() <= new.keys()
    return isinstance(new, list) and same(old, new[: len(old)])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _elements_again(before: Any, writes: Iterable[Any], proving: bool) -> Iterator[bool]:
    """Yields True for each element that comes again; if `proving`, only those that a toggle would have left out."""
    counts: dict[Any, int] = {}
    others: list[list[Any]] = []  # an element that isn't hashable here, and its number
    for part in (before, *writes):
        for element in (items(part) if isinstance(part, Node) else None) or ():
            if isinstance(element, str | int | float):
                counts[type(element), element] = counts.get((type(element), element), 0) + 1
            elif (other := next((one for one in others if same(one[0], element)), None)) is not None:
                other[1] += 1
            else:
                others.append([element, 1])
    yield from (not (proving and count % 2) for count in (*counts.values(), *(n for _, n in others)) if count > 1)


def _items_again(before: Any, writes: Iterable[Any], *, drops: bool) -> Iterator[Case]:
    """The cases of objects that come again, and of items that share a field whose values differ in all of the list.

    Args:
        before: the list.
        writes: lists, or items.
        drops: whether a reducer that leaves out an equal item is among those in question.
    """
    new = [item for write in writes for item in (write if isinstance(write, list) else [write])]
    fields = {field for item in new for field in fields_of(item)}
    known_items = before if isinstance(before, list) else []
    if has_object_again(known_items, new):
        yield (_OBJECT,)
    if not fields or not may_be_alike(known_items, new):
        return
    known = KnownItems(known_items, fields)
    for write in writes:
        earlier: list[Any] = []
        for item in write if isinstance(write, list) else [write]:
            for field, other in known.alike(item):
                changed = f"an item whose {field!r} it has already"
                if any(other is one for one in earlier):
                    yield f"two items of one write with the same {field!r}", changed
                elif drops and same(item, other):
                    yield f"the same item with a {field!r} that it has already", changed
                else:
                    yield (changed,)
            known.add(item)
            earlier.append(item)
