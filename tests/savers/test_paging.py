"""Lists of items that are read together: short ones first, and never many bytes."""

from itertools import pairwise

from ckpt_cli.savers.paging import GrowingPages

MEGABYTE = 1 << 20


def test_growing_pages() -> None:
    """Each is at most half as long again as the one before, and together they are the items."""
    pages = [*GrowingPages(range(1000), 250)]
    assert [item for page in pages for item in page] == [*range(1000)]
    lengths = [len(page) for page in pages]
    assert all(before < after <= before * 3 // 2 or after == 250 for before, after in pairwise(lengths[:-1]))
    assert max(lengths) == 250
    assert [*GrowingPages([], 250)] == []


def test_large_items() -> None:
    """What some items weighed bounds all further lists: to some megabytes, and to one item that is larger."""
    pages = GrowingPages(range(1000), 250)
    next(pages)
    pages.weigh([MEGABYTE // 10] * 10)
    assert {len(next(pages)) for _ in range(5)} == {20}
    pages.weigh([])
    pages.weigh([100 * MEGABYTE])
    assert {len(next(pages)) for _ in range(5)} == {1}
