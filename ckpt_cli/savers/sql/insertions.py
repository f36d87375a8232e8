"""Rows for records that are added, streamed: each blob once, before its checkpoints."""

from collections.abc import Iterable, Iterator

from ckpt_cli.model import Checkpoint, Insertion, Payload, Record, Row, RowChange, name_of
from ckpt_cli.savers.digests import Digest, digest_of
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.blobs import BlobName
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.expand import blob_conflict, two_values
from ckpt_cli.savers.sql.layout import BLOBS, Layout
from ckpt_cli.savers.sql.records import Rows, blobs_of, key_of, relation_of
from ckpt_cli.savers.sql.statements import BlobStatements

_BYTES = 4_000_000  # of headers and metadata that wait for their blobs
_DIGESTS = 1000  # blobs that are compared together

_TypedDigest = tuple[str, Digest]
"""A blob's type and digest."""


class Insertions:
    """Makes the rows of one thread.

    Args:
        engine: the database.
        layout: its tables.
        images: whether to ask the server how it spells the JSON of each row, and whether existing blobs are the same.
    """

    def __init__(self, engine: Engine, layout: Layout, *, images: bool) -> None:
        self._engine, self._images = engine, images
        self._rows = Rows(engine, layout)
        self._sql = BlobStatements(engine, layout)
        self._existing: dict[str, set[BlobName]] = {}
        self._digests: dict[BlobName, _TypedDigest] = {}
        self._last: dict[tuple[str, str, str], tuple[BlobName, Payload]] = {}

    def rows(self, records: Iterable[Record]) -> Iterator[Insertion]:
        """The rows of these records, in an order in which many go into the same table.

        Raises:
            Refused: a blob exists with another value, or two records give different values to one blob.
        """
        waiting: list[Record] = []
        size = 0
        for record in records:
            if isinstance(record, Checkpoint) and record.channels is not None:
                yield from self._new_blobs(record)
                waiting.append(record._replace(channels={}))
            else:
                waiting.append(record)
            size += _size(waiting[-1])
            if size > _BYTES:
                yield from self._records(waiting)
                waiting, size = [], 0
        yield from self._records(waiting)
        self._compare_existing()

    def _records(self, records: list[Record]) -> Iterator[Insertion]:
        rows: Iterable[tuple[Row, Row | None]]
        if self._images:
            rows = self._rows.with_images(records)
        else:
            rows = ((row, None) for row in self._rows.from_records(records, spelled=False))
        for record, (row, image) in zip(records, rows, strict=True):
            name = name_of(record)
            yield Insertion(RowChange(relation_of(name), key_of(name), None, row), image)

    def _new_blobs(self, record: Checkpoint) -> Iterator[Insertion]:
        existing = self._existing_of(record.row.thread_id)
        for name, payload in blobs_of(record):
            if self._is_known(name, payload):
                continue
            if name not in existing:
                row = self._rows.blob(name, payload)
                yield Insertion(RowChange(BLOBS, key_of(name), None, row), None, {"blob": self._digests[name][1]})

    def _is_known(self, name: BlobName, payload: Payload) -> bool:
        """Whether an earlier record has the blob; most blobs are those of the record before."""
        place = name[:3]
        if self._last.get(place) == (name, payload):
            return True
        self._last[place] = name, payload
        digest = payload.tag, digest_of(payload.data)
        is_known = name in self._digests
        if self._digests.setdefault(name, digest) != digest:
            raise two_values(name)
        return is_known

    def _existing_of(self, thread_id: str) -> set[BlobName]:
        """The blobs that the database has of a thread, read before its first row is given."""
        if thread_id not in self._existing:
            condition, parameters = self._engine.among(BLOBS, ("thread_id",), [(thread_id,)])
            found = self._engine.query(self._sql.names + condition, parameters, stream=True)
            self._existing = {thread_id: {BlobName(*name) for name in found}}
        return self._existing[thread_id]

    def _compare_existing(self) -> None:
        """Check that the blobs that exist have the values that the records give them."""
        existing = {name for names in self._existing.values() for name in names}
        for page in pages([name for name in self._digests if self._images and name in existing], _DIGESTS):
            condition, parameters = self._engine.among(BLOBS, self._sql.key, [[*name] for name in page])
            for *name, tag, digest in self._engine.query(self._sql.digests + condition, parameters):
                if self._digests[BlobName(*name)] != (tag, bytes.fromhex(digest) if digest else _EMPTY):
                    raise blob_conflict(BlobName(*name))


def _size(record: Record) -> int:
    payloads = (record.body, record.metadata) if isinstance(record, Checkpoint) else (record.payload,)
    return sum(len(payload.data) for payload in payloads if payload is not None)


_EMPTY = digest_of(b"")
