"""The one writer of stdout: always UTF-8; a closed pipe and a full disk are different errors."""

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from ckpt_cli.errors import Failed

_BLOCK = 1 << 14  # characters


class OutputClosedError(Exception):
    """The reader closed the pipe (``ckpt log | head``)."""


def stream() -> TextIO:
    """stdout, set to write UTF-8; what UTF-8 can't encode is written as escapes."""
    if sys.stdout is None:
        raise OutputClosedError
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout


def write(lines: Iterable[str], *, prompt: bool = False) -> None:
    """Write lines as they come, in blocks; with `prompt` each line is flushed at once.

    Raises:
        OutputClosedError: the reader closed the pipe.
        Failed: the output can't be written, for example because the disk is full.
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
    """Write whole lines; only errors raised here count as output errors."""
    try:
        out.write("".join(f"{line}\n" for line in lines))
        out.flush()
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
