"""Reads checkpoints of many threads, each with its own blobs, by one statement for each page.

Checkpoints of one thread share blobs; `blobs` fetches each of those once.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from ckpt_cli.model import Checkpoint, Payload, Ref
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.checkpoint_rows import checkpoint_of
from ckpt_cli.savers.sql.engine import ResultRow

LONGEST = 32_768  # bytes of a blob that is sent with its checkpoint
_AT_ONCE = 100  # checkpoints in a statement
_OF_A_THREAD = 2  # checkpoints, on average: a head and a first checkpoint share few blobs


def are_of_many_threads(refs: Collection[Ref]) -> bool:
    """Whether checkpoints share so few blobs that each one's own may be read with it."""
    return len(refs) > 1 and len({ref.thread_id for ref in refs}) * _OF_A_THREAD >= len(refs)


def read_joined(
    query: Callable[[list[Ref]], Iterable[ResultRow]],
    read: Callable[[list[Ref]], Iterator[Checkpoint]],
    refs: Iterable[Ref],
) -> Iterator[Checkpoint]:
    """The checkpoints in the order of `refs`; missing ones are left out.

    Args:
        query: gives the rows of headers, with blobs as `Engine.joined_blobs` gives them.
        read: gives whole those checkpoints that have a longer blob, in their order.
        refs: names, in any order.
    """
    for page in pages(refs, _AT_ONCE):
        rows = {Ref(*row[:3]): row for row in query(page)}
        cut = {ref for ref, row in rows.items() if any(blob[2] is None for blob in row[6] or ())}
        whole = read([ref for ref in page if ref in cut])
        for ref in page:
            if ref in cut:
                yield next(whole)
            elif ref in rows:
                yield checkpoint_of(rows[ref], channels_of(rows[ref]))


def channels_of(row: ResultRow) -> dict[str, Payload]:
    """The payloads in a row by channel, in the order of the header: JSONB sorts keys by length, then by bytes."""
    blobs, new = row[6] or [], tuple.__new__  # the tuple's own `__new__` would be a function of Python's
    if len(blobs) > 1:
        blobs = sorted(blobs, key=lambda blob: (len(blob[0]), blob[0]))
    return {channel.decode(): new(Payload, (tag.decode(), data)) for channel, tag, data in blobs}
