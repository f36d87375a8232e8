"""Counts the work of a function, so that a test can check that it is linear without a clock."""

import gc
import io
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import count
from types import FrameType
from typing import Any

LINEAR = 2.6
"""The most that work may grow where what is read doubles: linear times a logarithm, with room for small sizes."""

_SAMPLED = 8  # at every eighth line that is printed, memory is looked at


def instructions(call: Callable[[], Any]) -> int:
    """How many bytecode instructions Python runs in `call`, in every module."""
    executed = 0

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal executed
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        executed += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return executed


def growth(size: int, prepared: Callable[[int], Callable[[], Any]]) -> float:
    """How many times more work is done for twice the size; `prepared` makes the data and returns what is counted."""
    prepared(2)()  # imports and caches
    return instructions(prepared(2 * size)) / instructions(prepared(size))


def held(call: Callable[[], Any]) -> int:
    """The most bytes that objects take while `call` runs, beyond those from before; looked at while it prints.

    The less of two runs: the interpreter's own table of interned strings doubles now and then, in a long process by
    eight megabytes at once, whoever is running; never in two runs on end.
    """
    return min(_held_once(call), _held_once(call))


def _held_once(call: Callable[[], Any]) -> int:
    samples, lines = [0], count()

    class Out(io.StringIO):
        def write(self, text: str) -> int:
            if next(lines) % _SAMPLED == 0:
                gc.collect()
                samples.append(tracemalloc.get_traced_memory()[0])
            return len(text)

    gc.freeze()  # the collector needn't look at what was there before
    tracemalloc.start()
    try:
        with redirect_stdout(Out()):
            call()
    finally:
        tracemalloc.stop()
        gc.unfreeze()
    return max(samples)


def peak(call: Callable[[], Any]) -> int:
    """The most bytes that objects take at a time while `call` runs, garbage included; see `held` on single runs."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
