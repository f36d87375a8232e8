"""``--metadata``: what a person says about the application's metadata of new checkpoints."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_metadata
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.json_input import given
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
    """What ``--metadata`` says, all of it together; of one key the last word counts.

    Raises:
        UsageError: a key is LangGraph's own, or a value is none that LangGraph keeps.
    """
    said: dict[str, Scalar | _Dropped] = {}
    for text in texts or ():
        key, value = _parsed(text)
        said.pop(key, None)
        said[key] = value
    values = {key: value for key, value in said.items() if not isinstance(value, _Dropped)}
    return MetadataChanges(values, frozenset(said.keys() - values.keys()))


class _Dropped:
    """In place of a value: the key goes."""


def _parsed(text: str) -> "tuple[str, Scalar | _Dropped]":
    key, is_said, value = text.partition("=")
    is_json = key.endswith(":")
    key = key.removesuffix(":")
    if not is_said or not key:
        raise UsageError(f"--metadata {text!r} names no key and value", hint=_HINT)
    _must_be_utf8(text)
    if not is_application_key(key):
        raise UsageError(
            f"--metadata can't change {key}: LangGraph writes it itself",
            hint="it changes what your application stores beside LangGraph's own keys, such as user_id",
        )
    if is_json:
        return key, _scalar(key, given(value, f"the value of {key}", hint=f"{key}=TEXT takes text as it is"))
    return key, value or _Dropped()


def _must_be_utf8(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("--metadata holds bytes that are not UTF-8") from error


def _scalar(key: str, value: Any) -> Scalar:
    """A value that LangGraph would take from a config, without U+0000 as there.

    langgraph-checkpoint 4.3, ``base/__init__.py: get_checkpoint_metadata``.
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
