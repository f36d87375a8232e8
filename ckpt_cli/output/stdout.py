"""The one writer of stdout: UTF-8 wherever it goes, a closed pipe and a full disk told apart."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import TextIO

from ckpt_cli.errors import Failed


class OutputClosedError(Exception):
    """Whoever read our output has had enough (``ckpt log | head``)."""


def stream() -> TextIO:
    """stdout, set to write UTF-8 with what UTF-8 can't carry shown as escapes."""
    if sys.stdout is None:
        raise OutputClosedError
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout


def write(lines: Iterable[str], *, prompt: bool = False) -> None:
    """Write lines as they come; `prompt` ones are seen at once by who reads the pipe.

    Raises:
        OutputClosedError: nobody reads any more.
        Failed: the disk is full, or the like.
    """
    out = stream()

    def put(line: str) -> None:
        out.write(line + "\n")
        if prompt:
            out.flush()

    for line in lines:
        guarded(put, line)
    guarded(lambda _: out.flush(), "")


def guarded(act: Callable[[str], None], text: str) -> None:
    """Do something to stdout; only what goes wrong there is taken for an output error."""
    try:
        act(text)
    except BrokenPipeError as error:
        raise OutputClosedError from error
    except OSError as error:
        discard()
        raise Failed(f"can't write the output: {error.strerror}") from error


def discard() -> None:
    """Let the interpreter's last flush go nowhere, so that it doesn't complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return
