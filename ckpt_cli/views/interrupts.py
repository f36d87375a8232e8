"""A question for which a graph waits, in the views of `show`, `writes`, `log` and `tree`."""

from typing import Any, NamedTuple


class InterruptView(NamedTuple):
    """A question that waits for an answer. ``Command(resume={id: …})`` takes its `id`, which is null if it has none."""

    id: str | None
    value: Any
