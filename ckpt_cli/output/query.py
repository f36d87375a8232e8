"""JMESPath expressions, which ``--query`` applies to JSON data.

A short expression can ask for endless work: each ``[@, @]`` doubles what follows it. So the work is counted, and an
expression that needs far more steps than its data has values is stopped.
"""

from typing import Any

from ckpt_cli.errors import UsageError

_STEPS = 1_000_000
_STEPS_FOR_EACH_VALUE = 200
_CHARACTERS = 64  # so many characters of a text count as one value
_HINT = "see https://jmespath.org"
_MAKERS = frozenset({"flatten", "projection", "filter_projection", "value_projection", "slice", "function_expression"})
"""The kinds of expression that make a list; its elements count as steps."""


class Query:
    """A JMESPath expression; it is compiled, or refused, before any database is opened."""

    def __init__(self, expression: str) -> None:
        import jmespath  # type: ignore[import-untyped]
        from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]

        self._errors = JMESPathError
        try:
            self._tree = jmespath.compile(expression).parsed
        except (JMESPathError, RecursionError) as error:
            raise UsageError(f"--query {_shortened(expression)}: {_reason(error)}", hint=_HINT) from error

    def __call__(self, data: Any) -> Any:
        """The result of the expression on JSON data.

        Raises:
            UsageError: the expression can't be applied to this data, or it takes too many steps.
        """
        steps = _Steps(_STEPS + _STEPS_FOR_EACH_VALUE * _count_values(data, None))
        try:
            result = _interpreter(steps).visit(self._tree, data)
        except (self._errors, RecursionError) as error:
            raise UsageError(f"--query: {_reason(error)}", hint=_HINT) from error
        steps.spend_on(result)
        return result


class _Steps:
    """Counts the steps of one evaluation."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise UsageError(
                f"--query: stopped after {self._most:,} steps, {_STEPS_FOR_EACH_VALUE} for each value of the data and "
                f"{_STEPS:,} more; nothing more was printed",
                hint="a list that contains @ several times multiplies what follows it",
            )

    def spend_on(self, value: Any) -> None:
        """Count every value inside a value, each as often as it appears there."""
        self.spend(_count_values(value, self._left))


def _count_values(value: Any, most: int | None) -> int:
    """How many values a value contains, itself included; the count stops above `most`."""
    count, todo = 0, [value]
    while todo and (most is None or count <= most):
        item = todo.pop()
        count += 1 + (len(item) // _CHARACTERS if isinstance(item, str) else 0)
        if isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, list):
            todo += item
    return count


def _interpreter(steps: _Steps) -> Any:
    from jmespath.visitor import TreeInterpreter  # type: ignore[import-untyped]

    class Interpreter(TreeInterpreter):  # type: ignore[misc]
        """JMESPath's own interpreter (jmespath 1.1 ``visitor.py``), with its work counted."""

        def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
            steps.spend(1)
            result = super().visit(node, *args, **kwargs)
            if node["type"] in _MAKERS:
                if isinstance(result, list):
                    steps.spend(len(result))
                elif isinstance(result, str):
                    steps.spend(len(result) // _CHARACTERS)
            return result

        def visit_comparator(self, node: Any, value: Any) -> Any:
            return super().visit_comparator(self._with_operands(node, value), value)

        def visit_function_expression(self, node: Any, value: Any) -> Any:
            return super().visit_function_expression(self._with_operands(node, value), value)

        def _with_operands(self, node: Any, value: Any) -> Any:
            """The node with its operands evaluated and counted: one C call compares or converts them as a whole."""
            operands = [self.visit(child, value) for child in node["children"]]
            for operand in operands:
                if isinstance(operand, list | dict):
                    steps.spend_on(operand)
            return {**node, "children": [{"type": "literal", "value": operand} for operand in operands]}

    return Interpreter()


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0].rstrip(":")


def _shortened(expression: str) -> str:
    return repr(expression) if len(expression) <= _CHARACTERS else f"{expression[:_CHARACTERS]!r}…"
