"""Evaluates an expression of ``--where`` on one record, within bounds."""

import ast
from functools import cache, partial
from typing import Any

from ckpt_cli.errors import UsageError

_PARTS = 10_000_000  # of a value that an expression makes, each counted as often as the value has it
_CHARACTERS = 64  # of a text, which count as one part
_CONTAINERS = (list, tuple, dict, set, frozenset)
_BITS = 4096  # the most bits of a product; more than the largest float has


class Absent(Exception):
    """The record has no such name."""


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, str):
        raise TypeError("% is for numbers")  # a format such as "%999999999s" would make a huge text
    return a % b


def _product(a: Any, b: Any) -> Any:
    from simpleeval import safe_mult  # type: ignore[import-untyped]

    if isinstance(a, int) and isinstance(b, int) and a.bit_length() + b.bit_length() > _BITS:
        raise UsageError(f"--where: a product has more than {_BITS:,} bits")
    return safe_mult(a, b)


@cache
def evaluator_class() -> Any:
    """The class that evaluates; simpleeval is imported only where there is an expression."""
    import simpleeval

    class Evaluator(simpleeval.EvalWithCompoundTypes):  # type: ignore[misc]
        """An evaluator in which a dot only reads a key of a mapping, and a value has a bounded number of parts.

        A few characters make lists of lists of one list: small in memory, endless to compare or to make a text of.
        """

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self._counted: dict[int, tuple[int, Any]] = {}

        def _check_disallowed_items(self, item: Any) -> None:
            """Nothing: simpleeval goes through all of each value for functions, and no value has any here."""

        def _eval(self, node: Any) -> Any:
            value = super()._eval(node)
            if isinstance(value, _CONTAINERS) and self._parts(value) > _PARTS:
                raise UsageError(f"--where: a value has more than {_PARTS:,} parts")
            return value

        def _parts(self, value: Any) -> int:
            if isinstance(value, str):
                return 1 + len(value) // _CHARACTERS
            if not isinstance(value, _CONTAINERS):
                return 1
            if (counted := self._counted.get(id(value))) is None:
                parts = value.values() if isinstance(value, dict) else value
                counted = (1 + sum(map(self._parts, parts)), value)  # the value, so that its id stays its own
                self._counted[id(value)] = counted
            return counted[0]

        def _eval_attribute(self, node: ast.Attribute) -> Any:
            whole = self._eval(node.value)
            if not isinstance(whole, dict):
                raise TypeError(f".{node.attr} of {type(whole).__name__}")
            if node.attr not in whole:
                raise Absent(f".{node.attr}")
            return whole[node.attr]  # or `Undecided`

    return partial(Evaluator, operators=simpleeval.DEFAULT_OPERATORS | {ast.Mod: _remainder, ast.Mult: _product})
