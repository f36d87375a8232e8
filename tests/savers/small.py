"""A thread of two steps, and databases opened for the length of a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ckpt_cli.conformance.samples import Samples
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.url import open_database


@contextmanager
def opened(url: str) -> Iterator[Saver]:
    """A saver, closed afterwards."""
    saver = open_database(url, lambda _: None)
    try:
        yield saver
    finally:
        saver.close()


def two_steps(samples: Samples, thread_id: str = "t") -> list[Any]:
    """A thread of two checkpoints with a write on each."""
    return [
        samples.checkpoint(thread_id, "1"),
        samples.write(thread_id, "1"),
        samples.checkpoint(thread_id, "2", parent_id="1"),
        samples.write(thread_id, "2"),
    ]
