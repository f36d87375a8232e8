"""The only code that writes to stdout: UTF-8, lines in blocks or streamed; a closed pipe, a full disk.

These two raise different errors.
"""

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from ckpt_cli.errors import Failed

_BLOCK = 1 << 14  # characters


class OutputClosedError(Exception):
    """The reader closed the pipe (``ckpt log | head``)."""


def stream() -> TextIO:
    """stdout, set to UTF-8; characters that UTF-8 can't encode are written as escapes.

    Raises:
        OutputClosedError: there is no stdout.
    """
    if sys.stdout is None:
        raise OutputClosedError
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout


def write(lines: Iterable[str], *, prompt: bool = False) -> None:
    """Write lines in blocks, while they are still being made; with `prompt`, each line is flushed at once.

    Raises:
        OutputClosedError: the reader closed the pipe.
        Failed: the output can't be written, for example because the disk is full.
    """
    text_stream = stream()
    block: list[str] = []
    length = 0
    for line in lines:
        block.append(line)
        length += len(line) + 1
        if prompt or length >= _BLOCK:
            put(text_stream, block)
            block, length = [], 0
    put(text_stream, block)


def put(text_stream: TextIO, lines: list[str]) -> None:
    """Write whole lines, and flush them.

    Raises:
        OutputClosedError: the reader closed the pipe.
        Failed: the output can't be written.
    """
    try:
        text_stream.write("".join(f"{line}\n" for line in lines))
        text_stream.flush()
    except BrokenPipeError as error:
        raise OutputClosedError from error
    except OSError as error:
        discard()
        raise Failed(f"can't write the output: {error.strerror}") from error


def discard() -> None:
    """Redirect stdout to nothing, so that the interpreter's last flush doesn't fail."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return
