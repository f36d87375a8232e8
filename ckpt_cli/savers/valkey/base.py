"""The base of both Valkey savers: a scan of keys finds the names of checkpoints, records are read by name."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write
from ckpt_cli.savers.paging import fetch_by_size
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.server import KeySaver

_FIRST = 25  # checkpoints in the first fetch, before their sizes are known


class RecordReader(Protocol):
    """Reads records of one layout by their names."""

    def forget(self) -> None:
        """Forget the keys that a scan found, because another moment begins."""

    def rows(self, refs: Iterable[Ref]) -> Iterator[CheckpointRow]:
        """The skeletons of those checkpoints that exist, in the order of `refs`."""

    def metadata(self, refs: Iterable[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those checkpoints that exist."""

    def checkpoints(self, refs: Sequence[Ref]) -> dict[Ref, Checkpoint]:
        """Those checkpoints that exist, whole."""

    def writes(self, refs: Iterable[Ref], values: int | None) -> Iterator[Write]:
        """The writes of each checkpoint in canonical order, or as they were put if they have no paths."""


class ScannedSaver(KeySaver):
    """A saver that knows the names of all checkpoints before it reads a checkpoint.

    Args:
        absent: see `KeySaver`.
    """

    def __init__(self, connection: Connection, absent: str, reader: RecordReader) -> None:
        super().__init__(connection, absent)
        self._reader = reader

    @abstractmethod
    def _refs(self, thread_ids: Collection[str], ns: str | None = None) -> Iterator[Ref]:
        """The checkpoints of some threads, ascending within each thread; some checkpoints may have expired."""

    def _forget(self) -> None:
        self._reader.forget()

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, from the starts of checkpoints."""
        return self._reader.rows(self._refs([thread_id], ns))

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The rows of several threads, from the starts of checkpoints."""
        return self._reader.rows(self._refs(thread_ids))

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        return next(self._reader.rows([ref]), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata, from the ends of checkpoints."""
        return self._reader.metadata(dict.fromkeys(refs))

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """These checkpoints, in fetches of a few megabytes."""
        return fetch_by_size(refs, self._reader.checkpoints, first=_FIRST)

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Writes by namespace and checkpoint, then in canonical order, or as they were put if they have no paths."""
        if ns is not None and checkpoint_ids is not None:
            return self.writes_on([Ref(thread_id, ns, one) for one in checkpoint_ids], values=values)
        refs = self._refs([thread_id], ns)
        wanted = (ref for ref in refs if checkpoint_ids is None or ref.checkpoint_id in checkpoint_ids)
        return self._reader.writes(wanted, values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several checkpoints, read together."""
        return self._reader.writes(sorted(set(refs)), values)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several threads, read together."""
        return self._reader.writes(self._refs(thread_ids), values)
