"""What both savers of Valkey share: a scan finds the names of checkpoints, and what is wanted is read by name."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write
from ckpt_cli.savers.paging import fetch_by_size
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.server import KeySaver

_FIRST = 25  # checkpoints that are read while nothing is known of their sizes


class Keyed(Protocol):
    """The keys of one layout."""

    def forget(self) -> None:
        """Another moment begins."""

    def rows(self, refs: Iterable[Ref]) -> Iterator[CheckpointRow]:
        """Skeletons of those that are there, in that order."""

    def metadata(self, refs: Iterable[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those that are there."""

    def checkpoints(self, refs: Sequence[Ref]) -> dict[Ref, Checkpoint]:
        """Those that are there, whole."""

    def writes(self, refs: Iterable[Ref], values: int | None) -> Iterator[Write]:
        """The writes of checkpoints, each one's in canonical order."""


class ScannedSaver(KeySaver):
    """Checkpoints whose names are known before anything of them is read."""

    def __init__(self, connection: Connection, absent: str, keyed: Keyed) -> None:
        super().__init__(connection, absent)
        self._keyed = keyed

    @abstractmethod
    def _refs(self, thread_ids: Collection[str], ns: str | None = None) -> Iterator[Ref]:
        """The checkpoints of some threads, ascending in each; some may have expired."""

    def _forget(self) -> None:
        self._keyed.forget()

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The beginnings of a thread's checkpoints."""
        return self._keyed.rows(self._refs([thread_id], ns))

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The beginnings of several threads' checkpoints."""
        return self._keyed.rows(self._refs(thread_ids))

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One beginning."""
        return next(self._keyed.rows([ref]), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The ends of checkpoints."""
        return self._keyed.metadata(dict.fromkeys(refs))

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """As many at once as keep it to a few megabytes."""
        return fetch_by_size(refs, self._keyed.checkpoints, first=_FIRST)

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """By namespace and checkpoint, then in canonical order."""
        if ns is not None and checkpoint_ids is not None:
            return self.writes_on([Ref(thread_id, ns, one) for one in checkpoint_ids], values=values)
        refs = self._refs([thread_id], ns)
        wanted = (ref for ref in refs if checkpoint_ids is None or ref.checkpoint_id in checkpoint_ids)
        return self._keyed.writes(wanted, values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """Those of several checkpoints at once."""
        return self._keyed.writes(sorted(set(refs)), values)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """Those of the checkpoints of several threads."""
        return self._keyed.writes(self._refs(thread_ids), values)
