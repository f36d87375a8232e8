"""Values edited part by part: what holds the part is made anew, everything beside it is the very same object.

So an encoder finds by identity, and by the bytes that nodes keep, what was left alone.
"""

from typing import Any

from ckpt_cli.history.diff.align import align
from ckpt_cli.values.known import send
from ckpt_cli.values.natural import items
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.same import same

_FIELDS = frozenset({Form.KWARGS, Form.PYDANTIC, Form.PYDANTIC_V1, Form.LC1})
_LEVELS = 100  # below, a part that differs is taken as it was written

Keys = tuple[Any, ...]


def remade(node: Node, state: Any) -> Node:
    """An object of the same class and form with other insides."""
    return Node(Opened(node.module, node.name, node.form, state, node.method))


def place(value: Any, step: Any) -> Keys | None:
    """Where a part is in what a value records: keys into a dict or list, of an object into its state.

    `step` is a position or key that the value has, as `parts` tells them; None where it records it in a way of its own.
    """
    if not isinstance(value, Node):
        return (step,)
    state = value.state
    if value.form is Form.SNAPSHOT:
        return place(state, step)
    if value.form in _FIELDS:
        return (step,) if isinstance(state, dict) else ()
    if (found := elements(value)) is not None:
        return (*found, step)
    if value.form is Form.LC2:
        return ("kwargs", step) if isinstance(step, str) else ("args", step)
    if value.form is Form.ARGS:
        return (("node", "arg").index(step),) if send(value) is not None and isinstance(step, str) else (step,)
    return () if value.form in (Form.VALUE, Form.METHOD) else None


def elements(value: Any) -> Keys | None:
    """Where the elements of a list, tuple, set or deque stand in what a value records; None where it has none."""
    if isinstance(value, list | tuple):
        return ()
    if not isinstance(value, Node):
        return None
    if value.form is Form.SNAPSHOT:
        return elements(value.state)
    if items(value) is None or value.form is Form.PICKLE:
        return None
    if value.form is Form.VALUE:
        return ()
    return ("args", 0) if value.form is Form.LC2 else (0,)


def put(value: Any, keys: Keys, part: Any) -> Any:
    """The value with another part at a place."""
    return remade(value, _put(value.state, keys, part)) if isinstance(value, Node) else _put(value, keys, part)


def _put(value: Any, keys: Keys, part: Any) -> Any:
    if not keys:
        return part
    if isinstance(value, Node):
        return remade(value, _put(value.state, keys, part))
    key, rest = keys[0], keys[1:]
    if isinstance(value, dict):
        return {**value, key: _put(value.get(key), rest, part)}
    new = list(value)
    new[key] = _put(new[key], rest, part)
    return tuple(new) if isinstance(value, tuple) else new


def taken(value: Any, keys: Keys) -> Any:
    """The value without the part at a place."""
    if isinstance(value, Node):
        return remade(value, taken(value.state, keys))
    if len(keys) > 1:
        return put(value, keys[:1], taken(value[keys[0]], keys[1:]))
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key != keys[0]}
    new = [item for at, item in enumerate(value) if at != keys[0]]
    return tuple(new) if isinstance(value, tuple) else new


def grafted(old: Any, new: Any, levels: int = _LEVELS) -> Any:
    """A value that was written anew as a whole, with everything in it that is as it was being the old one's own."""
    if same(old, new):
        return old
    if not levels:
        return new
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: grafted(old[key], item, levels - 1) if key in old else item for key, item in new.items()}
    if isinstance(old, list) and isinstance(new, list):
        found = align(old, new)
        was = {j: i for i, j in (*found.pairs, *found.moved)}
        return [grafted(old[was[j]], item, levels - 1) if j in was else item for j, item in enumerate(new)]
    if isinstance(old, Node) and isinstance(new, Node) and _alike(old, new):
        return remade(new, grafted(old.state, new.state, levels - 1))
    return new


def _alike(old: Node, new: Node) -> bool:
    return (old.module, old.name, old.form, old.method) == (new.module, new.name, new.form, new.method)
