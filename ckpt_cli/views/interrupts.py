"""A question for which a graph waits, in the views of `show`, `writes`, `log` and `tree`."""

from typing import Any, NamedTuple


class InterruptView(NamedTuple):
    """A question that waits for an answer. ``Command(resume={id: …})`` takes the `id`; some questions have none."""

    id: str | None
    value: Any
