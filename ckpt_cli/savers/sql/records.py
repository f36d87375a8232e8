"""Makes rows of the three tables from records, and finds the record of a row by the row's key."""

from collections.abc import Iterable, Iterator, Sequence

from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.model import Checkpoint, Payload, Record, Ref, Row, Scalar, Write, WriteKey, in_words, name_of
from ckpt_cli.savers.sql.blobs import BlobName
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.headers import header_versions, storage_problem
from ckpt_cli.savers.sql.images import KEYS
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES, WRITTEN, Layout


def relation_of(name: Ref | WriteKey) -> str:
    """The table of a record."""
    return CHECKPOINTS if isinstance(name, Ref) else WRITES


def key_of(name: Ref | WriteKey | BlobName) -> Row:
    """The key of a record's or a blob's row."""
    if isinstance(name, WriteKey):
        return dict(zip(KEYS[WRITES], [*name.ref, name.task_id, name.idx], strict=True))
    return dict(zip(KEYS[CHECKPOINTS if isinstance(name, Ref) else BLOBS], name, strict=True))


def record_of(relation: str, key: Row) -> Ref | WriteKey | None:
    """The record of a row, by its key; None for a blob, which is part of several records."""
    if relation not in (CHECKPOINTS, WRITES):
        return None
    ref = Ref(str(key["thread_id"]), str(key["checkpoint_ns"]), str(key["checkpoint_id"]))
    return ref if relation == CHECKPOINTS else WriteKey(ref, str(key["task_id"]), int(key["idx"] or 0))


class Rows:
    """Makes rows of one layout from records."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        self._engine = engine
        self._layout = layout

    def from_records(self, records: Sequence[Record], *, spelled: bool = True) -> Iterator[Row]:
        """The rows of some records, in their order.

        If `spelled`, their JSON is as a read will give it: one call of `Engine.canonical_json` spells all of it.
        Otherwise nobody has checked that JSON columns can hold it.

        Raises:
            NotSupported: the tables have no columns for a part of a record.
            Refused: a JSON column can't hold a value.
        """
        texts = [text for record in records if isinstance(record, Checkpoint) for text in _json_texts(record)]
        if spelled:
            texts = self._spelled(records, texts)
        spelled_texts = iter(texts)
        for record in records:
            if isinstance(record, Checkpoint):
                yield self.checkpoint(record, next(spelled_texts), next(spelled_texts))
            else:
                yield self.write(record)

    def blob(self, name: BlobName, payload: Payload) -> Row:
        """The row of a channel's value. A version without a value is stored as NULL if the column allows NULL."""
        empty = payload.tag == "empty" and self._layout.columns[BLOBS]["blob"].nullable
        value = None if empty else payload.data
        return self._complete_row(BLOBS, {**key_of(name), "type": payload.tag, "blob": value})

    def with_images(self, records: Sequence[Record]) -> Iterator[tuple[Row, Row | None]]:
        """The rows of some records as they are sent, and as a later read gives them if that may differ.

        Raises:
            NotSupported, Refused: see `from_records`.
        """
        texts = [text for record in records if isinstance(record, Checkpoint) for text in _json_texts(record)]
        spelled = iter(self._spelled(records, texts))
        for record, row in zip(records, self.from_records(records, spelled=False), strict=True):
            is_checkpoint = isinstance(record, Checkpoint)
            yield row, {**row, "checkpoint": next(spelled), "metadata": next(spelled)} if is_checkpoint else None

    def _spelled(self, records: Sequence[Record], texts: Sequence[str]) -> list[str]:
        for record in records:
            if isinstance(record, Checkpoint):
                must_fit_json(record, nul=self._engine.holds_nul)
        return self._engine.canonical_json(texts) if texts else []

    def checkpoint(self, record: Checkpoint, header: str, metadata: str) -> Row:
        """The row of a checkpoint, with the JSON texts to store."""
        row = {**key_of(record.row.ref), "parent_checkpoint_id": record.row.parent_id}
        return self._complete_row(CHECKPOINTS, {**row, "checkpoint": header, "metadata": metadata})

    def write(self, record: Write) -> Row:
        """The row of a write."""
        if record.payload is None:
            raise ValueError(f"{in_words(name_of(record))} has no payload")
        row = {**key_of(name_of(record)), "channel": record.channel, "type": record.payload.tag or None}
        path = {"task_path": record.task_path} if self._layout.task_paths else {}
        return self._complete_row(WRITES, {**row, "blob": record.payload.data, **path})

    def _complete_row(self, relation: str, row: Row) -> Row:
        """A row to add, with all of LangGraph's own columns; an application's columns get the engine's defaults.

        Raises:
            NotSupported: an application's own column needs a value.
            Refused: a column can't hold a text.
        """
        own: dict[str, Scalar] = dict(self._engine.with_derived_columns(relation, row))
        for name, column in self._layout.columns[relation].items():
            if name not in own:
                if not (column.nullable or column.defaulted or column.generated):
                    raise NotSupported(f"column {name!r} of {relation} is none of LangGraph's and needs a value")
                if name in WRITTEN[relation] and column.nullable:
                    own[name] = None
            elif isinstance(own[name], str) and self._engine.search_value(relation, name, own[name]) is None:
                raise Refused(f"column {name!r} of {relation} can't hold {own[name]!r}; nothing was written")
        return own


def _json_texts(record: Checkpoint) -> Iterable[str]:
    if record.channels is None or record.body.tag != "json":
        raise NotSupported(f"{in_words(record.row.ref)}: this database keeps a JSON header and the channels apart")
    if record.metadata.tag not in ("json", "null"):
        raise NotSupported(f"this database keeps metadata as JSON, not as {record.metadata.tag}")
    return [_json_text(payload) for payload in (record.body, record.metadata)]


def must_fit_json(record: Checkpoint, *, nul: bool) -> None:
    """Check that the engine's JSON columns can hold a checkpoint; `nul`: whether they can hold U+0000.

    Raises:
        Refused: they can't; the message says what.
    """
    for what, payload in (("state", record.body), ("metadata", record.metadata)):
        if problem := storage_problem(_json_text(payload), nul=nul):
            place = f"the {what} of {in_words(record.row.ref)}"
            raise Refused(f"{place} holds {problem}, which this database's JSON can't; nothing was written")


def _json_text(payload: Payload) -> str:
    return payload.data.decode("utf-8", "surrogateescape") or "{}"


def blobs_of(record: Checkpoint) -> Iterator[tuple[BlobName, Payload]]:
    """The name and value of each blob of a checkpoint.

    Raises:
        Refused: the header names no version of a channel, so the channel's value could not be found again.
    """
    versions = header_versions(record.body.data.decode("utf-8", "surrogateescape"))
    for channel, payload in (record.channels or {}).items():
        if channel not in versions:
            what = f"{in_words(record.row.ref)} names no version of its channel {channel!r}"
            raise Refused(f"{what}, so the value has no place; nothing was written")
        yield BlobName(record.row.thread_id, record.row.ns, channel, versions[channel]), payload
