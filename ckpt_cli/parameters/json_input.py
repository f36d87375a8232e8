"""Reads JSON or a text from the command line: the text itself, ``@FILE``, or ``@-`` for stdin."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ckpt_cli.errors import UsageError
from ckpt_cli.values.jsontext import parse

_AT = """a text that begins with @ is written in quotes, as JSON: '"@text"'"""


def parse_json_input(text: str, what: str, *, hint: str = "") -> Any:
    """The data of a JSON text, a file (``@FILE``) or stdin (``@-``); `what` names it in errors.

    Raises:
        UsageError: the file can't be read, or the text isn't JSON.
    """
    if text.startswith("@"):
        return parse(file_or_stdin(text[1:], hint=_AT), f"{what} ({text})")
    return parse(text, what, hint=hint)


def parse_text_input(text: str, *, hint: str) -> str:
    """A text, or that of a file (``@FILE``) or of stdin (``@-``) without the end of its last line.

    Raises:
        UsageError: the file can't be read; `hint` says how a text begins with @.
    """
    return file_or_stdin(text[1:], hint=hint).rstrip("\r\n") if text.startswith("@") else text


def file_or_stdin(name: str, *, hint: str = "") -> str:
    """The text of a file, or of stdin if the name is ``-``.

    Raises:
        UsageError: the file can't be read.
    """
    try:
        if name == "-":
            return typer.get_binary_stream("stdin").read().decode("utf-8-sig")
        return Path(name).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", error)
        raise UsageError(f"can't read {name}: {why}", hint=hint) from error


def stdin_is_terminal() -> bool:
    """Whether a person types on stdin."""
    try:
        return typer.get_binary_stream("stdin").isatty()
    except RuntimeError:  # stdin is closed
        return False


def lines_of(name: str) -> Iterator[str]:
    """The lines of a file, or of stdin if the name is ``-``, one in memory at a time.

    Raises:
        UsageError: the file can't be read.
    """
    try:
        if name == "-":
            yield from (line.decode("utf-8-sig") for line in typer.get_binary_stream("stdin"))
            return
        with Path(name).open(encoding="utf-8-sig") as file:
            yield from file
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"can't read {name}: {why}") from error


def is_file(name: str) -> bool:
    """Whether a file of this name exists; a text that is too long for a file name gives False."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False
