"""The parts of a ``--where`` expression that a database can search, such as ``metadata.plan == "pro"``."""

import ast
from typing import NamedTuple

Constant = str | int | float

_NOT_KEYS = frozenset({"metadata", "thread_id", "status", "next", "values"})
"""Names that mean something other than a key of the metadata."""
_LARGEST = 1 << 53  # whole numbers up to this one are floats too


class Term(NamedTuple):
    """A comparison of a key of the metadata with a text, a number or a boolean.

    Attributes:
        only_metadata: whether the key is looked for in the metadata alone. If not, a thread whose metadata lacks the
            key is compared by its state.
    """

    key: str
    value: Constant
    only_metadata: bool


def equality(tree: ast.AST) -> tuple[str, str] | None:
    """The key and the text of ``key == "text"``, either way round; None for any other expression."""
    sides = _compared_with_constant(tree)
    if sides is None or not isinstance(sides[0], ast.Name) or sides[0].id in ("metadata", "thread_id"):
        return None
    name, value = sides[0].id, sides[1]
    return (name, value) if isinstance(value, str) else None


def required_term(tree: ast.AST) -> Term | None:
    """A term without which the expression isn't true: the expression itself, or a side of an ``and``."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        terms = [term for side in tree.values if (term := required_term(side)) is not None]
        return next((term for term in terms if term.only_metadata), next(iter(terms), None))
    sides = _compared_with_constant(tree)
    if sides is None:
        return None
    left, value = sides
    if isinstance(left, ast.Name) and left.id not in _NOT_KEYS:
        return Term(left.id, value, only_metadata=False)
    if isinstance(left, ast.Attribute) and isinstance(left.value, ast.Name) and left.value.id == "metadata":
        return Term(left.attr, value, only_metadata=True)
    return None


def _compared_with_constant(tree: ast.AST) -> tuple[ast.expr, Constant] | None:
    """What an ``==`` compares with a constant text or number, and this; None if this is no such comparison."""
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or not isinstance(tree.ops[0], ast.Eq):
        return None
    left, right = tree.left, tree.comparators[0]
    if not isinstance(right, ast.Constant):
        left, right = right, left
    if not isinstance(right, ast.Constant) or isinstance(left, ast.Constant):
        return None
    value = right.value
    if isinstance(value, str):
        return left, value
    return (left, value) if isinstance(value, int | float) and abs(value) <= _LARGEST else None
