"""Edits one part of a value: the containers around the part are copied, all others stay the same objects.

So an encoder recognizes untouched parts: they are the same objects, and nodes keep their bytes.
"""

from typing import Any

from ckpt_cli.history.diff.align import align
from ckpt_cli.values.langgraph_values import send
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.same import same
from ckpt_cli.values.well_known_types import items

_FIELDS = frozenset({Form.KWARGS, Form.PYDANTIC, Form.PYDANTIC_V1, Form.LC1})
_LEVELS = 100  # below this many levels, a part that differs is taken from the new value as a whole

Keys = tuple[Any, ...]


def with_state(node: Node, state: Any) -> Node:
    """An object of the same class and form with another state."""
    return Node(Opened(node.module, node.name, node.form, state, node.method))


def part_keys(value: Any, step: Any) -> Keys | None:
    """The keys that lead to a part: into a dict or list, or into the state of an object.

    `step` is a step of a path: a position or key that the value has, as `values.parts` gives them. The result () means
    that the part is the whole state; None means that the form keeps its parts in a way that can't be edited.
    """
    if not isinstance(value, Node):
        return (step,)
    state = value.state
    if value.form is Form.SNAPSHOT:
        return part_keys(state, step)
    if value.form in _FIELDS:
        return (step,) if isinstance(state, dict) else ()
    if (keys := element_keys(value)) is not None:
        return (*keys, step)
    if value.form is Form.LC2:
        return ("kwargs", step) if isinstance(step, str) else ("args", step)
    if value.form is Form.ARGS:
        return (("node", "arg").index(step),) if send(value) is not None and isinstance(step, str) else (step,)
    return () if value.form in (Form.VALUE, Form.METHOD) else None


def element_keys(value: Any) -> Keys | None:
    """The keys that lead to the elements of a list, tuple, set or deque; None for other values."""
    if isinstance(value, list | tuple):
        return ()
    if not isinstance(value, Node):
        return None
    if value.form is Form.SNAPSHOT:
        return element_keys(value.state)
    if items(value) is None or value.form is Form.PICKLE:
        return None
    if value.form is Form.VALUE:
        return ()
    return ("args", 0) if value.form is Form.LC2 else (0,)


def with_part(value: Any, keys: Keys, part: Any) -> Any:
    """A copy of the value with `part` at these keys."""
    return with_state(value, _put(value.state, keys, part)) if isinstance(value, Node) else _put(value, keys, part)


def _put(value: Any, keys: Keys, part: Any) -> Any:
    if not keys:
        return part
    if isinstance(value, Node):
        return with_state(value, _put(value.state, keys, part))
    key, rest = keys[0], keys[1:]
    if isinstance(value, dict):
        return {**value, key: _put(value.get(key), rest, part)}
    new = list(value)
    new[key] = _put(new[key], rest, part)
    return tuple(new) if isinstance(value, tuple) else new


def without_part(value: Any, keys: Keys) -> Any:
    """A copy of the value without the part at these keys."""
    if isinstance(value, Node):
        return with_state(value, without_part(value.state, keys))
    if len(keys) > 1:
        return with_part(value, keys[:1], without_part(value[keys[0]], keys[1:]))
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key != keys[0]}
    new = [item for at, item in enumerate(value) if at != keys[0]]
    return tuple(new) if isinstance(value, tuple) else new


def graft(old: Any, new: Any, levels: int = _LEVELS) -> Any:
    """The new value; each unchanged part of it is the same object as in the old value."""
    if same(old, new):
        return old
    if not levels:
        return new
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: graft(old[key], item, levels - 1) if key in old else item for key, item in new.items()}
    if isinstance(old, list) and isinstance(new, list):
        alignment = align(old, new)
        old_place = {j: i for i, j in (*alignment.pairs, *alignment.moved)}
        return [graft(old[old_place[j]], item, levels - 1) if j in old_place else item for j, item in enumerate(new)]
    if isinstance(old, Node) and isinstance(new, Node) and _alike(old, new):
        return with_state(new, graft(old.state, new.state, levels - 1))
    return new


def _alike(old: Node, new: Node) -> bool:
    return (old.module, old.name, old.form, old.method) == (new.module, new.name, new.form, new.method)
