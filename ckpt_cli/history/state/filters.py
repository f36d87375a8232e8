"""``--where``: an expression over metadata and state; its syntax, bounds, names that no record has.

An example is ``source == "update" and len(messages) > 10``. First the expression is checked: only a short list of
syntax and functions is allowed, and an error names the column. Then simpleeval evaluates it. It gets plain data only: a
dot reads a key of a mapping, never an attribute of an object.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.history.state.filter_evaluator import Absent, evaluator_class
from ckpt_cli.history.state.filter_terms import equality, required_term
from ckpt_cli.history.state.plain_sets import plain_set
from ckpt_cli.history.state.where_values import StoredValues, Undecided
from ckpt_cli.values.langgraph_values import items, message, text
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.well_known_types import enum_value

_DEEPEST = 12
_SETS = frozenset({"builtins.set", "builtins.frozenset", "Set"})
_LONGEST = 2000
_NESTED = 150  # levels of an expression: a sum of n terms has n levels; simpleeval takes four Python frames a level


def _contains(whole: Any, part: Any) -> bool:
    """Whether a text contains another one; upper and lower case are equal."""
    return str(part).casefold() in str(whole).casefold()


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "len": len,
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "float": float,
    "int": int,
    "max": max,
    "min": min,
    "round": round,
    "sorted": sorted,
    "str": str,
    "sum": sum,
    "lower": lambda value: str(value).lower(),
    "startswith": lambda value, start: str(value).startswith(str(start)),
    "endswith": lambda value, end: str(value).endswith(str(end)),
    "contains": _contains,
}
"""The functions that an expression may call."""

_SYNTAX = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Add),
    *(ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt),
    *(ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.Call, ast.Name, ast.Load, ast.Store, ast.Constant),
    *(ast.Attribute, ast.Subscript, ast.Slice, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.IfExp),
    *(ast.GeneratorExp, ast.ListComp, ast.comprehension),
)


class Filter:
    """A compiled expression.

    Attributes:
        absent: name to the number of records that don't have it.
        failed: problem (a text compared with a number) to the number of records where it occurred.
        undecided: name to the number of records that have it, but store no value of it, and so weren't decided.
        decided: the number of records that were decided.
        of_state: whether some name was read from a record's state. The caller that gives the names' values sets this.
        names: the names that a record must have for the expression.
        equality: key and text if the expression is just ``key == "text"``, which a database can search; else None.
        term: a part that must be true for the expression to be true, and that a database can search; None if none can.
    """

    def __init__(self, expression: str, record: str = "thread") -> None:
        """Compile an expression; `record` is the word for what is filtered, for messages."""
        self.expression = expression
        self._record = record
        self._tree = _parsed(expression)
        self.names = _names(self._tree)
        self.equality = equality(self._tree)
        self.term = required_term(self._tree)
        self.of_state = False
        self.absent: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.undecided: Counter[str] = Counter()
        self.decided = 0

    def matches(self, names: Callable[[str], Any]) -> bool:
        """Whether a record fits. One that lacks a name or has a value of the wrong type doesn't fit.

        One side of an ``or`` is enough, even if the other side has a name that the record lacks.

        `names` gives the value of a name, or raises LookupError or `Undecided`.
        """
        from simpleeval import InvalidExpression  # type: ignore[import-untyped]

        @cache
        def value_of(name: str) -> Any:
            try:
                return plain(names(name))
            except LookupError:
                raise Absent(name) from None

        try:
            evaluator = evaluator_class()(functions=dict(FUNCTIONS), names=lambda node: value_of(node.id))
            fits = _fits(lambda node: bool(evaluator.eval(self.expression, node)), self._tree)
        except (Absent, Undecided) as missing:
            (self.undecided if isinstance(missing, Undecided) else self.absent)[str(missing)] += 1
            return False
        except (InvalidExpression, TypeError, LookupError, ValueError, ArithmeticError) as problem:
            self.failed[str(problem)] += 1
            return False
        self.decided += 1
        return fits

    def must_have_worked(self) -> None:
        """Raise an error if the expression failed on every record.

        Raises:
            UsageError: the expression failed on every record that has the names.
        """
        if self.failed and not self.decided:
            raise UsageError(f"--where fails on every {self._record}: {self.failed.most_common(1)[0][0]}")

    @property
    def complaint(self) -> str | None:
        """A note: that no record has the names, which were mistyped most likely, or how many records are undecided."""
        absent = {} if self.decided or self.undecided else self.absent
        if names := ", ".join(map(repr, sorted(absent, key=lambda name: -absent[name])[:3])):
            return f"--where: no {self._record} has {names}"
        if not (count := sum(self.undecided.values())):
            return None
        left = f"1 {self._record} was" if count == 1 else f"{count:,} {self._record}s were"
        return f"--where: {left} left out undecided: {unstored_words(sorted(self.undecided), self._record)}"


def unstored_words(channels: Iterable[str], record: str = "thread") -> str:
    """Why a record can't be decided: LangGraph stores a delta channel's value now and then, and its writes always."""
    where = "the head" if record == "thread" else f"the {record}"
    names = ", ".join(channels)
    return f"{where} stores no value of {names}, only what was written since the last stored one (a delta channel)"


def _parsed(expression: str) -> Any:
    if len(expression) > _LONGEST:
        raise UsageError(f"--where: more than {_LONGEST:,} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        offset = error.offset if isinstance(error, SyntaxError) else None
        at = f" at column {offset}" if offset else " at column 1" if not expression.strip() else " at its end"
        raise UsageError(
            f"--where: {getattr(error, 'msg', 'can not be read')}{at}", hint=_pointed(expression, error)
        ) from error
    if _is_nested(tree, _NESTED):
        raise UsageError(f"--where: more than {_NESTED} levels", hint="a sum or a product has one level for each term")
    for node in ast.walk(tree):
        problem = _problem(node)
        if problem:
            column = getattr(node, "col_offset", 0) + 1
            raise UsageError(f"--where: {problem} at column {column}", hint=f"functions: {', '.join(FUNCTIONS)}")
    return tree.body


def _is_nested(tree: ast.AST, most: int) -> bool:
    """Whether a tree has more levels than this."""
    level = [tree]
    for _ in range(most + 1):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


def _names(tree: ast.AST) -> frozenset[str]:
    """The names that a record must give: neither functions nor the variables of comprehensions."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    bound = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    return frozenset(node.id for node in nodes if id(node) not in called and node.id not in bound)


def _pointed(expression: str, error: Exception) -> str:
    offset = getattr(error, "offset", None)
    if offset:
        return f"{expression.strip()[: offset - 1]}⟨here⟩{expression.strip()[offset - 1 :]}"
    return "a Python expression: 'metadata.user_id == \"u1\"'"


def _problem(node: ast.AST) -> str | None:
    if not isinstance(node, _SYNTAX):
        return f"{type(node).__name__} is not allowed"
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name):
            return "methods can't be called"
        if node.func.id not in FUNCTIONS:
            return f"no function {node.func.id!r}"
        return "no named arguments" if node.keywords else None
    if isinstance(node, ast.Constant) and isinstance(node.value, bytes | complex):
        return "no such constants"
    return None


def plain(value: Any, depth: int = 0) -> Any:
    """A value as plain data for an expression: objects become dicts of their fields, dates their text.

    A Decimal becomes a number, so that it can be compared with numbers, a member of an Enum its value, and a set a
    `PlainSet`.

    Raises:
        ValueError: a set has no form here in which it would be compared truly.
    """
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, dict):
        fields = {key: plain(item, depth + 1) for key, item in value.items()}
        return StoredValues(fields, value.unstored) if isinstance(value, StoredValues) else fields
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    if not isinstance(value, Node):
        return value
    elements = items(value)
    if value.type in _SETS:
        if elements is None:
            raise ValueError("a set has no elements that can be read")
        pairs = ((item, plain(item, depth + 1)) for item in elements)
        return plain_set(pairs, is_python=value.unordered)
    if elements is not None:
        return [plain(item, depth + 1) for item in elements]
    if (natural := text(value)) is not None:
        if value.type == "decimal.Decimal":
            return _number(natural)
        return natural if (member := enum_value(value)) is None else member
    if value.form is Form.SNAPSHOT:
        return plain(value.state, depth + 1)
    fields = {key: plain(item, depth + 1) for key, item in (value.fields or {}).items()}
    return {**dict(_role_and_text(value)), **fields}


def _number(digits: str) -> Any:
    from decimal import Decimal, InvalidOperation

    try:
        return Decimal(digits)
    except InvalidOperation:
        return digits


def _role_and_text(value: Node) -> Iterator[tuple[str, Any]]:
    """Role and text of a message, which may not be among its own fields; nothing for other objects."""
    parsed = message(value)
    if parsed is not None:
        yield from (("role", parsed.role), ("text", parsed.text))


def _fits(evaluate: Callable[[Any], bool], node: Any) -> bool:
    """Whether an expression is true; the sides of ``or`` and ``and`` outside other operators are evaluated one by one.

    Raises:
        Exception: what the first undecided side of an ``or`` raised, if no other side is true.
    """
    if isinstance(node, ast.Expr | ast.Expression):
        return _fits(evaluate, node.value if isinstance(node, ast.Expr) else node.body)
    if not isinstance(node, ast.BoolOp):
        return evaluate(node)
    if isinstance(node.op, ast.And):
        return all(_fits(evaluate, side) for side in node.values)
    undecided: Exception | None = None
    for side in node.values:
        try:
            if _fits(evaluate, side):
                return True
        except Exception as problem:  # raised again below, if no other side decides
            undecided = undecided or problem
    if undecided is not None:
        raise undecided
    return False
