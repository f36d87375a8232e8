"""Whether an answer fits the ``response_schema`` of its question; what LangGraph may convert.

langgraph 1.2 ``types.py: interrupt`` stores the JSON schema of a Pydantic model, TypedDict or dataclass, and checks the
answer against that type when it continues: a recorded answer that doesn't fit makes every later run fail. Pydantic
converts some values (``"5"`` to a number), so a mismatch of this kind is a remark, and any other an error. A schema
given as a dict is stored as it is, and LangGraph doesn't check it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ckpt_cli.errors import MissingExtra, UsageError
from ckpt_cli.history.search.match_watch import MatchWatch
from ckpt_cli.history.tasks.answer_formats import CHECKS
from ckpt_cli.values.jsonform import to_json

_BOOLEAN_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "t", "f", "y", "n", "1", "0"})
_TIMES = frozenset({"date", "date-time", "time", "duration"})
_SHOWN = 200


class Mismatch(NamedTuple):
    """How an answer differs from a schema.

    Attributes:
        where: the path to the part that differs; "" for the whole answer.
        what: what is wrong with it.
        convertible: whether LangGraph may convert the part.
    """

    where: str
    what: str
    convertible: bool


def mismatches(schema: dict[str, Any], answer: Any) -> list[Mismatch]:
    """How an answer differs from the schema; empty if it fits.

    Raises:
        MissingExtra: jsonschema is not installed.
        UsageError: the schema is damaged, refers to another document, or takes too long.
    """
    try:
        from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]
        from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]
        from referencing import Registry
        from referencing.exceptions import Unresolvable
    except ImportError as error:
        raise MissingExtra(
            "checking the answer against the question's schema needs jsonschema",
            hint="pip install 'langgraph-ckpt[schema]'; --no-schema records the answer unchecked",
        ) from error
    watch, data = MatchWatch(), to_json(answer, reveal=True)
    watch.length = len(str(data))
    try:
        with watch.running():
            Draft202012Validator.check_schema(schema)
            # A registry of its own: without one, the library would fetch a schema from any URL that this one names.
            checker = _with_formats(FormatChecker(formats=()))
            found = Draft202012Validator(schema, registry=Registry(), format_checker=checker).iter_errors(data)
            return [_described(error) for error in found]
    except (SchemaError, Unresolvable, RecursionError, UsageError, TypeError, ValueError) as error:
        raise UsageError(
            f"the question's schema can't be used: {type(error).__name__}",
            hint="--no-schema records the answer unchecked",
        ) from error


def _with_formats(checker: Any) -> Any:
    """The checker with the formats of Pydantic's types alone; the library's own depend on what is installed."""
    for name, fits in CHECKS.items():
        checker.checks(name, raises=ValueError)(lambda value, fits=fits: not isinstance(value, str) or fits(value))
    return checker


def _described(error: Any) -> Mismatch:
    error = _innermost(error)
    message = error.message if len(error.message) <= _SHOWN else f"{error.message[:_SHOWN]}…"
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return Mismatch(where.lstrip("."), message, _is_convertible(error))


def _innermost(error: Any) -> Any:
    """The error in the branch of a union that the answer probably means: one that isn't about the branch's own name."""
    while error.validator in ("anyOf", "oneOf") and error.context:
        branches = _branches(error.context)
        meant = [branch for branch in branches if all(one.validator != "const" for one in branch)]
        if len(meant) != 1:
            return error
        error = meant[0][0]
    return error


def _is_convertible(error: Any) -> bool:
    """Whether Pydantic may take a value that JSON schema refuses ("lax" mode, the conversion table of pydantic 2)."""
    if error.validator in ("anyOf", "oneOf") and error.context:
        return any(all(map(_is_convertible, branch)) for branch in _branches(error.context))
    if error.validator == "uniqueItems":  # of Pydantic's types only a set has it, and takes equal elements
        return True
    if error.validator != "type":
        return False
    expected = error.validator_value
    types = expected if isinstance(expected, list) else [expected]
    return any(_converts(error.instance, str(one), error.schema) for one in types)


def _branches(errors: Sequence[Any]) -> Iterator[list[Any]]:
    by_branch: dict[Any, list[Any]] = {}
    for error in errors:
        by_branch.setdefault(error.schema_path[0], []).append(error)
    yield from by_branch.values()


def _converts(value: Any, to: str, schema: Any) -> bool:
    if to in ("number", "integer"):
        return isinstance(value, bool) or (isinstance(value, str) and _is_number(value))
    if to == "boolean":
        return value in (0, 1) if isinstance(value, int | float) else str(value).lower() in _BOOLEAN_WORDS
    return to == "string" and isinstance(value, int | float) and schema.get("format") in _TIMES


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
