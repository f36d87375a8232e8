"""Plans whose records aren't held: they are read once for the plan, and again to be written."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from ckpt_cli.model import Plan, RowChange
from ckpt_cli.operations.row_images import Change


class Streamed(NamedTuple):
    """A plan whose records aren't held: they are read once to be counted, and again to be written.

    Attributes:
        plan: it has no records.
        rows: (change, table, number of rows) of each kind of change.
        size: about so many bytes the log needs.
    """

    plan: Plan
    rows: tuple[tuple[str, str, int], ...]
    size: int


class Streams(Protocol):
    """Gives the row changes of plans that are `Streamed`."""

    def logged(self, thread_id: str, /) -> Iterable[Change]:
        """The changes of a thread for the log, with digests of long values; they can be read several times."""

    def contents(self, thread_id: str, /) -> Iterable[RowChange]:
        """The same changes with all values; read in the thread's transaction."""

    def around(self, change: Callable[[], None], /) -> None:
        """Run the transaction, once; `contents` is read in it."""
