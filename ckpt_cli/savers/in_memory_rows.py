"""Helpers for savers that have no index or never write: skeletons in memory, and refusals to write."""

from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn, TypeVar

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import CheckpointRow, Plan, Ref, Row, RowChange, Thread, WriteKey
from ckpt_cli.savers.contract import Saver

T = TypeVar("T")


class Skeleton:
    """The skeleton rows of some threads, sorted."""

    def __init__(self, rows: Iterable[CheckpointRow]) -> None:
        self._threads: dict[str, dict[str, dict[str, CheckpointRow]]] = {}
        for row in rows:
            rows_by_namespace = self._threads.setdefault(row.thread_id, {})
            rows_by_namespace.setdefault(row.ns, {})[row.checkpoint_id] = row
        for rows_by_namespace in self._threads.values():
            for ns, rows_by_id in rows_by_namespace.items():
                rows_by_namespace[ns] = dict(sorted(rows_by_id.items()))

    def threads(self) -> Iterator[Thread]:
        """Every thread, the one whose head has the highest id first."""
        threads = [self._with_head(thread_id) for thread_id in sorted(self._threads)]
        yield from sorted(threads, key=lambda thread: thread.head.checkpoint_id, reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        return self._with_head(thread_id) if thread_id in self._threads else None

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted(self._threads.get(thread_id, {}))

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, ascending by namespace and id."""
        for name in self.namespaces(thread_id) if ns is None else [ns]:
            yield from self._namespace_rows(thread_id, name).values()

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, highest first."""
        return [
            row for row, _ in zip(reversed(self._namespace_rows(thread_id, ns).values()), range(limit), strict=False)
        ]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One row."""
        return self._namespace_rows(ref.thread_id, ref.ns).get(ref.checkpoint_id)

    def ids(self) -> Iterator[str]:
        """Every checkpoint id, unordered."""
        for rows_by_namespace in self._threads.values():
            for rows_by_id in rows_by_namespace.values():
                yield from rows_by_id

    def _namespace_rows(self, thread_id: str, ns: str) -> dict[str, CheckpointRow]:
        return self._threads.get(thread_id, {}).get(ns, {})

    def _with_head(self, thread_id: str) -> Thread:
        rows_by_namespace = self._threads[thread_id]
        heads = [
            next(reversed(rows_by_id.values())).ref
            for ns, rows_by_id in rows_by_namespace.items()
            if ns == "" or "" not in rows_by_namespace
        ]
        return Thread(thread_id, max(heads, key=lambda ref: (ref.checkpoint_id, ref.ns)))


class ReadOnlySaver(Saver):
    """A saver that never writes; every method that would write raises `NotSupported` with the reason.

    Attributes:
        why_not: the reason, as the end of a sentence.
    """

    why_not: str

    def must_be_writable(self, *, trying: bool) -> None:  # noqa: ARG002
        """Refuse with the reason."""
        self._refuse()

    def transaction(self, work: Callable[[], T]) -> T:  # noqa: ARG002
        """Refuse with the reason."""
        self._refuse()

    def expand(self, plan: Plan) -> Iterator[RowChange]:  # noqa: ARG002
        """Refuse with the reason."""
        self._refuse()

    def change(self, changes: Iterable[RowChange]) -> None:  # noqa: ARG002
        """Refuse with the reason."""
        self._refuse()

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:  # noqa: ARG002
        """None: this saver has no physical rows."""
        return None

    def current(self, relation: str, key: Row) -> Row | None:  # noqa: ARG002
        """None: this saver has no physical rows."""
        return None

    def _refuse(self) -> NoReturn:
        raise NotSupported(f"{self.about().backend} can't be written: {self.why_not}")
