"""Parses command-line parameters without importing Pydantic; starts and ends the process quickly.

The import takes longer than most commands. Typer 0.29 (``typer/core.py: _TyperParameter.get_runtime_param``) makes a
Pydantic ``TypeAdapter`` for each parameter of a command, even for text and flags. This costs 0.09 s at each start. A
parameter keeps its converter in ``_runtime_param``; if that is already set, Typer makes no other converter. Our
converter converts plain values, and leaves everything else, including error messages, to Typer's converter. If Typer's
internals are not as expected, nothing is changed: the start is slower, and the result is still right.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, get_args, get_origin

from ckpt_cli.ctrl_c import watch_ctrl_c

_UNSET = object()


def begin() -> None:
    """Watch for Ctrl-C.

    With NO_COLOR, turn off all styles of the help. NO_COLOR alone would leave bold and dim in Typer's help (typer 0.29
    ``rich_utils.py``), so Typer's own variable is set too. Typer reads the variable at its import.
    """
    if os.environ.get("NO_COLOR"):
        os.environ.setdefault("_TYPER_FORCE_DISABLE_TERMINAL", "1")
    watch_ctrl_c()


def leave(code: int) -> NoReturn:
    """Flush the output and end the process at once: a normal shutdown of the interpreter would take 0.015 s."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, full or missing; the error is already reported
            code = code or 8
    os._exit(code)


class _PlainConverter:
    """Replaces Typer's ``RuntimeParam`` as long as all values are plain."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of one parameter, converted from the words on the command line."""
        many = param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        kind = param.type_descriptor.annotation
        converted: Any = _UNSET
        if not many:
            converted = _convert_plain(value, kind, param)
        elif get_origin(kind) is list and isinstance(value, list | tuple):
            converted = tuple(_convert_plain(item, get_args(kind)[0], param) for item in value)
        if converted is _UNSET or (many and _UNSET in converted):
            param._runtime_param = None
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
        return converted


def _convert_plain(value: Any, kind: Any, param: Any) -> Any:
    """The converted value; _UNSET if Typer must convert the value."""
    if type(value) is kind:
        return value if _is_in_range(value, param) else _UNSET
    if not isinstance(value, str):
        return _UNSET
    if kind in (int, float):
        try:
            number = kind(value)
        except ValueError:
            return _UNSET
        return number if _is_in_range(number, param) else _UNSET
    for choice in param.type_descriptor.choices or ():
        if value == getattr(choice, "value", choice):
            return choice
    return _UNSET


def _is_in_range(value: Any, param: Any) -> bool:
    if param.min is None and param.max is None:
        return True
    return (param.min is None or value >= param.min) and (param.max is None or value <= param.max)


def prepare(params: Sequence[Any]) -> None:
    """Make parameters fast. The help shows no type for flags and arguments, but it shows the choices of options."""
    quicken(params)
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        elif getattr(param, "param_type_name", "") == "argument":
            param.display_type_rich = _no_type
        elif param.metavar is None and (choices := _choices(param)):
            param.metavar = "|".join(str(getattr(choice, "value", choice)) for choice in choices)


def _no_type(ctx: Any) -> None:  # noqa: ARG001 - as Typer calls it
    return None


def _choices(param: Any) -> Sequence[Any]:
    return getattr(getattr(param, "type_descriptor", None), "choices", None) or ()


def quicken(params: Sequence[Any]) -> None:
    """Give parameters a converter that doesn't import Pydantic, if Typer keeps its converter where we expect it."""
    for param in params:
        info = getattr(getattr(param, "type_descriptor", None), "parameter_info", None)
        has_own_parser = getattr(info, "parser", None) or getattr(info, "click_type", None)
        expected = info is not None and not has_own_parser and hasattr(param, "get_runtime_param")
        if expected and getattr(param, "_runtime_param", _UNSET) is None:
            param._runtime_param = _PlainConverter()
