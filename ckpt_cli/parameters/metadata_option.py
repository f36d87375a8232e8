"""Parses ``--metadata KEY=VALUE``; what a new checkpoint carries over: `plans/metadata`.

The option changes the application's metadata in new checkpoints.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_metadata
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.json_input import parse_json_input
from ckpt_cli.plans.metadata import MetadataChanges, Scalar, is_application_key

MetadataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata",
        metavar="KEY=TEXT",
        help="Set a key of the application's metadata: KEY=TEXT or KEY:=JSON; KEY= removes it. May be repeated.",
        autocompletion=complete_metadata,
        show_default=False,
    ),
]

_HINT = "--metadata KEY=TEXT, KEY:=JSON for a number, true or false, KEY= to drop it"


def metadata_changes(texts: Sequence[str] | None) -> MetadataChanges:
    """The changes that all ``--metadata`` options ask for. If several name the same key, the last one counts.

    Raises:
        UsageError: a key is LangGraph's own, or LangGraph doesn't keep values of that type.
    """
    changes: dict[str, Scalar | _Removed] = {}
    for text in texts or ():
        key, value = _parse_option(text)
        changes.pop(key, None)
        changes[key] = value
    values = {key: value for key, value in changes.items() if not isinstance(value, _Removed)}
    return MetadataChanges(values, frozenset(changes.keys() - values.keys()))


class _Removed:
    """Marks, in place of a value, that the key is removed."""


def _parse_option(text: str) -> "tuple[str, Scalar | _Removed]":
    key, equals, value = text.partition("=")
    is_json = key.endswith(":")
    key = key.removesuffix(":")
    if not equals or not key:
        raise UsageError(f"--metadata {text!r} names no key and value", hint=_HINT)
    _check_utf8(text)
    if not is_application_key(key):
        raise UsageError(
            f"--metadata can't change {key}: LangGraph writes it itself",
            hint="--metadata changes only the keys that your application adds, such as user_id",
        )
    if is_json:
        return key, _to_scalar(
            key, parse_json_input(value, f"the value of {key}", hint=f"{key}=TEXT takes text as it is")
        )
    return key, value or _Removed()


def _check_utf8(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("--metadata contains bytes that are not UTF-8") from error


def _to_scalar(key: str, value: Any) -> Scalar:
    """The value as LangGraph would store it from a config: texts lose U+0000.

    Types that LangGraph doesn't store are refused (langgraph-checkpoint 4.3, ``base/__init__.py:
    get_checkpoint_metadata``).
    """
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, bool | int | float):
        return value
    kind = "null" if value is None else "an object" if isinstance(value, dict) else "a list"
    raise UsageError(
        f"--metadata {key} is {kind}: from a config LangGraph keeps only text, numbers, true and false",
        hint=f"{key}= drops the key" if value is None else f"{key}=TEXT keeps it as text",
    )
