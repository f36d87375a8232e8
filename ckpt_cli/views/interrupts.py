"""A question that a graph waits with, as `show`, `writes`, `log` and `tree` give it."""

from typing import Any, NamedTuple


class InterruptView(NamedTuple):
    """A question that waits for an answer; `id` is what ``Command(resume={id: …})`` takes, null if there is none."""

    id: str | None
    value: Any
