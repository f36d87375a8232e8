"""The one writer of stdout: UTF-8 wherever it goes, a closed pipe and a full disk told apart."""

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from ckpt_cli.errors import Failed

_BLOCK = 1 << 14  # characters


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
    """Write lines as they come, in blocks; `prompt` ones are seen at once by who reads the pipe.

    Raises:
        OutputClosedError: nobody reads any more.
        Failed: the disk is full, or the like.
    """
    out = stream()
    block: list[str] = []
    length = 0
    for line in lines:
        block.append(line)
        length += len(line) + 1
        if prompt or length >= _BLOCK:
            put(out, block)
            block, length = [], 0
    put(out, block)


def put(out: TextIO, lines: list[str]) -> None:
    """Write whole lines; only what goes wrong here is taken for an output error."""
    try:
        out.write("".join(f"{line}\n" for line in lines))
        out.flush()
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
