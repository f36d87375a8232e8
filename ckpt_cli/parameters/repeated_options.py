"""Refuses two values for an option that takes one; how to say what was meant.

Typer's parser keeps the last value without a word: after ``--match a --match b --remove`` only threads of the second
pattern would go.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ckpt_cli.errors import UsageError
from ckpt_cli.shell_words import argument

if TYPE_CHECKING:
    from typer._click.parser import _OptionParser


def refuse_two_values(parser: "_OptionParser") -> None:
    """Make a parser refuse two different values for an option that takes one.

    Flags, options that may be repeated, and a value that is only typed twice stay as they are. The environment isn't
    asked: a typed ``--db`` still overrides ``$CKPT_DB``.
    """
    options = {id(option): option for option in (*parser._short_opt.values(), *parser._long_opt.values())}
    for option in options.values():
        if option.action == "store":
            option.process = _process_once(option)  # type: ignore[method-assign,assignment]


def _process_once(option: Any) -> Callable[[Any, Any], None]:
    process = option.process

    def process_once(value: Any, state: Any) -> None:
        first = state.opts.get(option.dest, value)
        if first != value:
            name = option.obj.opts[0]
            message = f"{name} takes one value, and two different ones are given"
            raise UsageError(message, hint=_hint(name, first, value))
        process(value, state)

    return process_once


def _hint(name: str, first: str, second: str) -> str:
    """Both ways out: leave one value out, or one value that says both, if this option has one."""
    if name == "--match" and all(tests := [_id_test(first), _id_test(second)]):
        return f"leave one of them out; --where {argument(' or '.join(tests))} takes the threads of both"
    if name == "--where":
        both, either = (argument(f"({first}) {word} ({second})") for word in ("and", "or"))
        return f"leave one of them out, or join them: --where {both}, or {either}"
    return "leave one of them out, or run the command once with each"


def _id_test(pattern: str) -> str:
    """What ``--where`` tests in place of a pattern of ``--match``, so that the same ids fit; "" if it has no words."""
    if not any(sign in pattern for sign in "*?"):
        return f"contains(thread_id, {pattern!r})"
    part = pattern.strip("*")
    if not part or any(sign in part for sign in "*?["):
        return ""
    return {
        f"{part}*": f"startswith(thread_id, {part!r})",
        f"*{part}": f"endswith(thread_id, {part!r})",
        f"*{part}*": f"{part!r} in thread_id",
    }.get(pattern, "")
