"""`MomentHeads`: the head of each namespace, as it was first read within a moment.

On servers an application may write between two reads. A plan might then be computed from one head, and its basis from
the next.
"""

from collections.abc import Iterable, Iterator

from ckpt_cli.model import CheckpointRow

_HEADS = 1000  # heads that a moment keeps


class MomentHeads:
    """The heads that were read; nothing is kept outside of moments."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, str], list[CheckpointRow]] | None = None  # None outside of moments

    @property
    def is_open(self) -> bool:
        """Whether a moment has begun and not ended."""
        return self._heads is not None

    def begin(self) -> None:
        """Begin a moment, or begin it again: nothing is known."""
        self._heads = {}

    def end(self) -> None:
        """End the moment."""
        self._heads = None

    def get(self, thread_id: str, ns: str) -> list[CheckpointRow] | None:
        """The head of a namespace as the only row of a list; None if it wasn't read."""
        return None if self._heads is None else self._heads.get((thread_id, ns))

    def keep(self, row: CheckpointRow) -> None:
        """Keep a row as the head of its namespace, unless one is known."""
        if self._heads is not None and len(self._heads) < _HEADS:
            self._heads.setdefault((row.thread_id, row.ns), [row])

    def note(self, rows: Iterable[CheckpointRow]) -> Iterator[CheckpointRow]:
        """Pass rows of whole namespaces on, ascending by id; the last one of each is its head."""
        last: CheckpointRow | None = None
        for row in rows:
            if last is not None and (last.thread_id, last.ns) != (row.thread_id, row.ns):
                self.keep(last)
            last = row
            yield row
        if last is not None:
            self.keep(last)
