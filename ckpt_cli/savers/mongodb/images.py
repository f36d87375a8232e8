"""Reads and changes documents as rows of the operation log: whole, byte for byte.

A document is changed only if it equals its before-image.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import Any, cast

import bson
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import DeleteOne, InsertOne, ReplaceOne, errors

from ckpt_cli.errors import Refused
from ckpt_cli.model import Row, RowChange
from ckpt_cli.savers.mongodb.connection import Connection
from ckpt_cli.savers.mongodb.records import filter_of, key_row
from ckpt_cli.savers.paging import pages

Document = dict[str, Any]

_PAGE = 100  # documents in one statement
_BYTES = 8 << 20  # of documents in one statement
_COMPARED = 4 << 20  # bytes of a document up to which all fields are compared
_DUPLICATE = 11000
_TYPED: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC)


class Images:
    """The documents of a database as rows, each with one column of BSON."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def current(self, relation: str, key: Row) -> Row | None:
        """A document as it is now; None if it doesn't exist."""
        document = next(self._connection.raw(relation, filter_of(key)), None)
        return None if document is None else {"bson": bytes(document.raw)}

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """Documents as they are now, a page in each statement."""
        rows: dict[tuple[Any, ...], Row] = {}
        for relation in dict.fromkeys(relation for relation, _ in names):
            for page in pages([filter_of(key) for of, key in names if of == relation], _PAGE):
                for document in self._connection.raw(relation, {"$or": [*page]}):
                    name = (relation, *key_row({field: document.get(field) for field in page[0]}).values())
                    rows[name] = {"bson": bytes(document.raw)}
        return [rows.get((relation, *key.values())) for relation, key in names]

    def change(self, changes: Iterable[RowChange]) -> None:
        """Make the changes in order, a page in each statement, and the last change in a statement of its own.

        So if the last change is found in the database, all changes were made.

        Raises:
            Refused: a document doesn't equal its before-image. Documents before it, and some after it, are changed.
        """
        page: list[RowChange] = []
        size = 0
        for change in changes:
            if page and (len(page) == _PAGE or size > _BYTES or page[0].relation != change.relation):
                self._write(page)
                page, size = [], 0
            page.append(change)
            size += sum(len(_raw(row)) for row in (change.before, change.after) if row is not None)
        for last in (page[:-1], page[-1:]):
            if last:
                self._write(last)

    def _write(self, page: list[RowChange]) -> None:
        try:
            result = self._connection.write(page[0].relation, [_operation(change) for change in page])
        except errors.BulkWriteError as error:
            code = next((one.get("code") for one in error.details.get("writeErrors", [])), None)
            if code != _DUPLICATE:
                raise
            raise Refused(f"a document of {page[0].relation} exists already; nothing was written") from error
        if result.inserted_count + result.matched_count + result.deleted_count != len(page):
            what = f"a document of {page[0].relation} was changed or removed by somebody else"
            raise Refused(what, hint="run the command again")


def _operation(change: RowChange) -> Any:
    if change.before is None:
        return InsertOne(_document(change.after))
    if change.after is None:
        return DeleteOne(_filter_unchanged(change))
    return ReplaceOne(_filter_unchanged(change), cast(Any, _document(change.after)))


def _filter_unchanged(change: RowChange) -> Document:
    """A filter that finds the document only if it equals its before-image.

    The largest field of a very large document isn't compared. The filter uses ``$eq``, so that the server takes no
    name inside a value for an operator.
    """
    raw = _raw(change.before)
    fields = {name: {"$eq": value} for name, value in bson.decode(raw, _TYPED).items()}
    if len(raw) > _COMPARED:
        fields.pop(max(fields, key=lambda name: len(bson.encode(fields[name]))))
    return {**fields, **filter_of(change.key), "_id": fields["_id"]["$eq"]}


def _document(row: Row | None) -> RawBSONDocument:
    return RawBSONDocument(_raw(row))


def _raw(row: Row | None) -> bytes:
    return cast(bytes, (row or {})["bson"])
