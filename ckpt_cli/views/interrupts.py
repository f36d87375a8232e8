"""A question a graph waits with, as `show`, `writes`, `log` and `tree` tell it."""

from typing import Any, NamedTuple


class InterruptView(NamedTuple):
    """A question that waits for an answer; `id` is what ``Command(resume={id: …})`` takes, null where there is none."""

    id: str | None
    value: Any
