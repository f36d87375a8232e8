"""The methods of `SqliteSaver` that list threads: all, or those whose heads fit."""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from ckpt_cli.model import Ref, Scalar, Thread
from ckpt_cli.savers.arrivals import Arrivals, Floor
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.near_numbers import may_equal
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.spelling import FIRST_CHARACTERS, text_of
from ckpt_cli.savers.sqlite import statements as sql
from ckpt_cli.savers.sqlite.columns import bound
from ckpt_cli.savers.sqlite.connection import Connection
from ckpt_cli.savers.sqlite.driver import ResultRow
from ckpt_cli.savers.sqlite.schema import Schema
from ckpt_cli.savers.sqlite.thread_ids import OddIds
from ckpt_cli.savers.thread_order import head_id, newest_first

_CHUNK = 500  # values in one IN (…); older builds of SQLite take at most 999
_SAMPLE = 1000  # writes that show how many there are for a thread, and how large they are
_FEW_WRITES, _SMALL = 12, 500  # for a thread; bytes


class ThreadMethods(Saver):
    """Methods that list threads; `SqliteSaver` adds the others."""

    _connection: Connection
    _schema: Schema
    _odd_ids: OddIds | None = None

    def threads(self) -> Iterator[Thread]:
        """Jump from thread to thread in the key index; SQLite sorts only ids, without other columns."""
        return self._newest_first(self._rows(sql.THREADS))

    def threads_with(self, channels: Collection[str]) -> Iterator[Thread]:
        """One statement, which looks at the writes of heads, or at all writes if a thread has only few small ones.

        A look costs as much as ten or twenty rows that follow each other. A head without writes, as that of a finished
        thread, costs one look at their key index.
        """
        if not self._schema.writes:
            return iter(())
        places = ", ".join("?" * len(channels))
        ((threads, size),) = self._rows(sql.WRITES_OF_FIRST_THREADS, [_SAMPLE])
        if threads >= _SAMPLE / _FEW_WRITES and size <= _SAMPLE * _SMALL:
            return self._newest_first(self._rows(sql.MARKED_HEADS, list(channels), channels=places))
        return self._some_threads(self._schema.sql(sql.HEAD_HAS_WRITE, channels=places), list(channels))

    def with_subgraphs(self, thread_ids: Collection[str]) -> set[str]:
        """One statement for each page, which reads the key index alone."""
        rows = (row for only, ids in self._chunks(thread_ids) for row in self._rows(sql.NESTED, ids, only=only))
        return {self._name(raw) for (raw,) in rows}

    def threads_having(
        self, key: str, value: str | float | None, *, or_without: bool = False
    ) -> Iterator[Thread] | None:
        """One statement, which looks for the bytes of the text, or of the key, or reads the numbers under the key."""
        name = f'"{key}"'
        if not key.isidentifier() or not key.isascii():  # other keys may have several spellings in JSON
            return None
        if isinstance(value, int | float):
            rows = self._rows(sql.NUMBERS, [name, f"$.{name}"])
            fitting = ((raw, head) for raw, head, text in rows if may_equal(text, value, or_without=or_without))
            return self._newest_first(fitting)
        fits = self._schema.sql(sql.HEAD_MAY_HAVE, otherwise=sql.KEY_IS_ABSENT if or_without else "0")
        path = [f"$.{name}"] if or_without else []
        return self._some_threads(fits, [name if value is None else bound(value), *path])

    def arrivals(self, floor: Floor, mark: Any = None, thread_ids: Collection[str] | None = None) -> Arrivals:
        """Read the rows behind the last known one, in the order in which they were stored, whatever their ids are.

        If that row is gone (by a deletion, or VACUUM, which numbers rows anew), all threads are looked at once.
        """
        if not any(self._rows(sql.HAS_ROWIDS)):
            return super().arrivals(floor, None, thread_ids)
        last = next(self._rows(sql.LAST_ROW), None)
        if mark is None or next(self._rows(sql.ID_OF_ROW, [mark[0]]), None) != (mark[1],):
            return super().arrivals(floor, None, thread_ids)._replace(mark=last, is_complete=True)
        rows = self._rows(sql.ROWS_AFTER, [mark[0]])
        return Arrivals([Ref(self._name(raw), text_of(ns), text_of(own)) for raw, ns, own in rows], last, True)

    def count_threads(self) -> int:
        """Jump from thread to thread in the key index once more."""
        ((threads,),) = self._rows(sql.COUNT_THREADS)
        return int(threads) + (None in self._odd.names)

    def _some_threads(self, fits: str, parameters: Sequence[object]) -> Iterator[Thread]:
        return self._newest_first(self._rows(sql.SOME_THREADS, parameters, fits=fits))

    def _newest_first(self, heads: Iterator[ResultRow]) -> Iterator[Thread]:
        null = [(None, None)] if None in self._odd.names else []
        return newest_first(
            self._named(chain(null, heads)),
            lambda thread_ids: sorted(map(self._with_head, thread_ids), key=head_id, reverse=True),
        )

    def _named(self, heads: Iterator[ResultRow]) -> Iterator[tuple[str, str | None]]:
        """Ids as text; those of the usual row aren't looked at by functions."""
        for pair in heads:
            raw, head = pair
            if type(raw) is type(head) is str and head[:1] not in FIRST_CHARACTERS:
                yield raw, head
            else:
                yield self._name(raw), None if head is None else text_of(head)

    def _with_head(self, thread_id: str, spaces: Sequence[str] = ()) -> Thread:
        """A thread with its head: the newest of the root namespace or, if that is empty, of all namespaces."""
        spaces = spaces or self.namespaces(thread_id)
        heads = [self.newest(thread_id, ns, 1)[0].ref for ns in spaces if ns == "" or spaces[0] != ""]
        return Thread(thread_id, max(heads, key=lambda ref: ref.checkpoint_id))

    def _rows(self, template: str, parameters: Sequence[object] = (), **parts: str) -> Iterator[ResultRow]:
        return self._connection.query(self._schema.sql(template, **parts), parameters)

    def _enlarge_cache(self) -> None:
        """Let SQLite keep more pages, for statements that go through many threads."""
        for _ in self._connection.query(sql.LARGER_CACHE):
            pass

    @property
    def _odd(self) -> OddIds:
        self._odd_ids = self._odd_ids or OddIds(self._connection.query)
        return self._odd_ids

    def _stored(self, thread_id: str) -> Scalar:
        """A thread id as its column holds it: some programs stored a number."""
        return self._odd.stored.get(thread_id, thread_id)

    def _name(self, raw: Scalar) -> str:
        """A stored thread id as text."""
        return raw if isinstance(raw, str) else self._odd.names.get(raw) or text_of(raw)

    def _chunks(self, thread_ids: Collection[str] | None) -> Iterator[tuple[str, list[Scalar]]]:
        """The condition that chooses threads, and its parameters: one for all threads, or some for chunks of ids."""
        if thread_ids is None:
            yield "", []
            return
        for page in pages(thread_ids, _CHUNK):
            stored = [self._stored(thread_id) for thread_id in page]
            places = ", ".join("CAST(? AS TEXT)" if isinstance(one, str) else "?" for one in stored if one is not None)
            values: list[Scalar] = [bound(one) if isinstance(one, str) else one for one in stored if one is not None]
            null = " OR thread_id IS NULL" if None in stored else ""
            yield f"WHERE (thread_id IN ({places}){null})", values

    def _find_thread(self, thread_id: str) -> tuple[str, Scalar]:
        """The SQL to write after ``thread_id`` to find a thread, and its parameter; the id may have any type."""
        if thread_id in self._odd.stored:
            return "IS ?", self._odd.stored[thread_id]
        return "= CAST(? AS TEXT)", bound(thread_id)
