"""JSON that a person gives on the command line: itself, ``@FILE``, or ``-`` for what comes in."""

from pathlib import Path
from typing import Any

import typer

from ckpt_cli.errors import UsageError
from ckpt_cli.values.jsontext import parse


def given(text: str, what: str, *, hint: str = "") -> Any:
    """The data of a JSON text, of a file (``@FILE``) or of stdin (``@-``); `what` names it in errors.

    Raises:
        UsageError: the file can't be read, or it is no JSON.
    """
    if text.startswith("@"):
        return parse(file_or_stdin(text[1:]), f"{what} ({text})")
    return parse(text, what, hint=hint)


def file_or_stdin(name: str) -> str:
    """The text of a file, of stdin where it is called ``-``.

    Raises:
        UsageError: it can't be read.
    """
    try:
        if name == "-":
            return typer.get_binary_stream("stdin").read().decode("utf-8-sig")
        return Path(name).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise UsageError(f"can't read {name}: {told}") from error


def is_file(name: str) -> bool:
    """Whether there is a file of this name; a text that is longer than a name may be is none."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False
