"""Turns a plan into changes of documents, of sorted sets that list writes, and of pointers to latest checkpoints.

LangGraph's saver needs all three. It reads a checkpoint's writes only if the document says ``has_writes`` and the
sorted set lists them. It finds the latest checkpoint only by the pointer (checkpoint-redis 0.5.2,
``__init__.py: get_tuple``).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ckpt_cli.model import Checkpoint, Name, Plan, Ref, Row, RowChange, Write, WriteKey, name_of
from ckpt_cli.savers.faults import already_exists, no_longer_exists
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis.images import Images, document, image
from ckpt_cli.savers.redis.keys import Keys
from ckpt_cli.savers.redis.records import canonical, checkpoint_document, parse_json, write_document

Space = tuple[str, str]

CHECKPOINTS, WRITES, REGISTRIES, LATEST = "checkpoint", "checkpoint_write", "write_keys_zset", "checkpoint_latest"
"""The relations, named like the prefixes of their keys."""

_PAGE = 200  # records that are read at once


class _Part(NamedTuple):
    """One record of a plan.

    Attributes:
        record: the new record; None to remove it.
        exists: whether a record of this name must exist already.
    """

    name: Name
    record: Checkpoint | Write | None
    exists: bool


class Expansion:
    """The changes of keys for one plan.

    Args:
        find_existing: gives the existing checkpoints of some threads.
        find_odd_keys: gives the keys of documents whose fields name another key.
    """

    def __init__(
        self,
        plan: Plan,
        images: Images,
        keys: Keys,
        find_existing: Callable[[Collection[str]], Iterable[Ref]],
        find_odd_keys: Callable[[Collection[Name]], dict[Name, str]],
    ) -> None:
        self._plan, self._images, self._keys = plan, images, keys
        self._find_existing, self._find_odd_keys = find_existing, find_odd_keys
        self._odd: dict[Name, str] = {}
        self._expires: dict[Ref, Any] = {}
        self._seen: set[Name] = set()
        self._written = {record.ref for record in plan.add if isinstance(record, Write)}
        self._with_writes: set[Ref] = set()
        self._emptied: list[Ref] = []

    def rows(self) -> Iterator[RowChange]:
        """The changes of the plan, removals first.

        Raises:
            NotSupported: Redis has no place for a record.
            Refused: a record to add exists already, or a record to replace or remove doesn't exist.
        """
        for page in pages(self._parts(), _PAGE):
            yield from self._record_changes(page)
        yield from self._flag_changes(sorted(self._written - self._seen), has_writes=True)
        yield from self._registry_changes()
        yield from self._flag_changes(list(self._left_empty()), has_writes=False)
        yield from self._pointer_changes()

    def _parts(self) -> Iterator[_Part]:
        plan = self._plan
        yield from (_Part(name, None, True) for name in plan.remove)
        yield from (_Part(name_of(record), record, True) for record in plan.replace)
        yield from (_Part(name_of(record), record, False) for record in plan.add)

    def _record_changes(self, page: Iterable[_Part]) -> Iterator[RowChange]:
        parts = [*page]
        self._learn_expiries(part for part in parts if not part.exists)
        self._learn_with_writes([part.name for part in parts if not part.exists and isinstance(part.name, Ref)])
        now = dict(self._images.of({self._key(part.name): None for part in parts}))
        if misplaced := [part.name for part in parts if part.exists and now[self._key(part.name)] is None]:
            self._odd |= self._find_odd_keys(misplaced)
            now |= dict(self._images.of(self._odd.values()))
        for part in parts:
            before = now[self._key(part.name)]
            if part.name in self._seen or (before is None) is part.exists:
                raise (no_longer_exists if part.exists else already_exists)(part.name)
            self._seen.add(part.name)
            yield RowChange(*self._row_key(part.name), before, self._after(part, before))

    def _after(self, part: _Part, before: Row | None) -> Row | None:
        if part.record is None:
            return None
        stored = document(before)
        old = stored if isinstance(stored, dict) else None
        expires = before["expires"] if before is not None else self._expiry(part.record)
        if isinstance(part.record, Write):
            return image("ReJSON-RL", canonical(write_document(part.record, old)), expires)
        ref = part.record.row.ref
        flag = bool(old and old.get("has_writes")) or ref in self._written or ref in self._with_writes
        return image("ReJSON-RL", canonical(checkpoint_document(part.record, old, has_writes=flag)), expires)

    def _learn_expiries(self, parts: Iterable[_Part]) -> None:
        """Read the expiry times of the parents of new checkpoints and of the checkpoints that get new writes."""
        origins = [origin(part.record) for part in parts if part.record is not None]
        refs = {self._keys.checkpoint(ref): ref for ref in origins if ref is not None and ref not in self._expires}
        for key, row in self._images.of(refs):
            self._expires[refs[key]] = row and row["expires"]

    def _learn_with_writes(self, refs: list[Ref]) -> None:
        """Read which new checkpoints already have writes: an agent may save the writes before the checkpoint."""
        registries = self._images.of(map(self._keys.registry, refs))
        self._with_writes |= {ref for ref, (_, before) in zip(refs, registries, strict=True) if before is not None}

    def _expiry(self, record: Checkpoint | Write) -> Any:
        ref = origin(record)
        expires = None if ref is None else self._expires.get(ref)
        if isinstance(record, Checkpoint):
            self._expires[record.row.ref] = expires
        return expires

    def _flag_changes(self, refs: list[Ref], *, has_writes: bool) -> Iterator[RowChange]:
        """Changes of ``has_writes`` in existing checkpoints that get writes or lose the last of them.

        LangGraph stores a checkpoint without writes as false (checkpoint-redis 0.5.2, ``__init__.py: put``).
        """
        for ref, (_, before) in zip(refs, self._images.of(map(self._keys.checkpoint, refs)), strict=True):
            stored = document(before)
            if before is not None and isinstance(stored, dict) and stored.get("has_writes") is not has_writes:
                changed = canonical({**stored, "has_writes": has_writes})
                yield RowChange(*self._row_key(ref), before, {**before, "value": changed})

    def _left_empty(self) -> Iterator[Ref]:
        """The checkpoints that lost their last write and stay; an odd document may be stored under another's key."""
        changed = {self._key(name) for name in self._seen} if self._emptied else set()
        return (ref for ref in self._emptied if self._keys.checkpoint(ref) not in changed)

    def _registry_changes(self) -> Iterator[RowChange]:
        """Changes of the sorted sets; a write's score is its position in the batch of its task."""
        removed: dict[Ref, set[str]] = {}
        for name in self._plan.remove:
            if isinstance(name, WriteKey):
                removed.setdefault(name.ref, set()).add(self._key(name))
        new: dict[Ref, dict[str, float]] = {}
        batches: dict[tuple[Ref, str], int] = {}
        for record in self._plan.add:
            if isinstance(record, Write):
                batch = (record.ref, record.task_id)
                batches[batch] = at = batches.get(batch, -1) + 1
                new.setdefault(record.ref, {})[self._key(name_of(record))] = float(at)
        refs = sorted({*removed, *new})
        for ref, (key, before) in zip(refs, self._images.of(map(self._keys.registry, refs)), strict=True):
            old = dict(parse_json(str(before["value"]))) if before is not None and before["type"] == "zset" else {}
            scores = {name: score for name, score in old.items() if name not in removed.get(ref, ())} | new.get(ref, {})
            members = [
                [name, scores[name]]
                for name in sorted(scores, key=lambda name: (scores[name], name.encode("utf-8", "surrogateescape")))
            ]
            expires = before["expires"] if before is not None else self._expires.get(ref)
            after = image("zset", canonical(members), expires) if members else None
            if after is None:
                self._emptied.append(ref)
            if after != before:
                yield RowChange(REGISTRIES, {"key": key}, before, after)

    def _pointer_changes(self) -> Iterator[RowChange]:
        """Changes of the pointers.

        A pointer moves to a new checkpoint with a higher id. If the plan removes the latest
        checkpoint, the pointer moves to the highest remaining checkpoint.
        """
        removed = by_space(name for name in self._plan.remove if isinstance(name, Ref))
        new = by_space(record.row.ref for record in self._plan.add if isinstance(record, Checkpoint))
        spaces = sorted(removed.keys() | new.keys())
        for page in pages(spaces, _PAGE):
            now = [*self._images.of(self._keys.latest(*space) for space in page)]
            pointed = [self._pointed_ref(space, row, removed) for space, (_, row) in zip(page, now, strict=True)]
            unpointed = {space[0]: None for space, ref in zip(page, pointed, strict=True) if ref is None}
            existing = by_space(self._find_existing(unpointed)) if unpointed else {}
            for space, ref, (key, before) in zip(page, pointed, now, strict=True):
                old = {ref} if ref else existing.get(space, set()) - removed.get(space, set())
                last = max(old | new.get(space, set()), default=None)
                if last is None or before is None or before["value"] != self._keys.checkpoint(last):
                    after = last and self._pointer(last, before)
                    if after != before:
                        yield RowChange(LATEST, {"key": key}, before, after)

    def _pointed_ref(self, space: Space, row: Row | None, removed: Mapping[Space, set[Ref]]) -> Ref | None:
        """The checkpoint that a pointer names; None without a pointer, or if the plan removes that checkpoint."""
        if row is None:
            return None
        start = self._keys.checkpoint(Ref(*space, "x"))[:-1]
        ref = Ref(*space, str(row["value"]).removeprefix(start))
        return None if ref in removed.get(space, ()) else ref

    def _pointer(self, last: Ref, before: Row | None) -> Row:
        expires = self._expires.get(last, before["expires"] if before is not None else None)
        return image("string", self._keys.checkpoint(last), expires)

    def _row_key(self, name: Name) -> tuple[str, Row]:
        """The relation and the key of a record's document."""
        ref = name if isinstance(name, Ref) else name.ref
        place = {"key": self._key(name), "thread_id": ref.thread_id, "ns": ref.ns, "checkpoint_id": ref.checkpoint_id}
        if isinstance(name, Ref):
            return CHECKPOINTS, place
        return WRITES, {**place, "task_id": name.task_id, "idx": name.idx}

    def _key(self, name: Name) -> str:
        if name in self._odd:
            return self._odd[name]
        return self._keys.checkpoint(name) if isinstance(name, Ref) else self._keys.write(name)


def record_of(relation: str, key: Row) -> Name | None:
    """The record that a key holds; None for a key that holds no document."""
    if relation not in (CHECKPOINTS, WRITES):
        return None
    columns: Any = key
    ref = Ref(columns["thread_id"], columns["ns"], columns["checkpoint_id"])
    return ref if relation == CHECKPOINTS else WriteKey(ref, columns["task_id"], columns["idx"])


def by_space(refs: Iterable[Ref]) -> dict[Space, set[Ref]]:
    """Checkpoints by namespace."""
    spaces: dict[Space, set[Ref]] = {}
    for ref in refs:
        spaces.setdefault(ref[:2], set()).add(ref)
    return spaces


def origin(record: Checkpoint | Write) -> Ref | None:
    """The checkpoint whose expiry a record shares: a checkpoint's parent, or a write's checkpoint."""
    if isinstance(record, Write):
        return record.ref
    row = record.row
    return Ref(row.thread_id, row.ns, row.parent_id) if row.parent_id else None
