"""A plan as rows: checkpoints and writes as the plan has them, blobs as the checkpoints need them.

A blob is added where it isn't yet, and goes when no checkpoint that stays names it; with the last checkpoint of a
namespace all of its blobs go.
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
from ckpt_cli.savers.sql.headers import named_versions, versions_in
from ckpt_cli.savers.sql.images import Images
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, Layout
from ckpt_cli.savers.sql.records import Rows, blobs_of, key_of, relation_of
from ckpt_cli.savers.sql.statements import OfBlobs, OfCheckpoints

_PAGE = 100  # records that are looked up together
_DIGESTS = 1000  # blobs that are compared together
_SPACES = 200  # namespaces whose blobs are looked after together

Space = tuple[str, str]
"""A thread and a namespace."""
Named = tuple[str, str]
"""A channel and a version."""


class Expansion:
    """One plan on its way to rows."""

    def __init__(self, engine: Engine, layout: Layout, plan: Plan) -> None:
        self._engine = engine
        self._images = Images(engine, layout)
        self._rows = Rows(engine, layout)
        self._sql, self._sql_blobs = OfCheckpoints(engine, layout), OfBlobs(engine, layout)
        self._plan = plan
        self._freed: dict[Space, set[Named]] = {}
        self._touched: dict[Space, set[str]] = {}
        self._named: dict[Space, set[Named]] = {}
        self._needed: dict[BlobName, Payload] = {}

    def changes(self) -> Iterator[RowChange]:
        """Removals first, then what is replaced, then what is added, then the blobs.

        Raises:
            Refused: a record to add stands already, or one to replace or remove doesn't; or a blob to add stands
                already with another value.
        """
        for name, relation, key, before in self._looked_up(self._plan.remove):
            self._standing(name, before)
            yield RowChange(relation, key, before, None)
        for record, row, (_, relation, key, before) in self._recorded(self._plan.replace):
            self._standing(name_of(record), before)
            yield RowChange(relation, key, before, {**(before or {}), **row})
        for _, row, (name, relation, key, before) in self._recorded(self._plan.add):
            if before is not None:
                raise already_exists(name)
            yield RowChange(relation, key, None, row)
        yield from self._new_blobs()
        for spaces in pages(self._freed, _SPACES):
            yield from self._removed(self._unnamed(spaces))

    def _looked_up(self, names: Sequence[Ref | WriteKey]) -> Iterator[tuple[Ref | WriteKey, str, Row, Row | None]]:
        for relation, group in groupby(names, key=relation_of):
            for page in pages(group, _PAGE):
                found = self._images.all(relation, [key_of(name) for name in page])
                for name, (key, row) in zip(page, found, strict=True):
                    yield name, relation, key, row

    def _recorded(
        self, records: Sequence[Record]
    ) -> Iterator[tuple[Record, Row, tuple[Ref | WriteKey, str, Row, Row | None]]]:
        for page in pages(records, _PAGE):
            for record in page:
                if isinstance(record, Checkpoint):
                    self._must_be_kept(record)
            yield from zip(page, self._rows.all(page), self._looked_up([*map(name_of, page)]), strict=True)

    def _must_be_kept(self, record: Checkpoint) -> None:
        """Note the blobs that a checkpoint names, and what they must hold.

        Raises:
            Refused: two records of the plan want different values under one name.
        """
        space = (record.row.thread_id, record.row.ns)
        self._named.setdefault(space, set()).update(versions_in(record.body.data.decode()).items())
        for name, payload in blobs_of(record):
            if self._needed.setdefault(name, payload) != payload:
                raise _other(name)

    def _standing(self, name: Ref | WriteKey, before: Row | None) -> None:
        if before is None:
            raise no_longer_exists(name)
        if isinstance(name, Ref):
            space = (name.thread_id, name.ns)
            self._freed.setdefault(space, set()).update(versions_in(str(before["checkpoint"])).items())
            self._touched.setdefault(space, set()).add(name.checkpoint_id)

    def _new_blobs(self) -> Iterator[RowChange]:
        for page in pages(self._needed.items(), _DIGESTS):
            key = self._sql_blobs.key
            condition, words = self._engine.among(BLOBS, key, [name[: len(key)] for name, _ in page])
            found = self._engine.query(self._sql_blobs.digests + condition, words)
            there = {BlobName(*name): (tag, digest or _EMPTY) for *name, tag, digest in found}
            for name, payload in page:
                if name not in there:
                    yield RowChange(BLOBS, key_of(name), None, self._rows.blob(name, payload))
                elif there[name] != (payload.tag, sha256(payload.data).hexdigest()):
                    raise _other(name)

    def _unnamed(self, spaces: Sequence[Space]) -> Iterator[BlobName]:
        """Yield the blobs that go: those that no checkpoint names any more.

        Where no checkpoint stays in a namespace, or in a thread, all its blobs go, also those that none ever named.
        """
        left = {space: self._freed[space] - self._named.get(space, set()) for space in spaces}
        emptied = self._still_named(left)
        for space in spaces:
            if space not in emptied:
                yield from (BlobName(*space, *named) for named in sorted(left[space]))
        threads = self._emptied_threads({thread_id for thread_id, _ in emptied} - {space[0] for space in self._named})
        yield from self._blobs_of(("thread_id",), [(thread_id,) for thread_id in threads])
        yield from self._blobs_of(_SPACE, [space for space in emptied if space[0] not in threads])

    def _blobs_of(self, key: Sequence[str], values: Sequence[tuple[str, ...]]) -> Iterator[BlobName]:
        if values:
            condition, words = self._engine.among(BLOBS, key, sorted(values))
            yield from (BlobName(*name) for name in self._engine.query(self._sql_blobs.names + condition, words))

    def _emptied_threads(self, thread_ids: set[str]) -> set[str]:
        """Those of these threads that keep no checkpoint in any namespace."""
        emptied = set(thread_ids)
        if emptied:
            condition, words = self._engine.among(CHECKPOINTS, ("thread_id",), [(name,) for name in sorted(emptied)])
            for thread_id, ns, checkpoint_id, _ in self._engine.query(
                self._sql.parents + condition, words, stream=True
            ):
                if checkpoint_id not in self._touched.get((thread_id, ns), ()):
                    emptied.discard(thread_id)
        return emptied

    def _still_named(self, left: dict[Space, set[Named]]) -> set[Space]:
        """Take away what checkpoints name that stay; gives the namespaces where none does."""
        emptied = {space for space in left if space not in self._named}
        condition, words = self._engine.among(CHECKPOINTS, _SPACE, list(left))
        for thread_id, ns, checkpoint_id, versions in self._engine.query(
            self._sql.versions + condition, words, stream=True
        ):
            space = (thread_id, ns)
            if checkpoint_id not in self._touched[space]:
                emptied.discard(space)
                left[space].difference_update(named_versions(versions).items())
                if not emptied and not any(left.values()):
                    break
        return emptied

    def _removed(self, names: Iterable[BlobName]) -> Iterator[RowChange]:
        for key, row in self._images.all(BLOBS, map(key_of, names)):
            if row is not None:
                yield RowChange(BLOBS, key, row, None)


_EMPTY = sha256(b"").hexdigest()
_SPACE = ("thread_id", "checkpoint_ns")


def _other(name: BlobName) -> Refused:
    what = f"channel {name.channel!r} of thread {name.thread_id!r} has another value at version {name.version}"
    return Refused(f"{what} already; nothing was written")
