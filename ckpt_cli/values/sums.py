"""Sums of Decimals and of time spans, as Python adds them; no agent's class is asked."""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from ckpt_cli.values.forms import Form
from ckpt_cli.values.node import Node, Opened
from ckpt_cli.values.ordering import Unordered, python_value


class _Kind(NamedTuple):
    """How a type's objects are recorded (langgraph-checkpoint 4.3 ``serde/jsonplus.py``)."""

    form: Form
    state: Callable[[Any], Any]


_KINDS = {
    "decimal.Decimal": _Kind(Form.VALUE, str),
    "datetime.timedelta": _Kind(Form.ARGS, lambda span: [span.days, span.seconds, span.microseconds]),
}


def is_summable(value: Any) -> bool:
    """Whether a value is an object that Python's ``+`` adds up to another one of its type."""
    return isinstance(value, Node) and value.type in _KINDS


def sum_of(parts: Sequence[Node], *, begins: bool = False) -> Node:
    """The sum of objects of one type.

    Args:
        parts: the objects, at least one.
        begins: whether they are added to what Python makes of the type without arguments, as where a channel begins
            (langgraph 1.2 ``channels/binop.py: __init__``); a Decimal may look otherwise then.

    Raises:
        ValueError: they are of several types, or can't be read, or Python has no sum of them.
    """
    first = parts[0]
    if any(part.type != first.type for part in parts):
        raise ValueError("objects of several types")
    try:
        values = [python_value(part) for part in parts]
        total = reduce(add, values, type(values[0])()) if begins else reduce(add, values)
    except (Unordered, ArithmeticError) as error:
        raise ValueError("no sum of these values") from error
    kind = _KINDS[first.type]
    return Node(Opened(first.module, first.name, kind.form, kind.state(total)))
