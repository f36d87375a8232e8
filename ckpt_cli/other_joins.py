"""Joins of some other threads; a task's id shows which of them are of its graph."""

from collections.abc import Set
from contextlib import suppress

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.state.channels import sources
from ckpt_cli.reading import Reader

_SAMPLE = 50  # checkpoints of other threads that are read for their joins
_MOST_BYTES = 16_000_000  # bytes of these checkpoints, as for other evidence (`plans.evidence_window`)


class _Joins(set[str]):
    """The joins that were found elsewhere in this moment."""


def joins_elsewhere(reader: Reader) -> Set[str]:
    """The joins in some checkpoints of other threads, read once in a moment.

    Those that are cheap to find: to list the newest threads, some databases look at every thread.
    """
    saver, known = reader.saver, reader.of_moment
    if _Joins not in known:
        known[_Joins] = found = _Joins()
        size = 0
        for checkpoint in saver.headers(saver.sample(_SAMPLE)):
            with suppress(PayloadCorrupt):
                found |= {channel for channel in reader.decode(checkpoint).versions if sources(channel)}
            size += len(checkpoint.body.data)
            if size > _MOST_BYTES:
                break
    joins: _Joins = known[_Joins]
    return joins
