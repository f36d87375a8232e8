"""Ctrl-C ends ckpt within a second, also during a long statement of an engine, with one line about the outcome.

Python raises KeyboardInterrupt only when its own code runs again, which may take minutes while C code waits for an
engine. So a thread waits for the signal too (``signal.set_wakeup_fd``). It cancels the running statements that can
be cancelled, and ends the process if the main thread has not ended it in time. A change is then in the same state as
after a crash: its transaction is rolled back, and the operation log says what was planned.
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
_GRACE = 0.6  # seconds for the process to end by itself

_state = SimpleNamespace(
    is_watched=False, was_pressed=False, outcome="", stops=[], is_left_to_child=False, last_line=_thread.allocate_lock()
)


def watch_ctrl_c() -> None:
    """Make Ctrl-C end this process. The main thread calls this once; an ignored Ctrl-C stays ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    _quiet()
    _state.is_watched = True
    _thread.start_new_thread(_wait, (ours,))


def was_pressed() -> bool:
    """Whether Ctrl-C was pressed: errors after that are its consequence."""
    return bool(_state.was_pressed)


def note_outcome(words: str) -> None:
    """Note what a change has done so far; the line after Ctrl-C says it."""
    _state.outcome = words


def stop_message() -> str:
    """The line that is printed after Ctrl-C."""
    return f"ckpt: stopped; {_state.outcome}" if _state.outcome else "ckpt: stopped"


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
    """Claim the last line: True for the first thread that calls this, which prints it and ends the process."""
    return not _state.is_watched or _state.last_line.acquire(blocking=False)


def _wait(ours: int) -> None:
    while os.read(ours, 1) != bytes([signal.SIGINT]) or _state.is_left_to_child:
        pass
    _state.was_pressed = True
    for stop in list(_state.stops):
        with suppress(Exception):  # closed already
            stop()
    time.sleep(_GRACE)
    if claim_last_line():
        with suppress(OSError):
            os.write(2, f"{stop_message()}\n".encode())
    else:
        time.sleep(_GRACE / 3)  # the line is being printed
    os._exit(CODE)


def _quiet() -> None:
    """Print no traceback for code that Ctrl-C cuts off in a finalizer or in a thread of a driver."""
    unraisable, failed = sys.unraisablehook, threading.excepthook

    def silent(args: "sys.UnraisableHookArgs") -> None:
        if not was_pressed() and not isinstance(args.exc_value, KeyboardInterrupt):
            unraisable(args)

    def silent_thread(args: threading.ExceptHookArgs) -> None:
        if not was_pressed():
            failed(args)

    sys.unraisablehook, threading.excepthook = silent, silent_thread
