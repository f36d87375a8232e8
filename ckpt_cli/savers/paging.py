"""Many at once, and not too many: what is fetched together from a database that is a round trip away."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Ref, Write
from ckpt_cli.savers.contract import Saver

T = TypeVar("T")

_MOST = 256  # checkpoints that are read at once
_BYTES = 8 << 20  # of them, as far as those before told


def pages(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of so many of them."""
    left = iter(items)
    while page := list(islice(left, size)):
        yield page


def fetch_by_size(
    refs: Iterable[Ref], fetch: Callable[[Sequence[Ref]], Mapping[Ref, Checkpoint]], *, first: int
) -> Iterator[Checkpoint]:
    """Checkpoints in the order asked, as many at once as keep it to a few megabytes, going by those before.

    `first` is how many are fetched while nothing is known of their sizes.
    """
    left, size = iter(refs), first
    while page := list(islice(left, size)):
        known = fetch(page)
        weight = sum(len(checkpoint.body.data) for checkpoint in known.values())
        yield from (known[ref] for ref in page if ref in known)
        size = max(1, min(size * 4, _MOST, size * _BYTES // (weight + 1)))


class ThreadSkeleton(NamedTuple):
    """A thread with the names of all it holds; nothing of what is in them."""

    thread_id: str
    rows: list[CheckpointRow]
    writes: list[Write]


def thread_skeletons(saver: Saver, thread_ids: Iterable[str]) -> Iterator[ThreadSkeleton]:
    """Threads in the order given, a page of them at a time."""
    for page in pages(thread_ids, saver.page):
        found = {thread_id: ThreadSkeleton(thread_id, [], []) for thread_id in page}
        for row in saver.rows_of(list(found)):
            found[row.thread_id].rows.append(row)
        for write in saver.writes_of(list(found), values=0):
            found[write.thread_id].writes.append(write)
        yield from (found[thread_id] for thread_id in page)


def with_prefetch(saver: Saver) -> Saver:
    """The saver, read ahead where a read is a round trip."""
    if saver.page == 1:
        return saver
    from ckpt_cli.savers.prefetch import PrefetchingSaver

    return PrefetchingSaver(saver)
