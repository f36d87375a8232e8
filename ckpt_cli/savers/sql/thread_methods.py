"""`ThreadMethods` of SQL servers: lists threads with their heads, all or those whose metadata fits."""

from collections.abc import Iterator, Sequence

from ckpt_cli.model import Ref, Thread
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.near_numbers import LONGEST, may_equal
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import CHECKPOINTS
from ckpt_cli.savers.sql.statements import CheckpointStatements
from ckpt_cli.savers.sql.thread_statements import ThreadStatements
from ckpt_cli.savers.thread_order import head_id, newest_first

_ROOTLESS = 200  # threads in one statement


class ThreadMethods(Saver):
    """Methods that list threads; `sql.reading.ReadMethods` adds the others."""

    _engine: Engine
    _sql: CheckpointStatements
    _sql_threads: ThreadStatements

    def threads(self) -> Iterator[Thread]:
        """Jump from thread to thread in the key index; the server sorts only ids, without other columns."""
        return newest_first(self._engine.query(self._sql_threads.all, stream=True), self._with_newest_heads)

    def threads_having(
        self, key: str, value: str | float | None, *, or_without: bool = False
    ) -> Iterator[Thread] | None:
        """One statement: the server tests the metadata of the heads and sends only ids, or also numbers."""
        if isinstance(value, int | float):
            return newest_first(self._near(key, value, or_without=or_without), self._with_newest_heads)
        statement, parameters = self._sql_threads.having_key, [self._engine.metadata_key(key)]
        if value is not None:
            statement = self._sql_threads.having_or_without if or_without else self._sql_threads.having
            parameters = [*self._engine.metadata_parameters(key, value), *(parameters if or_without else ())]
        return newest_first(self._engine.query(statement, parameters, stream=True), self._with_newest_heads)

    def _near(self, key: str, value: float, *, or_without: bool) -> Iterator[tuple[str, str | None]]:
        """Ids of threads and heads, as `newest_first` takes them."""
        parameters = [self._engine.metadata_key(key)]
        for thread_id, head, text in self._engine.query(self._sql_threads.with_text, parameters, stream=True):
            if head is None or may_equal(text and text[:LONGEST], value, or_without=or_without):
                yield thread_id, head

    def count_threads(self) -> int:
        """Jump from thread to thread in the key index once more; nothing but the number is sent."""
        ((threads,),) = self._engine.query(self._sql_threads.count)
        return int(threads)

    def _with_newest_heads(self, thread_ids: Sequence[str]) -> list[Thread]:
        """Threads with their heads, newest first; a head is the highest id in all namespaces of its thread."""
        heads: dict[str, Ref] = {}
        for page in pages(thread_ids, _ROOTLESS):
            condition, parameters = self._engine.among(
                CHECKPOINTS, ("thread_id",), [(thread_id,) for thread_id in page]
            )
            for thread_id, ns, highest_id in self._engine.query(
                self._sql.highest_ids + condition + self._sql.highest_ids_end, parameters
            ):
                best = heads.get(thread_id)  # if ids are equal, the first namespace counts
                if best is None or (highest_id, best.ns) > (best.checkpoint_id, ns):
                    heads[thread_id] = Ref(thread_id, ns, highest_id)
        return sorted((Thread(*pair) for pair in heads.items()), key=head_id, reverse=True)
