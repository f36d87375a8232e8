"""Translates a plan into row changes: checkpoints, writes, the blobs that they need or no longer need.

A blob is added if it doesn't exist yet, and removed when no remaining checkpoint names it. When the last checkpoint of
a namespace is removed, all blobs of the namespace are removed too.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import groupby

from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, Payload, Plan, Record, Ref, Row, RowChange, WriteKey, name_of
from ckpt_cli.savers.faults import already_exists, no_longer_exists
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.blobs import BlobName
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.headers import header_versions, parse_versions
from ckpt_cli.savers.sql.images import Images
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, Layout
from ckpt_cli.savers.sql.records import Rows, blobs_of, key_of, relation_of
from ckpt_cli.savers.sql.statements import BlobStatements, CheckpointStatements

_PAGE = 100  # records that are looked up together
_DIGESTS = 1000  # blobs that are compared together
_SPACES = 200  # namespaces whose blobs are looked up together

Space = tuple[str, str]
"""A thread and a namespace."""
ChannelVersion = tuple[str, str]
"""A channel and one of its versions."""


class Expansion:
    """The row changes of one plan."""

    def __init__(self, engine: Engine, layout: Layout, plan: Plan) -> None:
        self._engine = engine
        self._images = Images(engine, layout)
        self._rows = Rows(engine, layout)
        self._sql, self._sql_blobs = CheckpointStatements(engine, layout), BlobStatements(engine, layout)
        self._plan = plan
        self._old_versions: dict[Space, set[ChannelVersion]] = {}
        self._changed_ids: dict[Space, set[str]] = {}
        self._new_versions: dict[Space, set[ChannelVersion]] = {}
        self._new_payloads: dict[BlobName, Payload] = {}
        self._cleared_threads: set[str] = set()  # threads whose blobs were all removed

    def changes(self) -> Iterator[RowChange]:
        """The changes: first removals, then replacements, then additions, then changes of blobs.

        Raises:
            Refused: a record to add exists already, a record to replace or remove doesn't exist, or a blob to add
                exists with another value.
        """
        for name, relation, key, before in self._current_rows(self._plan.remove):
            self._note_old(name, before)
            yield RowChange(relation, key, before, None)
        for record, row, (_, relation, key, before) in self._new_and_current_rows(self._plan.replace):
            self._note_old(name_of(record), before)
            yield RowChange(relation, key, before, {**(before or {}), **row})
        for _, row, (name, relation, key, before) in self._new_and_current_rows(self._plan.add):
            if before is not None:
                raise already_exists(name)
            yield RowChange(relation, key, None, row)
        yield from self._new_blobs()
        for spaces in pages(self._old_versions, _SPACES):
            yield from self._blob_removals(self._unused_blobs(spaces))

    def _current_rows(self, names: Sequence[Ref | WriteKey]) -> Iterator[tuple[Ref | WriteKey, str, Row, Row | None]]:
        for relation, group in groupby(names, key=relation_of):
            for page in pages(group, _PAGE):
                rows = self._images.lookup(relation, [key_of(name) for name in page])
                for name, (key, row) in zip(page, rows, strict=True):
                    yield name, relation, key, row

    def _new_and_current_rows(
        self, records: Sequence[Record]
    ) -> Iterator[tuple[Record, Row, tuple[Ref | WriteKey, str, Row, Row | None]]]:
        for page in pages(records, _PAGE):
            for record in page:
                if isinstance(record, Checkpoint):
                    self._note_new(record)
            yield from zip(page, self._rows.from_records(page), self._current_rows([*map(name_of, page)]), strict=True)

    def _note_new(self, record: Checkpoint) -> None:
        """Note the blobs that a new checkpoint names, and the values they must have.

        Raises:
            Refused: two records of the plan give different values to one blob.
        """
        space = (record.row.thread_id, record.row.ns)
        self._new_versions.setdefault(space, set()).update(header_versions(record.body.data.decode()).items())
        for name, payload in blobs_of(record):
            if self._new_payloads.setdefault(name, payload) != payload:
                raise two_values(name)

    def _note_old(self, name: Ref | WriteKey, before: Row | None) -> None:
        """Note the blobs that a removed or replaced checkpoint names.

        Raises:
            Refused: the record doesn't exist.
        """
        if before is None:
            raise no_longer_exists(name)
        if isinstance(name, Ref):
            space = (name.thread_id, name.ns)
            self._old_versions.setdefault(space, set()).update(header_versions(str(before["checkpoint"])).items())
            self._changed_ids.setdefault(space, set()).add(name.checkpoint_id)

    def _new_blobs(self) -> Iterator[RowChange]:
        for page in pages(self._new_payloads.items(), _DIGESTS):
            key = self._sql_blobs.key
            condition, parameters = self._engine.among(BLOBS, key, [name[: len(key)] for name, _ in page])
            rows = self._engine.query(self._sql_blobs.digests + condition, parameters)
            existing = {BlobName(*name): (tag, digest or _EMPTY) for *name, tag, digest in rows}
            for name, payload in page:
                if name not in existing:
                    yield RowChange(BLOBS, key_of(name), None, self._rows.blob(name, payload))
                elif existing[name] != (payload.tag, sha256(payload.data).hexdigest()):
                    raise blob_conflict(name)

    def _unused_blobs(self, spaces: Sequence[Space]) -> Iterator[BlobName]:
        """The blobs that only removed or replaced checkpoints named.

        For a namespace or thread without remaining checkpoints: all its blobs, also those that no checkpoint named.
        """
        unused = {space: self._old_versions[space] - self._new_versions.get(space, set()) for space in spaces}
        empty_spaces = self._drop_used(unused)
        for space in spaces:
            if space not in empty_spaces:
                yield from (BlobName(*space, *version) for version in sorted(unused[space]))
        threads_with_new = {thread_id for thread_id, _ in self._new_versions}
        maybe_empty = {thread_id for thread_id, _ in empty_spaces} - threads_with_new - self._cleared_threads
        threads = self._threads_without_checkpoints(maybe_empty)
        self._cleared_threads |= threads
        yield from self._all_blobs(("thread_id",), [(thread_id,) for thread_id in threads])
        yield from self._all_blobs(_SPACE, [space for space in empty_spaces if space[0] not in self._cleared_threads])

    def _all_blobs(self, key: Sequence[str], values: Sequence[tuple[str, ...]]) -> Iterator[BlobName]:
        if values:
            condition, parameters = self._engine.among(BLOBS, key, sorted(values))
            yield from (BlobName(*name) for name in self._engine.query(self._sql_blobs.names + condition, parameters))

    def _threads_without_checkpoints(self, thread_ids: set[str]) -> set[str]:
        """The threads among `thread_ids` that have no remaining checkpoint in any namespace."""
        empty = set(thread_ids)
        if empty:
            names = [(thread_id,) for thread_id in sorted(empty)]
            condition, parameters = self._engine.among(CHECKPOINTS, ("thread_id",), names)
            rows = self._engine.query(self._sql.parents + condition, parameters, stream=True)
            for thread_id, ns, checkpoint_id, _ in rows:
                if checkpoint_id not in self._changed_ids.get((thread_id, ns), ()):
                    empty.discard(thread_id)
        return empty

    def _drop_used(self, unused: dict[Space, set[ChannelVersion]]) -> set[Space]:
        """Remove from `unused` the blobs that remaining checkpoints name; returns namespaces without checkpoints."""
        empty_spaces = {space for space in unused if space not in self._new_versions}
        condition, parameters = self._engine.among(CHECKPOINTS, _SPACE, list(unused))
        for thread_id, ns, checkpoint_id, versions in self._engine.query(
            self._sql.versions + condition, parameters, stream=True
        ):
            space = (thread_id, ns)
            if checkpoint_id not in self._changed_ids.get(space, ()):
                # a damaged row may have an unrequested namespace: it then counts for all namespaces of its thread
                for used_in in [space] if space in unused else [one for one in unused if one[0] == thread_id]:
                    empty_spaces.discard(used_in)
                    unused[used_in].difference_update(parse_versions(versions).items())
                if not empty_spaces and not any(unused.values()):
                    break
        return empty_spaces

    def _blob_removals(self, names: Iterable[BlobName]) -> Iterator[RowChange]:
        for key, row in self._images.lookup(BLOBS, map(key_of, names)):
            if row is not None:
                yield RowChange(BLOBS, key, row, None)


_EMPTY = sha256(b"").hexdigest()
_SPACE = ("thread_id", "checkpoint_ns")


def two_values(name: BlobName) -> Refused:
    """The error for records of one source that give a blob two values.

    LangGraph stores a checkpoint in the background (``durability="async"``): a value changed in place meanwhile,
    as a join or a Topic is, has the same version with and without the change.
    """
    what = f"channel {name.channel!r} of thread {name.thread_id!r} has two values at version {name.version}"
    hint = "a bundle (`ckpt export`) keeps both, and so do SQLite, Redis, Valkey, MongoDB and DynamoDB"
    return Refused(f"{what}, and this database stores each version once; nothing was written", hint=hint)


def blob_conflict(name: BlobName) -> Refused:
    """The error for a blob that would need two values."""
    what = f"channel {name.channel!r} of thread {name.thread_id!r} has another value at version {name.version}"
    return Refused(f"{what} already; nothing was written")
