"""Says which lock a command's statement waits for; an agent's saver says nothing."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

_PATIENCE = 1.5  # seconds
_state = SimpleNamespace(say=None)


@contextmanager
def announced(say: Callable[[str], None]) -> Iterator[None]:
    """While the block runs, `say` gets a line about a statement that waits for a lock."""
    before, _state.say = _state.say, say
    try:
        yield
    finally:
        _state.say = before


@contextmanager
def watched(look: Callable[[], str]) -> Iterator[None]:
    """While the block runs, ask every second or so what it waits for, and say it once.

    Args:
        look: the line to say, "" if the block doesn't wait for a lock. It is called in another thread, so it must not
            use the connection of the block, and it raises nothing.
    """
    say = _state.say
    if say is None:
        yield
        return
    ended = threading.Event()
    threading.Thread(target=_watch, args=(ended, look, say), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _watch(ended: threading.Event, look: Callable[[], str], say: Callable[[str], None]) -> None:
    while not ended.wait(_PATIENCE):
        text = look()
        if text and not ended.is_set():
            say(f"{text}; Ctrl-C stops waiting")
            return
