"""Stops a regular expression that takes seconds for one text.

Python's `re` tries all ways in which ``(a+)+$`` may fit, and they double with each letter. While it does so, it looks
for signals (CPython 3.11 ``Modules/_sre/sre_lib.h: MAYBE_CHECK_SIGNALS``), so the signal of a timer really ends it. The
timer counts processor time, so a slow database or a reader who pauses the output doesn't count.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ckpt_cli.errors import UsageError

_TICK = 0.5  # seconds of processor time between two looks
_TICKS = 4
_CHARACTERS = 500_000  # a text of so many characters gets one more tick; a plain search takes a hundredth of it

ADVICE = r"a backslash takes away a sign's meaning: \( is a parenthesis"
"""What a person may do about a regular expression that doesn't work, where no option takes plain text."""


class MatchWatch:
    """Watches the matches of one pattern.

    Attributes:
        length: the length of the text in which the pattern is being searched; -1 if no search is going on.
        texts: the number of texts searched so far.
    """

    def __init__(self, advice: str = ADVICE) -> None:
        """`advice` ends the hint of the error."""
        self.length = -1
        self.texts = 0
        self._seen = 0
        self._ticks = 0
        self._advice = advice

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside this block, a match that takes too long raises UsageError; only in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = signal.signal(signal.SIGVTALRM, self._look)
        signal.setitimer(signal.ITIMER_VIRTUAL, _TICK, _TICK)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, previous)

    def _look(self, _signal: int, _frame: FrameType | None) -> None:
        if self.length < 0 or self.texts != self._seen:
            self._seen, self._ticks = self.texts, 0
            return
        self._ticks += 1
        if self._ticks >= _TICKS + self.length // _CHARACTERS:
            what = f"more than {self._ticks * _TICK:g} s for one text of {self.length:,} characters"
            raise UsageError(
                f"the pattern takes {what}; the search ended there",
                hint=f"a repetition inside a repetition, as in (a+)+, can take endless time; {self._advice}",
            )
