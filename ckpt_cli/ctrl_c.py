"""Ctrl-C ends ckpt within a second, even during a long database statement, with one line about the outcome.

Python raises KeyboardInterrupt only when Python code runs again. This may take minutes if C code is waiting for a
database. So a second thread also waits for the signal (``signal.set_wakeup_fd``). This thread cancels all running
statements that can be cancelled. If the main thread doesn't end the process in time, the second thread ends it. A
change is then in the same state as after a crash: its transaction is rolled back, and the operation log has the plan.
"""

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace

CODE = 130
_GRACE = 0.6  # seconds that the main thread has to end the process

_state = SimpleNamespace(
    is_watched=False,
    was_pressed=False,
    outcome="",
    line_break="",
    stops=[],
    is_left_to_child=False,
    last_line=_thread.allocate_lock(),
)


def watch_ctrl_c() -> None:
    """Let Ctrl-C end this process, unless the process ignores Ctrl-C. The main thread calls this once."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    _silence_tracebacks()
    _state.is_watched = True
    _thread.start_new_thread(_wait, (read_end,))


def was_pressed() -> bool:
    """Whether Ctrl-C was pressed. If so, later errors are only consequences of Ctrl-C."""
    return bool(_state.was_pressed)


def note_outcome(words: str) -> None:
    """Store a text about the progress of a change; if Ctrl-C is pressed, the last line shows this text."""
    _state.outcome = words


def stop_message() -> str:
    """The line that is printed after Ctrl-C."""
    return f"ckpt: stopped; {_state.outcome}" if _state.outcome else "ckpt: stopped"


def note_question(is_open: bool) -> None:
    """Store whether the cursor stands behind a question; if Ctrl-C is pressed there, a line break comes first."""
    _state.line_break = "\n" if is_open else ""


def line_break() -> str:
    """What is printed before the last line, whichever thread prints it, so that it starts on its own line."""
    return str(_state.line_break)


@contextmanager
def on_ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop`, in another thread, if Ctrl-C is pressed inside the block."""
    _state.stops.append(stop)
    try:
        yield
    finally:
        _state.stops.remove(stop)


@contextmanager
def leave_to_child() -> Iterator[None]:
    """Leave Ctrl-C to a child process that has the terminal, such as a pager."""
    _state.is_left_to_child = True
    try:
        yield
    finally:
        _state.is_left_to_child = False


def claim_last_line() -> bool:
    """Whether the calling thread is the first to call this. Only the first thread prints the last line and exits."""
    return not _state.is_watched or _state.last_line.acquire(blocking=False)


def _wait(read_end: int) -> None:
    while os.read(read_end, 1) != bytes([signal.SIGINT]) or _state.is_left_to_child:
        pass
    _state.was_pressed = True
    for stop in list(_state.stops):
        with suppress(Exception):  # the connection may be closed already
            stop()
    time.sleep(_GRACE)
    if claim_last_line():
        with suppress(OSError):
            os.write(2, f"{line_break()}{stop_message()}\n".encode())
    else:
        time.sleep(_GRACE / 3)  # the main thread is printing the line
    os._exit(CODE)


def _silence_tracebacks() -> None:
    """Print no traceback if Ctrl-C interrupts a finalizer or a thread of a driver."""
    unraisable, failed = sys.unraisablehook, threading.excepthook

    def silent(args: "sys.UnraisableHookArgs") -> None:
        if not was_pressed() and not isinstance(args.exc_value, KeyboardInterrupt):
            unraisable(args)

    def silent_thread(args: threading.ExceptHookArgs) -> None:
        if not was_pressed():
            failed(args)

    sys.unraisablehook, threading.excepthook = silent, silent_thread
