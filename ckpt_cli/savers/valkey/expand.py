"""Turns a plan into changes of keys.

There is one key for each checkpoint, one for its writes, and one for each namespace: the list of its checkpoint ids,
head first (langgraph-checkpoint-aws 1.2.6, ``checkpoint/valkey/saver.py: put, put_writes, get_tuple``).
"""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from ckpt_cli.errors import PayloadCorrupt, Refused
from ckpt_cli.model import Checkpoint, Name, Plan, Ref, Row, RowChange, Write, WriteKey, in_words, name_of
from ckpt_cli.savers import faults
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis.expand import by_space, origin
from ckpt_cli.savers.redis.images import Images, image
from ckpt_cli.savers.valkey import records
from ckpt_cli.savers.valkey.reading import Space, checkpoint_key, thread_key, writes_key

CHECKPOINTS, WRITES, THREADS = "checkpoint", "writes", "thread"
"""The relations, named like the prefixes of their keys."""

_PAGE = 100  # checkpoints that are read at once


class Expansion:
    """The changes of keys for one plan."""

    def __init__(self, plan: Plan, images: Images) -> None:
        self._plan, self._images = plan, images
        self._expires: dict[Ref, Any] = {}

    def rows(self) -> Iterator[RowChange]:
        """The changes of the plan: checkpoints, then writes, then lists.

        Raises:
            NotSupported: Valkey has no place for a record.
            Refused: a record to add exists already, or a record to replace or remove doesn't exist.
        """
        plan = self._plan
        _refuse_doubles([*plan.remove, *map(name_of, (*plan.replace, *plan.add))])
        self._learn_expiries()
        yield from self._checkpoint_changes()
        yield from self._write_changes()
        yield from self._list_changes()

    def _learn_expiries(self) -> None:
        """Read the expiry times of the parents of new checkpoints and of the checkpoints that get new writes."""
        origins = {origin(record) for record in self._plan.add} - {None}
        refs = {checkpoint_key(ref): ref for ref in origins if ref is not None}
        self._expires = {refs[key]: row["expires"] for key, row in self._images.of(sorted(refs)) if row is not None}

    def _checkpoint_changes(self) -> Iterator[RowChange]:
        plan = self._plan
        parts: list[tuple[Ref, Checkpoint | None, bool]] = [(n, None, True) for n in plan.remove if isinstance(n, Ref)]
        parts += [(r.row.ref, r, True) for r in plan.replace if isinstance(r, Checkpoint)]
        parts += [(r.row.ref, r, False) for r in plan.add if isinstance(r, Checkpoint)]
        for page in pages(parts, _PAGE):
            now = self._images.of(checkpoint_key(ref) for ref, *_ in page)
            for (ref, record, exists), (_, before) in zip(page, now, strict=True):
                if (before is None) is exists:
                    raise (faults.no_longer_exists if exists else faults.already_exists)(ref)
                yield RowChange(*row_key(CHECKPOINTS, ref), before, self._stored(record, before))

    def _stored(self, record: Checkpoint | None, before: Row | None) -> Row | None:
        if record is None:
            return None
        old = None if before is None else records.document_of(str(before["value"]))
        ref = origin(record)
        expires = before["expires"] if before is not None else self._expires.get(ref) if ref else None
        self._expires.setdefault(record.row.ref, expires)
        return image("string", records.text(records.checkpoint_document(record, old)), expires)

    def _write_changes(self) -> Iterator[RowChange]:
        plan = self._plan
        removed: dict[Ref, list[WriteKey]] = {}
        new: dict[Ref, list[tuple[Write, bool]]] = {}
        for name in plan.remove:
            if isinstance(name, WriteKey):
                removed.setdefault(name.ref, []).append(name)
        for some_records, exists in ((plan.replace, True), (plan.add, False)):
            for record in some_records:
                if isinstance(record, Write):
                    new.setdefault(record.ref, []).append((record, exists))
        for page in pages(sorted({*removed, *new}), _PAGE):
            for ref, (_, before) in zip(page, self._images.of(map(writes_key, page)), strict=True):
                merged = merged_entries(_entries(before, ref), removed.get(ref, ()), new.get(ref, ()))
                expires = before["expires"] if before is not None else self._expires.get(ref)
                after = image("string", records.text(merged), expires) if merged else None
                yield RowChange(*row_key(WRITES, ref), before, after)

    def _list_changes(self) -> Iterator[RowChange]:
        removed = {name for name in self._plan.remove if isinstance(name, Ref)}
        new = by_space(record.row.ref for record in self._plan.add if isinstance(record, Checkpoint))
        spaces: list[Space] = sorted({ref[:2] for ref in removed} | new.keys())
        for space, (key, before) in zip(spaces, self._images.of(map(thread_key, spaces)), strict=True):
            listed = json.loads(str(before["value"])) if before is not None and before["type"] == "list" else []
            ids = [one for one in listed if Ref(*space, one) not in removed]
            added = sorted(new.get(space, ()))
            for ref in added:
                position = next((at for at, one in enumerate(ids) if one < ref.checkpoint_id), len(ids))
                ids.insert(position, ref.checkpoint_id)
            expires = before["expires"] if before is not None else self._expires.get(added[0]) if added else None
            after = image("list", records.text(ids), expires) if ids else None
            if after != before:
                yield RowChange(THREADS, {"key": key}, before, after)


def row_key(relation: str, ref: Ref) -> tuple[str, Row]:
    """The relation and the key of a checkpoint or of its writes."""
    key = checkpoint_key(ref) if relation == CHECKPOINTS else writes_key(ref)
    return relation, {"key": key, "thread_id": ref.thread_id, "ns": ref.ns, "checkpoint_id": ref.checkpoint_id}


def records_in(relation: str, key: Row, row: Row | None) -> dict[Name, Any]:
    """The names of the records that a key holds, each with what is stored of it."""
    if relation == THREADS or row is None:
        return {}
    columns: Any = key
    ref = Ref(columns["thread_id"], columns["ns"], columns["checkpoint_id"])
    return {ref: row} if relation == CHECKPOINTS else dict(_entries(row, ref))


def merged_entries(
    known: list[tuple[WriteKey, Any]], removed: Collection[WriteKey], new: Iterable[tuple[Write, bool]]
) -> list[Any]:
    """The writes of one checkpoint after the change, in the order they were put.

    Raises:
        PayloadCorrupt: one of the writes that remain is damaged, so they can't be stored together.
    """
    if lost := {*removed} - {name for name, _ in known}:
        raise faults.no_longer_exists(min(lost, key=str))
    merged = [(name, entry) for name, entry in known if name not in removed]
    for record, exists in new:
        name = WriteKey(record.ref, record.task_id, record.idx)
        at = next((at for at, (other, _) in enumerate(merged) if other == name), None)
        if (at is not None) is not exists:
            raise (faults.no_longer_exists if exists else faults.already_exists)(name)
        document = records.write_document(record)
        if at is None:
            merged.append((name, document))
        else:
            merged[at] = (name, {**merged[at][1], **document} if isinstance(merged[at][1], dict) else document)
    if merged and not all(isinstance(entry, dict) for _, entry in merged):
        what = f"the writes on {in_words(known[0][0].ref)} are damaged: not all of them are JSON objects"
        raise PayloadCorrupt(f"{what}; nothing was written")
    return [entry for _, entry in merged]


def _entries(row: Row | None, ref: Ref) -> list[tuple[WriteKey, Any]]:
    return records.entries(ref, str(row["value"])) if row is not None else []


def _refuse_doubles(names: Iterable[Name]) -> None:
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            raise Refused(f"{in_words(name)} is changed twice; nothing was written")
        seen.add(name)
