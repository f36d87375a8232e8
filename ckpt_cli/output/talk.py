"""stderr: what is said to the person, never part of the answer."""

import os
import sys
import traceback
from errno import EDQUOT, ENOSPC
from pathlib import Path

from ckpt_cli import interrupts
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
    """Cells of the terminal that stderr is, whatever stdout is; None where it is none. COLUMNS goes first."""
    if not on_terminal():
        return None
    told = os.environ.get("COLUMNS", "")
    return max(20, int(told) if told.isdecimal() and int(told) else os.get_terminal_size(sys.stderr.fileno()).columns)


def say(text: str) -> None:
    """One line to the person; a terminal gets it in lines of its own, which it would break inside ids."""
    if sys.stderr is None:
        return
    line, cells = clean(text), width()
    if cells is not None and len(line) > cells // 2:
        from ckpt_cli.output.cells import wrap

        line = "\n".join(wrap(line, cells))
    sys.stderr.write(line + "\n")  # Python's stderr never fails on a character: backslashreplace
    sys.stderr.flush()


def report(error: Exception) -> int:
    """Say what went wrong, and the exit code for it."""
    if interrupts.came():
        return stopped()
    if isinstance(error, OutputClosedError | BrokenPipeError):  # the latter from Typer, which writes help by itself
        discard()
        return PIPE_CLOSED
    if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
        discard()
        error = Failed(f"can't write: {error.strerror}")
    if isinstance(error, CkptError):
        _explain(error.message, error.candidates, error.hint)
        return error.exit_code
    if hasattr(error, "format_message"):  # Typer's own, whose class it keeps to itself
        return _usage(error)
    if type(error).__name__ == "Abort":
        return stopped()
    return _bug(error)


def stopped() -> int:
    """Say that Ctrl-C ended the command and what it left, and the exit code for it."""
    if interrupts.finished():
        say(interrupts.sentence())
    return interrupts.CODE


def _explain(message: str, candidates: tuple[str, ...], hint: str) -> None:
    say(f"ckpt: {message}")
    for candidate in candidates:
        say(f"  {candidate}")
    if hint:
        say(f"hint: {hint}")


def _usage(error: Exception) -> int:
    """Typer's errors have a context, whose command explains itself."""
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "ckpt"
    said = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    message, _, meant = said.replace("(Possible options: ", "Did you mean ").partition("Did you mean ")
    message = message.rstrip(" .").replace("Value error, ", "")
    hint = f"did you mean {meant.rstrip('?)')}?" if meant else f"{path} --help"
    if path == "ckpt" and hasattr(error, "option_name"):
        hint = f"options come after the command: ckpt COMMAND {error.option_name} …"
    _explain(message[:1].lower() + message[1:], (), hint)
    return int(getattr(error, "exit_code", 2))


def _bug(error: Exception) -> int:
    if os.environ.get("CKPT_TRACEBACK"):
        traceback.print_exception(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}:{where.lineno}"
    say(f"ckpt: this is a bug in ckpt: {type(error).__name__}: {error} ({place})")
    say("hint: CKPT_TRACEBACK=1 shows where it came from")
    return BUG
