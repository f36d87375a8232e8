"""Reads and changes rows: each row is an item and the item with its payload.

A row is changed only if both items equal the row's before-image.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from botocore import exceptions as aws  # type: ignore[import-untyped]

from ckpt_cli.errors import Refused
from ckpt_cli.model import Name, Ref, Row, RowChange, Scalar, WriteKey
from ckpt_cli.savers.dynamodb.connection import Connection
from ckpt_cli.savers.dynamodb.faults import code
from ckpt_cli.savers.dynamodb.items import CHECKPOINTS, PENDING, Item, image, items_of, keys, task_of, text

_PAGE = 50  # rows in one transaction; each row has two items
_BYTES = 3 << 20  # of payloads in one transaction; the service takes 4 MB


class Images:
    """The rows of a table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def current(self, name: Name) -> Row | None:
        """An item and its payload as they are now."""
        return self.currents([name])[0]

    def currents(self, names: Sequence[Name]) -> list[Row | None]:
        """Items and their payloads as they are now."""
        existing = self._connection.stored(names)
        return [image(existing[name]) if name in existing else None for name in names]

    def try_impossible_write(self) -> None:
        """Try a put and a delete that can't happen: both require an item that never exists."""
        base, chunk = keys(Ref("ckpt: may this user write?", "", "no"))
        must_exist = {"ConditionExpression": "attribute_exists(PK)"}
        try:
            self._connection.write([{"Put": {"Item": base, **must_exist}}, {"Delete": {"Key": chunk, **must_exist}}])
        except aws.ClientError as error:
            if not _failed_conditions(error):
                raise

    def change(self, changes: Iterable[RowChange]) -> None:
        """Make the changes in order, in transactions with as many changes as the service takes.

        Raises:
            Refused: a row doesn't equal its before-image; only the changes of earlier transactions were made.
        """
        page: list[RowChange] = []
        size = 0
        for change in changes:
            weight = sum(len(_payload(row)) for row in (change.before, change.after))
            if page and (len(page) == _PAGE or size + weight > _BYTES):
                self._write(page)
                page, size = [], 0
            page.append(change)
            size += weight
        if page:
            self._write(page)

    def _write(self, page: Sequence[RowChange]) -> None:
        try:
            self._connection.write([action for change in page for action in _actions(change)])
        except aws.ClientError as error:
            if not (failed := _failed_conditions(error)):
                raise
            adds = any(change.before is None for change in page)
            what = "exists already" if adds else "was changed or removed by somebody else"
            message = f"a row of {page[min(failed[0] // 2, len(page) - 1)].relation} {what}; nothing was written"
            raise Refused(message, hint="run the command again") from error


def record_of(relation: str, key: Row) -> Name:
    """The record of a row. The key has thread and namespace as separate columns, because both may contain ``#``."""
    columns: Any = key
    ref_id = columns["SK"] if relation == CHECKPOINTS else columns["PK"]
    ref = Ref(columns["thread_id"], columns["ns"], ref_id.rpartition("#")[2])
    return ref if relation == CHECKPOINTS else WriteKey(ref, *task_of({"SK": {"S": columns["SK"]}}))


def row_key(name: Name) -> tuple[str, Row]:
    """The relation and the key columns of a record's row."""
    ref = name if isinstance(name, Ref) else name.ref
    base, _ = keys(name)
    key: dict[str, Scalar] = {"PK": text(base, "PK"), "SK": text(base, "SK"), "thread_id": ref.thread_id, "ns": ref.ns}
    return (CHECKPOINTS if isinstance(name, Ref) else PENDING), key


def _failed_conditions(error: aws.ClientError) -> list[int]:
    """The indexes of the actions whose condition didn't hold; none if the transaction failed for another reason."""
    if code(error) != "TransactionCanceledException":
        return []
    reasons = error.response.get("CancellationReasons", [])
    return [at for at, reason in enumerate(reasons) if reason.get("Code") == "ConditionalCheckFailed"]


def _actions(change: RowChange) -> Iterator[Mapping[str, Any]]:
    """The actions on both items of a row, each on the condition that the item equals its before-image."""
    before = None if change.before is None else items_of(change.before)
    after = None if change.after is None else items_of(change.after)
    for part in ("base", "chunk"):
        old: Item | None = getattr(before, part, None)
        new: Item | None = getattr(after, part, None)
        condition = _unchanged(old) if old is not None else _ABSENT if part == "base" else {}
        if new is not None:
            yield {"Put": {"Item": new, **condition}}
        elif old is not None:
            yield {"Delete": {"Key": {"PK": old["PK"], "SK": old["SK"]}, **condition}}


_ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}


def _unchanged(item: Item) -> dict[str, Any]:
    attributes = [name for name in sorted(item) if name not in ("PK", "SK")]
    aliases = {f"#c{at}": name for at, name in enumerate(attributes)}
    values = {f":v{at}": item[name] for at, name in enumerate(attributes)}
    compared = [f"#c{at} = :v{at}" for at in range(len(attributes))]
    condition: dict[str, Any] = {"ConditionExpression": " AND ".join(["attribute_exists(PK)", *compared])}
    if not attributes:
        return condition
    return {**condition, "ExpressionAttributeNames": aliases, "ExpressionAttributeValues": values}


def _payload(row: Row | None) -> bytes:
    payload = (row or {}).get("payload")
    return payload if isinstance(payload, bytes) else b""
