"""Finds documents by the index: one query; ids that tags can't find, incomplete indexes, lists as text.

LangGraph's saver makes the index. One query is enough, however many documents match. The index's tags ignore case, drop
spaces at the ends and split at commas. So only plain ids are queried, and answers are compared with the documents' own
fields. The index returns even lists and booleans as text. If an id could be a list or a boolean, the document itself is
read.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis.connection import Connection, text
from ckpt_cli.savers.redis.faults import is_unsortable, translate_errors
from ckpt_cli.savers.redis.finder import (
    CHECKPOINT,
    WRITE,
    CheckpointDocument,
    Finder,
    name_document,
    read_fields,
    write_key,
)
from ckpt_cli.savers.redis.indexed_fields import IndexedFields, selected
from ckpt_cli.savers.redis.keys import Keys, from_id, from_ns, safe_id, safe_ns
from ckpt_cli.savers.selection import Selection

_PAGE = 2000  # documents in one answer
_NAMES = 100  # ids in one query
_BOOLEANS = ("1", "0")  # what the index gives for true and false
_PLAIN = re.compile(r"[A-Za-z0-9_.:@/+=#~-]{1,500}")


def are_plain(names: Collection[str]) -> bool:
    """Whether tags can find these ids."""
    return all(_PLAIN.fullmatch(safe_id(name)) for name in names)


_ANY = IndexedFields({}, None)


class _UnansweredError(Exception):
    """The index can't give the fields of documents that it lists, or can't sort by them."""


def has_indexes(connection: Connection, keys: Keys) -> bool:
    """Whether both indexes exist and are complete: every document was indexed; none failed and none still waits.

    Indexes belong to database 0. A query in another database finds nothing; after such a query, the index gives no
    fields in database 0 either (RediSearch 2.10.5). So ckpt queries an index only in database 0.
    """
    if connection.address.database:
        return False
    commands = [("FT.INFO", name) for name in (keys.prefix, keys.write_prefix)]
    return all(isinstance(info, list) and _is_complete(info) for info in connection.all(commands, failing=True))


def _is_complete(info: list[Any]) -> bool:
    facts = {text(name): value for name, value in zip(info[::2], info[1::2], strict=True)}
    is_done = float(text(facts.get("percent_indexed", "0"))) >= 1
    return is_done and int(text(facts.get("hash_indexing_failures", "0"))) == 0


class Index(Finder):
    """Finds documents by one connection's indexes, or by `fallback` if an index can't answer."""

    def __init__(self, connection: Connection, keys: Keys, fallback: Finder) -> None:
        self._connection, self._keys, self._fallback = connection, keys, fallback
        self._has_times: bool | None = None  # whether every document has a time; None until it is needed

    def spaces(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        """See `Finder.spaces`."""
        try:
            return self._count_by_namespace(thread_ids)
        except _UnansweredError:
            return self._fallback.spaces(thread_ids)

    def _count_by_namespace(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        count = ("GROUPBY", "3", "@t", "@n", "@w", "REDUCE", "COUNT", "0", "AS", "c")
        fields = {"t": CHECKPOINT["t"], "n": CHECKPOINT["n"], "w": CHECKPOINT["w"]}
        groups = [*self._query(self._keys.prefix, fields, *count, thread_ids=thread_ids)]
        if any(all(group.get(name) is None for name in fields) for group in groups):
            raise _UnansweredError
        if not all(_may_be_thread(group.get("t")) and _is_text(group.get("n")) for group in groups):
            return Counter(one.ref[:2] for one in self.checkpoints(thread_ids))
        counts = Counter[tuple[str, str]]()
        for group in groups:
            counts[from_id(group["t"]), from_ns(group["n"])] += int(group["c"])
        if thread_ids is not None:
            return {place: count for place, count in counts.items() if place[0] in thread_ids}
        if any(group["t"] in _BOOLEANS for group in groups):
            answers = self._booleans(self._keys.prefix, {"key": "@__key", **CHECKPOINT})
            counts.subtract((from_id(one["t"]), from_ns(one["n"])) for one in answers)
            counts.update(one.ref[:2] for one in self._to_documents(answers, {one["key"] for one in answers}))
        return +counts

    def _booleans(self, index: str, fields: Mapping[str, str]) -> list[dict[str, Any]]:
        """The answers for documents whose thread id is a boolean.

        Their tag is ``true`` or ``false``, but the index gives their field as 1 or 0, like that of a thread so called.
        """
        return [one for one in self._query(index, fields, thread_ids=["true", "false"]) if one.get("t") in _BOOLEANS]

    def checkpoints(self, thread_ids: Collection[str] | None) -> list[CheckpointDocument]:
        """See `Finder.checkpoints`."""
        fields = {"key": "@__key", **CHECKPOINT}
        try:
            answers = [*self._query(self._keys.prefix, fields, thread_ids=thread_ids)]
            listed = self._to_documents(answers, self._boolean_keys(self._keys.prefix, answers, thread_ids))
        except _UnansweredError:
            return self._fallback.checkpoints(thread_ids)
        return [one for one in listed if thread_ids is None or one.ref.thread_id in thread_ids]

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointDocument]:
        """See `Finder.newest`; sorted by the server unless another thread or namespace has the same tag."""
        fields = {"key": "@__key", **CHECKPOINT}
        top = ("SORTBY", "2", "@i", "DESC", "MAX", str(limit), "LIMIT", "0", str(limit))
        try:
            answers = [*self._query(self._keys.prefix, fields, *top, thread_ids=[thread_id], ns=ns)]
        except _UnansweredError:
            return self._fallback.newest(thread_id, ns, limit)
        here = [one for one in self._to_documents(answers) if one.ref[:2] == (thread_id, ns)]
        return here if len(here) == len(answers) else self.checkpoints([thread_id])

    def made_since(self, time: float) -> list[CheckpointDocument] | None:
        """The checkpoints that were stored since a time, by their writers' clocks; None if the index can't tell."""
        if self._has_times is None:
            queries = ("*", IndexedFields({}, None, 0).clause)
            counts = [("FT.SEARCH", self._keys.prefix, one, "LIMIT", "0", "0", "DIALECT", "2") for one in queries]
            everything, timed = self._connection.all(counts, failing=True)
            self._has_times = isinstance(timed, list) and everything[:1] == timed[:1]
        if not self._has_times:
            return None
        try:
            return self._with_fields(None, None, IndexedFields({}, None, time * 1000), ())
        except _UnansweredError:
            return None

    def with_fields(self, selection: Selection, wanted: IndexedFields) -> list[CheckpointDocument] | None:
        """The checkpoints whose documents have these fields; None if the index can't answer.

        The answer may contain checkpoints of other threads whose ids are equal to the index. The server sorts and cuts
        the answer if nothing but its own conditions selects.
        """
        threads = None if selection.thread_id is None else [selection.thread_id]
        is_top = selection.limit is not None and selection.before is None and selection.checkpoint_id is None
        limit = str(selection.limit)
        top = ("SORTBY", "2", "@i", "DESC", "MAX", limit, "LIMIT", "0", limit) if is_top else ()
        try:
            documents = self._with_fields(threads, selection.ns, wanted, top)
            if top and len(selected({one.ref for one in documents}, selection)) < len(documents):
                documents = self._with_fields(threads, selection.ns, wanted, ())
        except _UnansweredError:
            return None
        return documents

    def _with_fields(
        self, thread_ids: Collection[str] | None, ns: str | None, wanted: IndexedFields, top: tuple[str, ...]
    ) -> list[CheckpointDocument]:
        fields = {"key": "@__key", **CHECKPOINT}
        answers = [*self._query(self._keys.prefix, fields, *top, thread_ids=thread_ids, ns=ns, wanted=wanted)]
        return self._to_documents(answers, self._boolean_keys(self._keys.prefix, answers, thread_ids))

    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """See `Finder.writes`."""
        fields = {"key": "@__key", **WRITE}
        answers: list[dict[str, Any]] = []
        try:
            for page in [None] if ids is None or not are_plain(ids) else pages(ids, _NAMES):
                answers += self._query(self._keys.write_prefix, fields, thread_ids=thread_ids, ids=page)
            booleans = self._boolean_keys(self._keys.write_prefix, answers, thread_ids)
        except _UnansweredError:
            yield from self._fallback.writes(thread_ids, ids)
            return
        for one in self._with_real_types(answers, WRITE, booleans):
            name = write_key(one, self._keys, by_key=False)
            if name.ref.thread_id in thread_ids:
                yield {**one, "name": name}

    def _boolean_keys(
        self, index: str, answers: Iterable[Mapping[str, Any]], thread_ids: Collection[str] | None
    ) -> set[str]:
        """The keys of documents whose thread is a boolean; none if the tags of plain threads found the answers."""
        are_tags = thread_ids is not None and are_plain(thread_ids)
        if are_tags or all(one.get("t") not in _BOOLEANS for one in answers):
            return set()
        return {one["key"] for one in self._booleans(index, {"key": "@__key", "t": CHECKPOINT["t"]})}

    def _to_documents(
        self, answers: Sequence[dict[str, Any]], booleans: Collection[str] = ()
    ) -> list[CheckpointDocument]:
        typed = self._with_real_types(answers, CHECKPOINT, booleans)
        named = (name_document(one["key"], one, self._keys, by_key=False) for one in typed)
        return [one for one in named if one is not None]

    def _with_real_types(
        self, answers: Sequence[dict[str, Any]], fields: Mapping[str, str], booleans: Collection[str]
    ) -> Iterator[dict[str, Any]]:
        """The answers. If an id could be a list or a boolean, the fields are read from the document itself."""
        unsure = [
            one["key"]
            for one in answers
            if one["key"] in booleans
            or not (_may_be_thread(one.get("t")) and _is_text(one.get("n")) and _is_text(one.get("i")))
        ]
        typed = dict(read_fields(self._connection, unsure, fields))
        return ({"key": one["key"], **typed.get(one["key"], one)} for one in answers)

    def count_writes(self) -> int:
        """See `Finder.count_writes`."""
        return int(self._connection.one("FT.SEARCH", self._keys.write_prefix, "*", "LIMIT", "0", "0")[0])

    def some(self, *, writes: bool = False) -> list[str]:
        """The keys of a few documents."""
        name = self._keys.write_prefix if writes else self._keys.prefix
        return [text(key) for key in self._connection.one("FT.SEARCH", name, "*", "NOCONTENT", "LIMIT", "0", "20")[1:]]

    def _query(
        self,
        index: str,
        fields: Mapping[str, str],
        *then: str,
        thread_ids: Collection[str] | None,
        ns: str | None = None,
        ids: Collection[str] | None = None,
        wanted: IndexedFields = _ANY,
    ) -> Iterator[dict[str, Any]]:
        for some in [None] if thread_ids is None or not are_plain(thread_ids) else pages(thread_ids, _NAMES):
            where, values = _filter(some, ns, ids, wanted)
            loaded = [word for name, path in fields.items() for word in _load(name, path)]
            options = ("WITHCURSOR", "COUNT", str(_PAGE), "TIMEOUT", "0", "DIALECT", "2")
            words = ("FT.AGGREGATE", index, where, *values, "LOAD", str(len(loaded)), *loaded, *then, *options)
            yield from self._pages(index, words)

    def _pages(self, index: str, words: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        (answer,) = self._connection.all([words], failing=True)
        if isinstance(answer, Exception) and is_unsortable(answer):
            raise _UnansweredError
        with translate_errors(self._connection.address.location):
            if isinstance(answer, Exception):
                raise answer
        rows, cursor = answer
        while True:
            for row in rows[1:]:
                if row is None:
                    raise _UnansweredError
                fields = {text(name): value for name, value in zip(row[::2], row[1::2], strict=True)}
                yield {
                    "key" if name == "__key" else name: None if value is None else text(value)
                    for name, value in fields.items()
                }
            if not cursor:
                return
            rows, cursor = self._connection.one("FT.CURSOR", "READ", index, cursor, "COUNT", str(_PAGE))


def _is_text(field: str | None) -> bool:
    """Whether the document certainly has this text: the index gives a list as JSON, a boolean as 1 or 0."""
    return _may_be_thread(field) and field not in _BOOLEANS


def _may_be_thread(field: str | None) -> bool:
    """As `_is_text`, but true also for 1 and 0: many threads are called so, and `Index._booleans` finds the others."""
    return field is not None and field[:1] not in ("[", "{")


def _load(name: str, path: str) -> tuple[str, ...]:
    return (path,) if path == "@__key" else (path, "AS", name)


def _filter(
    thread_ids: Collection[str] | None, ns: str | None, ids: Collection[str] | None, wanted: IndexedFields
) -> tuple[str, tuple[str, ...]]:
    """The query's filter, and the command's arguments that set the filter's parameters."""
    tags: list[tuple[str, Sequence[str]]] = [
        ("thread_id", [*map(safe_id, thread_ids or ())]),
        ("checkpoint_id", [*map(safe_id, ids or ())]),
        ("checkpoint_ns", [] if ns is None or not are_plain([safe_ns(ns)]) else [safe_ns(ns)]),
        *wanted.tags.items(),
    ]
    values: list[str] = []
    clauses = [wanted.clause] if wanted.clause else []
    for tag, some in tags:
        if some:
            names = [f"v{len(values) // 2 + at}" for at in range(len(some))]
            values += [word for pair in zip(names, some, strict=True) for word in pair]
            clauses.append(f"@{tag}:{{{'|'.join(f'${name}' for name in names)}}}")
    if not clauses:
        return "*", ()
    return " ".join(clauses), ("PARAMS", str(len(values)), *values) if values else ()
