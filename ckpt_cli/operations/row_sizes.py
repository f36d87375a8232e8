"""How many rows a plan changes, by kind and table, and about how much the log grows by their images."""

from collections import Counter
from collections.abc import Iterable

from ckpt_cli.model import RowChange
from ckpt_cli.operations.row_images import BundledRow
from ckpt_cli.operations.side_effects import kind_of

_SIZED = (str, bytes)


def count_rows(changes: Iterable[RowChange]) -> tuple[tuple[tuple[str, str, int], ...], int]:
    """The number of changed rows by kind and table, and the bytes of all their images."""
    counts: Counter[tuple[str, str]] = Counter()
    size = 0
    for change in changes:
        counts[kind_of(change), change.relation] += 1
        size += sum(size_of(image) for image in (change.before, change.after))
    return tuple((*kind, count) for kind, count in counts.items()), size


def size_of(image: object) -> int:
    """About how many bytes the log needs for an image; none for one that a bundle has."""
    if not isinstance(image, dict) or isinstance(image, BundledRow):
        return 0
    return sum([len(value) for value in image.values() if isinstance(value, _SIZED)])
