"""Refuses new values that LangGraph.js can't hold: Python's objects, NaN, large integers.

Its JSON has forms for LangChain's objects, undefined, Set, Map, RegExp, Error and Uint8Array, and no others
(LangGraph.js checkpoint 1.1, ``serde/jsonplus.ts: _default, reviveConstructorRecord``).
"""

from math import isfinite
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.values.node import Form, Node

_OWN = frozenset({Form.LC1, Form.UNDEFINED, Form.SNAPSHOT})
_SET = '{"$type": "Set", "$form": "lc2", "$args": [[1, 2]]}'


def must_be_javascript(value: Any) -> None:
    """Check that LangGraph.js reads a value as what it is.

    Raises:
        UsageError: it would read something else.
    """
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, list | tuple):
            todo.extend(item)
        elif isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, Node):
            _must_have_a_form(item)
            todo.append(item.state)
        elif isinstance(item, int | float):
            _must_be_exact(item)


def _must_have_a_form(node: Node) -> None:
    if node.form in _OWN or (node.form is Form.LC2 and not node.module):
        return
    hint = f"such as {_SET}" if node.unordered else "give a text, a number, or a dict with its fields"
    raise UsageError(f"LangGraph.js has no form for {node.type or 'this object'}; nothing was written", hint=hint)


def _must_be_exact(number: float) -> None:
    if not isfinite(number):
        hint = "null is what LangGraph.js itself stores for it"
        raise UsageError(f"LangGraph.js has no form for {number}; nothing was written", hint=hint)
    if isinstance(number, int) and (abs(number) > _LARGEST or int(float(number)) != number):
        what = f"LangGraph.js would read {number} as another number; nothing was written"
        raise UsageError(what, hint="a text keeps its digits")


_LARGEST = 10**308
