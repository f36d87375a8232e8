"""Fetches records in pages bounded in number and bytes: few round trips, and not too much memory."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Ref, Write
from ckpt_cli.savers.contract import Saver

T = TypeVar("T")

_SMALL_PAGE = 40  # items in the first of growing pages
_LARGEST_PAGE = 256  # checkpoints in one fetch
_GROUP_BYTES = 2 << 20  # bytes of values in one read, if their sizes are known before
_PAGE_BYTES = 2 << 20  # bytes of bodies in one fetch, estimated from a fetch before


def pages(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of `size`."""
    rest = iter(items)
    while page := list(islice(rest, size)):
        yield page


class GrowingPages(Iterator[list[T]]):
    """The items in lists of at most `most`, each half as long again as the one before, as long as they have few bytes.

    Only the first is waited for if an engine works on the next list while one is used, so it is short.
    """

    def __init__(self, items: Iterable[T], most: int) -> None:
        self._rest, self._size, self._most = iter(items), _SMALL_PAGE, most

    def __next__(self) -> list[T]:
        page = list(islice(self._rest, self._size))
        if not page:
            raise StopIteration
        self._size = min(self._size * 3 // 2, self._most)
        return page

    def weigh(self, sizes: Collection[int]) -> None:
        """Take into account how many bytes were read for each item of a list."""
        if total := sum(sizes):
            self._most = max(1, min(self._most, _PAGE_BYTES * len(sizes) // total))
            self._size = min(self._size, self._most)


def groups_of_few_bytes(sizes: Iterable[tuple[T, int]], most: int = 1 << 62) -> Iterator[list[T]]:
    """The items in lists; each list ends at `most` items, or once the sizes of its items make up some megabytes."""
    group: list[T] = []
    weight = 0
    for item, size in sizes:
        group.append(item)
        weight += size
        if weight > _GROUP_BYTES or len(group) == most:
            yield group
            group, weight = [], 0
    if group:
        yield group


def fetch_by_size(
    refs: Iterable[Ref], fetch: Callable[[Sequence[Ref]], Mapping[Ref, Checkpoint]], *, first: int
) -> Iterator[Checkpoint]:
    """Checkpoints in the order of `refs`, in fetches of a few megabytes each.

    The first fetch has `first` checkpoints. The number in each later fetch depends on the bodies fetched before it.
    """
    rest, size = iter(refs), first
    while page := list(islice(rest, size)):
        checkpoints = fetch(page)
        weight = sum(len(checkpoint.body.data) for checkpoint in checkpoints.values())
        yield from (checkpoints[ref] for ref in page if ref in checkpoints)
        del checkpoints  # before the next page comes beside this one
        size = max(1, min(size * 4, _LARGEST_PAGE, size * _PAGE_BYTES // (weight + 1)))


class ThreadSkeleton(NamedTuple):
    """A thread's checkpoints and writes without their values."""

    thread_id: str
    rows: list[CheckpointRow]
    writes: list[Write]


def thread_skeletons(saver: Saver, thread_ids: Iterable[str]) -> Iterator[ThreadSkeleton]:
    """The skeletons of threads in the order given, read a page at a time."""
    for page in pages(thread_ids, saver.page):
        threads = {thread_id: ThreadSkeleton(thread_id, [], []) for thread_id in page}
        for row in saver.rows_of(list(threads)):
            threads[row.thread_id].rows.append(row)
        for write in saver.writes_of(list(threads), values=0):
            threads[write.thread_id].writes.append(write)
        yield from (threads[thread_id] for thread_id in page)


def with_prefetch(saver: Saver) -> Saver:
    """The saver itself or, if each of its reads is a round trip, a `PrefetchingSaver` on it."""
    if saver.page == 1:
        return saver
    from ckpt_cli.savers.prefetch import PrefetchingSaver

    return PrefetchingSaver(saver)
