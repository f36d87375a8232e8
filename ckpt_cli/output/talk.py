"""stderr: what is said to the person, never part of the answer."""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import NamedTuple

from ckpt_cli import ctrl_c
from ckpt_cli.errors import CkptError, Failed
from ckpt_cli.output.clean import clean
from ckpt_cli.output.stdout import OutputClosedError, discard

BUG = 70
PIPE_CLOSED = 141
"""128 + SIGPIPE: what a shell shows for a program that ``head`` had enough of."""


def on_terminal() -> bool:
    """Whether what is said here reaches a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def width() -> int | None:
    """Cells of the terminal that stderr is, whatever stdout is; None where it is none, or doesn't know its width.

    COLUMNS goes first.
    """
    if not on_terminal():
        return None
    told = os.environ.get("COLUMNS", "")
    columns = int(told) if told.isdecimal() and int(told) else os.get_terminal_size(sys.stderr.fileno()).columns
    return max(20, columns) if columns else None


def say(text: str) -> None:
    """One line to the person; a terminal gets it in lines of its own, which it would break inside ids."""
    if sys.stderr is None:
        return
    line, cells = clean(text), width()
    if cells is not None and len(line) > cells // 2:
        from ckpt_cli.output.cells import flow

        line = "\n".join(flow(line, cells))
    sys.stderr.write(line + "\n")  # Python's stderr never fails on a character: backslashreplace
    sys.stderr.flush()


def report(error: Exception, *, as_json: bool = False) -> int:
    """Say what went wrong, and the exit code for it; as one line of JSON for a script."""
    if ctrl_c.was_pressed():
        return stopped(as_json=as_json)
    if isinstance(error, OutputClosedError | BrokenPipeError):  # the latter from Typer, which writes help by itself
        discard()
        return PIPE_CLOSED
    if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
        discard()
        error = Failed(f"can't write: {error.strerror}")
    if isinstance(error, CkptError):
        said = Said(error.exit_code, _kind(error), error.message, error.hint, error.candidates)
    elif hasattr(error, "format_message"):  # Typer's own, whose class it keeps to itself
        said = _usage(error)
    elif type(error).__name__ == "Abort":
        return stopped(as_json=as_json)
    else:
        said = _bug(error)
    said = _without_urls(said)
    if as_json:
        _write_json(said)
    else:
        _explain(said.message, said.candidates, said.hint)
    return said.code


def stopped(*, as_json: bool = False) -> int:
    """Say that Ctrl-C ended the command and what it left, and the exit code for it."""
    if ctrl_c.claim_last_line():
        if as_json:
            _write_json(Said(ctrl_c.CODE, "interrupted", ctrl_c.stop_message().removeprefix("ckpt: ")))
        else:
            say(ctrl_c.stop_message())
    return ctrl_c.CODE


class Said(NamedTuple):
    """What is said of an error.

    Attributes:
        code: the exit code.
        kind: the error's class in lower case with hyphens, which scripts may rely on.
        candidates: what may have been meant.
    """

    code: int
    kind: str
    message: str
    hint: str = ""
    candidates: Sequence[str] = ()


def _without_urls(said: Said) -> Said:
    """The same where no word of the command line that it repeats is a URL with a password, wherever that was typed."""
    if "@" not in f"{said.message}{said.candidates}":
        return said
    from ckpt_cli.masking import hide_urls

    return said._replace(message=hide_urls(said.message), candidates=[*map(hide_urls, said.candidates)])


def _kind(error: CkptError) -> str:
    """The name of the error's nearest class in `ckpt_cli.errors`; the others are nobody's business outside."""
    public = next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == CkptError.__module__)
    return re.sub(r"(?<!^)(?=[A-Z])", "-", public).lower()


def _write_json(said: Said) -> None:
    if sys.stderr is not None:
        import json

        error = {**said._asdict(), "candidates": [*said.candidates]}
        sys.stderr.write(json.dumps({"error": error}) + "\n")  # ASCII, so that nothing drives a terminal
        sys.stderr.flush()


def _explain(message: str, candidates: Sequence[str], hint: str) -> None:
    say(f"ckpt: {message}")
    for candidate in candidates:
        say(f"  {candidate}")
    if hint:
        say(f"hint: {hint}")


def _usage(error: Exception) -> Said:
    """Typer's errors have a context, whose command explains itself."""
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "ckpt"
    said = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    message, _, meant = said.replace("(Possible options: ", "Did you mean ").partition("Did you mean ")
    message = message.rstrip(" .").replace("Value error, ", "")
    hint = f"did you mean {meant.rstrip('?)')}?" if meant else f"{path} --help"
    if path == "ckpt" and hasattr(error, "option_name"):
        hint = f"options come after the command: ckpt COMMAND {error.option_name} …"
    return Said(int(getattr(error, "exit_code", 2)), "usage-error", message[:1].lower() + message[1:], hint)


def _bug(error: Exception) -> Said:
    from ckpt_cli.masking import hide

    if os.environ.get("CKPT_TRACEBACK"):
        sys.stderr.write(hide("".join(traceback.format_exception(error))))
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}:{where.lineno}"
    message = f"this is a bug in ckpt: {type(error).__name__}: {hide(str(error))} ({place})"
    return Said(BUG, "bug", message, "CKPT_TRACEBACK=1 shows where it came from")
