"""`Selector` finds threads and checkpoints; `Selection`, `FilterKind`: those that an agent lists."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from ckpt_cli.model import Checkpoint, Payload, Ref, Thread, Write
from ckpt_cli.savers.arrivals import ArrivalMethods

_HEADS = 500  # heads whose writes are read at once


class FilterKind(StrEnum):
    """How LangGraph's own saver of this database compares metadata with a filter; `Selection.metadata` is encoded so.

    The kinds `EQUAL` and `PRESENT` are compared in Python, by those savers and by ckpt.
    """

    CONTAINED = "contained"
    """JSON that the metadata must contain, as the server defines it (checkpoint-postgres 3.2, checkpoint-mysql 3.0)."""
    PATHS = "paths"
    """An object of JSON paths, each with the scalar found there (checkpoint-sqlite 3.1, ``utils.py``)."""
    FIELDS = "fields"
    """Metadata with the same fields, each compared by its bytes (checkpoint-mongodb 0.5, ``saver.py: list``)."""
    TAGS = "tags"
    """An object of indexed fields: lists of tags, and the number ``step`` (checkpoint-redis 0.5, ``list``)."""
    OWN = "own"
    """The filter itself, which the checkpointer's own ``list`` gets."""
    EQUAL = "equal"
    """``metadata.get(key) == value`` for each key (checkpoint 4.3, ``memory``; checkpoint-aws 1.2, DynamoDB)."""
    PRESENT = "present"
    """``key in metadata and metadata[key] == value`` for each key (checkpoint-aws 1.2, Valkey)."""


class Selection(NamedTuple):
    """Checkpoints to list, the highest id first; None means no condition.

    Attributes:
        before: only checkpoints with a lower id.
        limit: how many checkpoints to give at most; a positive number.
        metadata: what their metadata must be, encoded as `RecordFormat.filter` says.
    """

    thread_id: str | None = None
    ns: str | None = None
    checkpoint_id: str | None = None
    before: str | None = None
    limit: int | None = None
    metadata: Payload | None = None


class Selector(ArrivalMethods):
    """The role of a saver whose engine can select checkpoints and threads; a part of the contract."""

    page: int
    """See `Saver.page`."""

    @abstractmethod
    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """See `Saver.checkpoints`."""

    def with_channels(self, refs: Iterable[Ref], channels: Collection[str]) -> Iterator[Checkpoint]:  # noqa: ARG002
        """These checkpoints; of the channels that are stored apart from the body, it may read only these."""
        return self.checkpoints(refs)

    @abstractmethod
    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """See `Saver.writes_on`."""

    def threads_with(self, channels: Collection[str]) -> Iterator[Thread]:
        """The threads whose head has a write to one of these channels, in the order of `threads`.

        It may give others too. Here the writes of many heads are read at once, without their values; no head is.
        """
        threads = self.threads()
        while page := list(islice(threads, _HEADS)):
            writes = self.writes_on([thread.head for thread in page], values=0)
            marked = {write.ref for write in writes if write.channel in channels}
            yield from (thread for thread in page if thread.head in marked)

    @abstractmethod
    def namespaces(self, thread_id: str) -> list[str]:
        """See `Saver.namespaces`."""

    def with_subgraphs(self, thread_ids: Collection[str]) -> set[str]:
        """Those of these threads that have checkpoints in a namespace that isn't the root graph's."""
        if self.page == 1:
            return {thread_id for thread_id in thread_ids if any(self.namespaces(thread_id))}
        return {row.thread_id for row in self.rows_of(thread_ids) if row.ns} if thread_ids else set()

    def threads_having(
        self,
        key: str,  # noqa: ARG002 - for engines with such a query
        value: str | float | None,  # noqa: ARG002
        *,
        or_without: bool = False,  # noqa: ARG002
    ) -> Iterator[Thread] | None:
        """The threads whose head has this text or number under `key` in its metadata, in the order of `threads`.

        Numbers and booleans are compared as in Python. It may give others too, and does so where the metadata can't be
        searched. A `value` of None is any value. With `or_without`, it also gives those whose metadata lacks the key.
        None if the engine has no such query.
        """
        return None

    def runs(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, str]]:  # noqa: ARG002 - for savers with such a field
        """The run that made each of these checkpoints, for those whose run is stored beside their metadata."""
        return iter(())

    def select(self, selection: Selection) -> Iterator[Ref] | None:  # noqa: ARG002 - for engines with such a query
        """The names of the selected checkpoints, found by the engine; None if it has no such query.

        Raises:
            FilterRefused: the engine can't compare metadata with the selection's.
        """
        return None
