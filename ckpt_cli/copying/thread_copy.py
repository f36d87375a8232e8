"""`ThreadCopy`: what another database lacks of a thread; what it has must be the same."""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from hashlib import sha256
from typing import Any

from ckpt_cli.copying.gone_values import gone_words
from ckpt_cli.copying.javascript_records import is_javascript_thread, left_out_words
from ckpt_cli.copying.json_numbers import rewritten_number
from ckpt_cli.copying.payload_changes import NO_CHANGES, ChangedRecords, PayloadChanges
from ckpt_cli.copying.recast import Recast
from ckpt_cli.copying.write_order import WriteOrder, by_step
from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.history.state.channels import is_snapshot
from ckpt_cli.layouts import named, read_metadata, whole
from ckpt_cli.model import (
    LOST,
    NULL_TASK,
    Checkpoint,
    CheckpointRow,
    Name,
    Payload,
    Record,
    Ref,
    Write,
    WriteKey,
    in_words,
    name_of,
)
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.savers.paging import groups_of_few_bytes
from ckpt_cli.values.same import same

_PAGE = 200  # writes that are compared together


class ThreadCopy:
    """A thread of two databases; its records are read one by one, inside a moment of each.

    Args:
        source: has the thread.
        target: the other database.
        thread_id: the thread.
        wrote: how the source's records were written.
        changes: what is done to payloads on the way.

    Attributes:
        checkpoints: how many checkpoints the target lacks, once `missing` is read.
        writes: how many writes it lacks.
        order: where LangGraph gives writes that it lacks in another order.
        is_sealed_otherwise: `missing` compared a value that is encrypted there and was to be decrypted, or the
            other way round.
    """

    def __init__(
        self, source: Reader, target: Reader, thread_id: str, wrote: RecordFormat, changes: PayloadChanges = NO_CHANGES
    ) -> None:
        self._source, self._target, self._thread_id = source, target.saver, thread_id
        form = target.saver.form
        if form.apart and not wrote.apart and _counts_in_integers(source, thread_id):
            wrote = wrote._replace(versions="int")
        changed = ChangedRecords(changes, source.codec, target.codec, form) if changes else None
        javascript = is_javascript_thread(source, thread_id)
        self._recast = Recast(source.codec, wrote, form, changed, javascript=javascript)
        as_stored = source.saver.orders_writes_as_library
        self.order = WriteOrder(wrote, form, source.codec.decode, as_stored=as_stored)
        self._decode = target.codec.decode
        self._seals, self.is_sealed_otherwise = bool(changes.decrypt or changes.key_env), False
        self.checkpoints = self.writes = 0
        self._replaced: set[Name] = set()
        self._more: list[tuple[CheckpointRow, Set[str]]] = []  # checkpoints with snapshots that the target lacks

    @property
    def words(self) -> str:
        """For the plan: what is otherwise in the target, behind a semicolon; "" for nothing."""
        return self.order.words + left_out_words(self._recast.left_out) + gone_words(self._recast.gone.channels)

    def replaced(self) -> list[Write]:
        """The special writes that the source has replaced since they were copied, in the format of the target's saver.

        LangGraph replaces a task's question, answer and error (langgraph-checkpoint 4.3, ``base/__init__.py:
        WRITES_IDX_MAP``). Where the target has gone on by itself, its own are left, and differ.
        """
        source, target = self._source.saver, self._target
        theirs = {name_of(one) for one in target.writes(self._thread_id, values=0)}
        if not theirs:
            return []
        own = {name_of(one) for one in source.writes(self._thread_id, values=0)}
        both = {name.ref for name in own & theirs if isinstance(name, WriteKey) and _is_special(name)}
        if not both:
            return []
        refs = {row.ref for row in source.rows(self._thread_id)}
        beside = {name.ref for name in theirs - own if isinstance(name, WriteKey)}
        new = (row for row in target.rows(self._thread_id) if row.ref not in refs)
        both -= beside | {row.ref._replace(checkpoint_id=row.parent_id or "") for row in new}
        there = self._stored_writes(name for name in theirs if isinstance(name, WriteKey) and name.ref in both)
        made = (self._recast.write(one) for one in source.writes_on(sorted(both)))
        special = [one for one in made if _is_special(name_of(one)) and name_of(one) in theirs]
        changed = [one for one in special if not self._is_equal_write(there.get(name_of(one)), one)]
        self._replaced = {name_of(one) for one in changed}
        return changed

    def missing(self, *, compared: bool = True) -> Iterator[Record]:
        """The records that the target lacks, in the format of its saver; checkpoints come first.

        Those that `replaced` gave aren't compared.

        Args:
            compared: whether to compare the records that it has; once that is done, their names are enough.

        Raises:
            Refused: the target has a record of the same name with other contents, or the source lacks a value.
            NotSupported: the target can't hold a record, or its saver couldn't go on from it (MongoDB's finds the
                writes of a task by the task's path, which Valkey and older tables don't store).
        """
        self.checkpoints = self.writes = 0
        self._more = []
        rows = sorted(self._source.saver.rows(self._thread_id), key=lambda row: (row.ns, row.checkpoint_id))
        known = {row.ref for row in self._target.rows(self._thread_id)}
        names = {name_of(one) for one in self._target.writes(self._thread_id, values=0)}
        yield from self._missing_checkpoints(rows, known, compared=compared)
        open_refs = {row.ref for row in rows} - {row.ref._replace(checkpoint_id=row.parent_id or "") for row in rows}
        yield from self._missing_writes(open_refs, names, compared=compared)

    def _missing_checkpoints(
        self, rows: Sequence[CheckpointRow], known: set[Ref], *, compared: bool
    ) -> Iterator[Record]:
        refs = [row.ref for row in rows]
        stored = self._target.checkpoints([ref for ref in refs if ref in known]) if compared else iter(())
        needed = refs if compared or self._recast.needs_ancestors else self._with_parents(rows, known)
        for one in self._source.saver.checkpoints(needed):
            _must_be_here(one)
            self.order.note_metadata(one.metadata)
            made = self._recast.checkpoint(one)
            self._must_keep_numbers(made)
            if made.row.ref not in known:
                self.checkpoints += 1
                yield made
            elif compared and not self._is_same(next(stored), made):
                raise _conflict(name_of(made))
        self._must_be_repeats()

    def _with_parents(self, rows: Sequence[CheckpointRow], known: set[Ref]) -> list[Ref]:
        """The checkpoints that the target lacks, and those of their parents that it has, if they matter."""
        lacking = [row for row in rows if row.ref not in known]
        if not self._recast.needs_parents:
            return [row.ref for row in lacking]
        parents = sorted({_parent(row) for row in lacking} & known & {row.ref for row in rows})
        for one in self._target.checkpoints(parents):
            versions = named(named(self._decode(one.body)).get("channel_versions"))
            self._recast.gone.add_parent(one.row.ns, versions)
        wanted = {*parents, *(row.ref for row in lacking)}
        return [row.ref for row in rows if row.ref in wanted]

    def _must_be_repeats(self) -> None:
        """Refuse snapshots that the target lacks, unless the parent has the same snapshot under the same version."""
        wanted = {ref for row, _ in self._more for ref in (row.ref, _parent(row))}
        shown: dict[Ref, dict[str, tuple[Any, bytes]]] = {}
        for one in self._source.saver.checkpoints(sorted(wanted)) if wanted else ():
            body = whole(one, self._decode)
            versions, values = named(body.get("channel_versions")), named(body.get("channel_values"))
            snapshots = {name: value for name, value in values.items() if is_snapshot(value)}
            digests = {name: sha256(value.raw or repr(value).encode()).digest() for name, value in snapshots.items()}
            shown[one.row.ref] = {name: (versions.get(name), digest) for name, digest in digests.items()}
        for row, names in self._more:
            own, parents = shown[row.ref], shown.get(_parent(row), {})
            if any(own[name] != parents.get(name) for name in names):
                raise _conflict(row.ref)

    def _must_keep_numbers(self, made: Checkpoint) -> None:
        if self._target.rewrites_numbers and (number := rewritten_number(made.metadata.data)):
            what = f"the metadata of {in_words(made.row.ref)} has the number {number}"
            raise NotSupported(f"{what}, which the target would store as another")

    def _missing_writes(self, open_refs: set[Ref], names: set[Any], *, compared: bool) -> Iterator[Record]:
        writes = self._source.saver.writes(self._thread_id)
        if self.order.may_differ:
            writes = by_step(writes, partial(self._note_order, names))
        sizes = ((write, write.size) for write in writes)
        for page in groups_of_few_bytes(sizes, _PAGE):
            made = [self._made(write, open_refs) for write in page]
            there = self._stored_writes(name for one in made if (name := name_of(one)) in names) if compared else {}
            for one in made:
                name = name_of(one)
                if name not in names:
                    self.writes += 1
                    yield one
                elif compared and name not in self._replaced and not self._is_equal_write(there.get(name), one):
                    raise _conflict(name_of(one))

    def _note_order(self, names: set[Any], step: list[Write]) -> None:
        if any(name_of(write) not in names for write in step):
            self.order.note_step(step)

    def _made(self, write: Write, open_refs: set[Ref]) -> Write:
        _must_be_here(write)
        needs_path = self._target.finds_writes_by_path and write.task_id != NULL_TASK
        if needs_path and not write.task_path and write.ref in open_refs:
            what = f"{in_words(name_of(write))} has no path of its task"
            raise NotSupported(f"{what}, and the target's saver couldn't go on from it")
        return self._recast.write(write)

    def _stored_writes(self, names: Iterable[Any]) -> dict[WriteKey | Ref, Write]:
        refs = {name.ref for name in names}
        return {name_of(one): one for one in self._target.writes_on(sorted(refs))} if refs else {}

    def _is_equal_write(self, stored: Write | None, made: Write) -> bool:
        return stored is not None and stored.channel == made.channel and self._is_equal(stored.payload, made.payload)

    def _is_same(self, stored: Checkpoint, made: Checkpoint) -> bool:
        if stored.row.parent_id != made.row.parent_id:
            return False
        self._compare_seals(_payloads(stored), _payloads(made))
        if stored._replace(row=made.row) == made:
            return True
        metadata = [read_metadata(self._decode(one.metadata))[0] for one in (stored, made)]
        if not same(*metadata):
            return False
        if stored.channels == made.channels is not None and same(self._decode(stored.body), self._decode(made.body)):
            return True
        there, here = whole(stored, self._decode), whole(made, self._decode)
        theirs, own = _snapshots_of_versions(there, here), _snapshots_of_versions(here, there)
        if not same({**there, "channel_values": theirs}, {**here, "channel_values": own}):
            return False
        if more := named(here.get("channel_values")).keys() - own.keys():
            self._more.append((made.row, more))
        return True

    def _is_equal(self, one: Payload | None, other: Payload | None) -> bool:
        if one is None or other is None or one == other:
            return one == other
        self._compare_seals([one], [other])
        return same(self._decode(one), self._decode(other))

    def _compare_seals(self, stored: Iterable[Payload], made: Iterable[Payload]) -> None:
        if self._seals and any(map(_is_sealed, stored)) != any(map(_is_sealed, made)):
            self.is_sealed_otherwise = True


def _counts_in_integers(source: Reader, thread_id: str) -> bool:
    """Whether a thread's versions are numbers, as LangGraph.js counts everywhere.

    Two branches then share them, and values that are stored by version would collide.
    """
    thread = source.saver.thread(thread_id)
    head = next(iter(source.saver.checkpoints([thread.head])), None) if thread is not None else None
    body = None if head is None else source.codec.decode(head.body)
    versions = named(body.get("channel_versions")) if isinstance(body, dict) else {}
    return any(type(version) is int for version in versions.values())


def _is_special(name: Name) -> bool:
    return isinstance(name, WriteKey) and isinstance(name.idx, int) and name.idx < 0


def _snapshots_of_versions(body: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The values of a checkpoint, without the snapshots of delta channels that the same one elsewhere doesn't have.

    Where values are stored by version, each checkpoint that has the version shows the snapshot.
    """
    values, others = named(body.get("channel_values")), named(other.get("channel_values"))
    return {name: value for name, value in values.items() if name in others or not is_snapshot(value)}


def _parent(row: CheckpointRow) -> Ref:
    return row.ref._replace(checkpoint_id=row.parent_id or "")


def _conflict(name: Name) -> Refused:
    what = f"the target has {in_words(name)} with other contents"
    return Refused(f"{what}; nothing of the thread was written", hint="ckpt diff shows what differs")


def _must_be_here(record: Record) -> None:
    if any(payload.tag == LOST for payload in _payloads(record)):
        raise Refused(f"{in_words(name_of(record))} has a value that isn't in the database")


def _is_sealed(payload: Payload) -> bool:
    return payload.tag.endswith("+aes")


def _payloads(record: Record) -> Iterator[Payload]:
    if isinstance(record, Write):
        yield from () if record.payload is None else (record.payload,)
    else:
        yield from (record.body, record.metadata, *(record.channels or {}).values())
