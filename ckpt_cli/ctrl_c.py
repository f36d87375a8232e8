"""Ctrl-C ends ckpt within a second, also inside a long statement of an engine, with one line that says what it left.

Python raises KeyboardInterrupt when its own code runs again, which may be minutes later while C code waits for an
engine. So a thread waits for the signal as well (``signal.set_wakeup_fd``). It cancels the running statements that can
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

_state = SimpleNamespace(watched=False, came=False, left="", stops=[], child=False, said=_thread.allocate_lock())


def watch_ctrl_c() -> None:
    """See to it that Ctrl-C ends this process; once, by the main thread, and not where it is ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    _quiet()
    _state.watched = True
    _thread.start_new_thread(_wait, (ours,))


def was_pressed() -> bool:
    """Whether Ctrl-C was pressed: an error that comes after it is its consequence."""
    return bool(_state.came)


def note_outcome(words: str) -> None:
    """Note what a change has done so far, to be said where it is interrupted from here on."""
    _state.left = words


def stop_message() -> str:
    """The line for the person."""
    return f"ckpt: stopped; {_state.left}" if _state.left else "ckpt: stopped"


@contextmanager
def on_ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop`, in another thread, when Ctrl-C comes meanwhile."""
    _state.stops.append(stop)
    try:
        yield
    finally:
        _state.stops.remove(stop)


@contextmanager
def leave_to_child() -> Iterator[None]:
    """Ctrl-C is for a program that has the terminal meanwhile, a pager."""
    _state.child = True
    try:
        yield
    finally:
        _state.child = False


def claim_last_line() -> bool:
    """Claim the last line: True for the thread that asks first, which says it and ends the process."""
    return not _state.watched or _state.said.acquire(blocking=False)


def _wait(ours: int) -> None:
    while os.read(ours, 1) != bytes([signal.SIGINT]) or _state.child:
        pass
    _state.came = True
    for stop in list(_state.stops):
        with suppress(Exception):  # closed already
            stop()
    time.sleep(_GRACE)
    if claim_last_line():
        with suppress(OSError):
            os.write(2, f"{stop_message()}\n".encode())
    else:
        time.sleep(_GRACE / 3)  # the line is being said
    os._exit(CODE)


def _quiet() -> None:
    """Print no traceback of what Ctrl-C cuts off in a finalizer or in a thread of a driver."""
    unraisable, failed = sys.unraisablehook, threading.excepthook

    def silent(args: "sys.UnraisableHookArgs") -> None:
        if not was_pressed() and not isinstance(args.exc_value, KeyboardInterrupt):
            unraisable(args)

    def silent_thread(args: threading.ExceptHookArgs) -> None:
        if not was_pressed():
            failed(args)

    sys.unraisablehook, threading.excepthook = silent, silent_thread
