"""Counts the work of a function, so that a test can check that it is linear without a clock."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

LINEAR = 2.6
"""The most that work may grow where what is read doubles: linear times a logarithm, with room for small sizes."""


def instructions(call: Callable[[], Any]) -> int:
    """How many bytecode instructions Python runs in `call`, in every module."""
    count = 0

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def growth(size: int, prepared: Callable[[int], Callable[[], Any]]) -> float:
    """How many times more work is done for twice the size; `prepared` makes the data and returns what is counted."""
    prepared(2)()  # imports and caches
    return instructions(prepared(2 * size)) / instructions(prepared(size))
