"""Writes to stderr, wrapped to its width: remarks, hints, errors (text or JSON), bugs; without logins.

None of this is a part of the answer.
"""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import NamedTuple

from ckpt_cli import ctrl_c
from ckpt_cli.errors import CkptError, Failed
from ckpt_cli.output.clean import clean
from ckpt_cli.output.stdout import OutputClosedError, discard

BUG = 70
PIPE_CLOSED = 141
"""128 + SIGPIPE: what a shell shows for a program whose reader (``head``) closed the pipe."""

_DELAY, _PAUSE = 0.8, 0.2  # seconds before the first line of progress, and between two
_CLEAR = "\r\x1b[K"
_progress = SimpleNamespace(begun=0.0, shown=0.0)
"""When long work began, and when a line of progress was last written; 0 if there is none."""

_MOST_CANDIDATES = 20  # as text; JSON has all of them


def on_terminal() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def width() -> int | None:
    """The width of stderr's terminal in cells; None if stderr isn't a terminal, or if its width is unknown.

    The variable COLUMNS overrides the width of the terminal.
    """
    if not on_terminal():
        return None
    columns_variable = os.environ.get("COLUMNS", "")
    is_set = columns_variable.isdecimal() and int(columns_variable)
    columns = int(columns_variable) if is_set else os.get_terminal_size(sys.stderr.fileno()).columns
    return max(20, columns) if columns else None


def say(text: str) -> None:
    """Write one line to stderr. For a terminal the line is wrapped here, because terminals break ids."""
    if sys.stderr is None:
        return
    line, cells = clean(text), width()
    if cells is not None and len(line) > cells // 2:
        from ckpt_cli.output.cells import flow

        line = "\n".join(flow(line, cells))
    with suppress(BrokenPipeError):  # a remark that nobody reads any more doesn't end the command
        sys.stderr.write(line + "\n")  # stderr can write every character: it uses backslashreplace
        sys.stderr.flush()


def show_status(text: str) -> None:
    """Show a line on stderr's terminal that the next line replaces; "" removes it."""
    if width() is None or sys.stderr is None:
        return
    _replace_line(text)
    sys.stderr.flush()
    ctrl_c.note_question(bool(text))


def progress(text: str) -> None:
    """Show how far long work has come, in one line that the next such line replaces; "" removes it.

    Only on a terminal, and not more often than anybody can read.
    """
    if not on_terminal():
        return
    now = monotonic()
    _progress.begun = _progress.begun or now
    if text and now - max(_progress.begun + _DELAY, _progress.shown) > _PAUSE:
        _replace_line(text)
        _progress.shown = now
    elif not text:
        sys.stderr.write(_CLEAR if _progress.shown else "")
        _progress.begun = _progress.shown = 0.0
    sys.stderr.flush()


def _replace_line(text: str) -> None:
    from ckpt_cli.output.cells import truncate

    sys.stderr.write(_CLEAR + truncate(clean(text), (width() or 80) - 1))


def report(error: Exception, *, as_json: bool = False) -> int:
    """Write what went wrong, as text or, for a script, as one line of JSON. Returns the exit code."""
    if ctrl_c.was_pressed():
        return stopped(as_json=as_json)
    if isinstance(error, OutputClosedError | BrokenPipeError):  # the latter comes from Typer's own help
        discard()
        return PIPE_CLOSED
    if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
        discard()
        error = Failed(f"can't write: {error.strerror}")
    if isinstance(error, CkptError):
        error_report = ErrorReport(error.exit_code, _error_kind(error), error.message, error.hint, error.candidates)
    elif hasattr(error, "format_message"):  # one of Typer's own errors, whose class is private
        error_report = _report_usage(error)
    elif type(error).__name__ == "Abort":
        return stopped(as_json=as_json)
    else:
        error_report = _report_bug(error)
    error_report = _with_masked_urls(error_report)
    with suppress(BrokenPipeError):  # nobody reads stderr any more; the exit code still says what it was
        if as_json:
            _write_json(error_report)
        else:
            _write_text(error_report.message, error_report.candidates, error_report.hint)
    return error_report.code


def stopped(*, as_json: bool = False) -> int:
    """Write that Ctrl-C ended the command, and whether anything was written before. Returns the exit code."""
    if ctrl_c.claim_last_line():
        if sys.stderr is not None:
            sys.stderr.write(ctrl_c.line_break())
        if as_json:
            _write_json(ErrorReport(ctrl_c.CODE, "interrupted", ctrl_c.stop_message().removeprefix("ckpt: ")))
        else:
            say(ctrl_c.stop_message())
    return ctrl_c.CODE


class ErrorReport(NamedTuple):
    """An error in the form in which it is shown.

    Attributes:
        code: the exit code.
        kind: the name of the error's class, in lower case with hyphens; scripts may rely on it.
        candidates: names that the user may have meant.
    """

    code: int
    kind: str
    message: str
    hint: str = ""
    candidates: Sequence[str] = ()


def _with_masked_urls(error_report: ErrorReport) -> ErrorReport:
    """The same report with masked passwords in URLs, because a message may repeat a URL from the command line."""
    if "@" not in f"{error_report.message}{error_report.candidates}":
        return error_report
    from ckpt_cli.masking import hide_urls

    return error_report._replace(
        message=hide_urls(error_report.message), candidates=[*map(hide_urls, error_report.candidates)]
    )


def _error_kind(error: CkptError) -> str:
    """The name of the error's class in lower case with hyphens.

    Subclasses outside `ckpt_cli.errors` are private, so scripts don't see their names. For such a subclass, this is
    the name of the nearest class in `ckpt_cli.errors`.
    """
    public = next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == CkptError.__module__)
    return re.sub(r"(?<!^)(?=[A-Z])", "-", public).lower()


def _write_json(error_report: ErrorReport) -> None:
    if sys.stderr is not None:
        import json

        error = {**error_report._asdict(), "candidates": [*error_report.candidates]}
        sys.stderr.write(json.dumps({"error": error}) + "\n")  # ASCII only, so no control sequence can reach a terminal
        sys.stderr.flush()


def _write_text(message: str, candidates: Sequence[str], hint: str) -> None:
    say(f"ckpt: {message}")
    for candidate in candidates[:_MOST_CANDIDATES]:
        say(f"  {candidate}")
    if len(candidates) > _MOST_CANDIDATES:
        say(f"  … and {len(candidates) - _MOST_CANDIDATES:,} more (--json lists all)")
    if hint:
        say(f"hint: {hint}")


OTHER_OPTIONS = {
    ("ckpt update", "--set"): """--values '{"CHANNEL": VALUE}'; `ckpt edit --set` changes a path, without reducers""",
    ("ckpt edit", "--values"): "--set PATH=JSON, or --values-from FILE for many threads",
    ("ckpt edit", "--as-node"): "`ckpt update` writes as a node would; `edit` leaves open what runs next",
    ("ckpt fork", "--set"): "`ckpt edit --set` changes the copy",
    ("ckpt resume", "--answer"): "--value JSON answers the question",
}  # the options that other verbs have for what this one says otherwise


def _report_usage(error: Exception) -> ErrorReport:
    """The report for one of Typer's errors; the hint is Typer's suggestion, or the command's ``--help``."""
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "ckpt"
    text = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    message, _, meant = text.replace("(Possible options: ", "Did you mean ").partition("Did you mean ")
    message = message.rstrip(" .").replace("Value error, ", "")
    hint = f"did you mean {meant.rstrip('?)')}?" if meant else f"{path} --help"
    option = getattr(error, "option_name", None)
    if path == "ckpt" and option is not None:
        hint = f"options come after the command: ckpt COMMAND {option} …"
    hint = OTHER_OPTIONS.get((path, str(option)), hint)
    return ErrorReport(int(getattr(error, "exit_code", 2)), "usage-error", message[:1].lower() + message[1:], hint)


def _report_bug(error: Exception) -> ErrorReport:
    from ckpt_cli.masking import hide

    if os.environ.get("CKPT_TRACEBACK"):
        sys.stderr.write(hide("".join(traceback.format_exception(error))))
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}:{where.lineno}"
    message = f"this is a bug in ckpt: {type(error).__name__}: {hide(str(error))} ({place})"
    return ErrorReport(BUG, "bug", message, "CKPT_TRACEBACK=1 shows where it came from")
