"""Records as rows, each an item with its payload's item, and changed together only where both are as they were."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from botocore import exceptions as aws  # type: ignore[import-untyped]

from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.model import (
    Checkpoint,
    Name,
    Payload,
    Plan,
    Record,
    Ref,
    Row,
    RowChange,
    Scalar,
    WriteKey,
    in_words,
    name_of,
)
from ckpt_cli.savers.dynamodb.connection import Connection
from ckpt_cli.savers.dynamodb.faults import code
from ckpt_cli.savers.dynamodb.halves import joined
from ckpt_cli.savers.dynamodb.items import (
    CHECKPOINT,
    CHECKPOINTS,
    PENDING,
    Item,
    Stored,
    image,
    keys,
    packed,
    restored,
    task_of,
    text,
)
from ckpt_cli.savers.faults import already_exists, must_not_be_lost, no_longer_exists
from ckpt_cli.savers.paging import pages

_PAGE = 50  # rows, of two items each, in one transaction
_BYTES = 3 << 20  # of payloads in one transaction; the service takes 4 MB
_LARGEST = 390_000  # bytes of a payload that an item has room for
_LAST = 10  # items of a thread that tell how its others are stored


class Manner(NamedTuple):
    """How the items of a thread are stored.

    Attributes:
        lives: seconds after which the service forgets an item; None for ever.
    """

    compressed: bool = False
    lives: int | None = None


class Images:
    """Rows of a table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._born: dict[Name, int] = {}
        self._manners: dict[str, Manner] = {}

    def current(self, name: Name) -> Row | None:
        """An item and its payload as they are now."""
        return self.currents([name])[0]

    def currents(self, names: Sequence[Name]) -> list[Row | None]:
        """Items and their payloads as they are now."""
        found = self._connection.stored(names)
        return [image(found[name]) if name in found else None for name in names]

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """The rows of a plan before and after; removals first.

        A checkpoint goes before its writes and comes after them, so that nobody sees one without what belongs to it.

        Raises:
            NotSupported: a payload is in S3, has no room in an item, or can't be one value with its metadata.
        """
        self._manners.clear()
        for names in pages(sorted(plan.remove, key=lambda name: isinstance(name, WriteKey)), _PAGE):
            for name, before in self._standing(names):
                yield RowChange(*row_key(name), image(before), None)
        for some in pages(plan.replace, _PAGE):
            by_name = {name_of(record): record for record in some}
            for name, before in self._standing([*by_name]):
                yield RowChange(*row_key(name), image(before), image(self._replaced(by_name[name], before)))
        seen: set[Name] = set()
        for some in pages(sorted(plan.add, key=lambda record: isinstance(record, Checkpoint)), _PAGE):
            names = [name_of(record) for record in some]
            standing = {*self._connection.stored(names), *(seen & {*names})}
            if standing or len({*names}) < len(names):
                name = next(iter(standing), names[0])
                raise already_exists(name)
            seen.update(names)
            for name, record in zip(names, some, strict=True):
                yield RowChange(*row_key(name), None, image(self._new(name, record)))

    def try_nothing(self) -> None:
        """Put and delete on the condition that items are there which nobody has."""
        base, chunk = keys(Ref("ckpt: may this user write?", "", "no"))
        there = {"ConditionExpression": "attribute_exists(PK)"}
        try:
            self._connection.write([{"Put": {"Item": base, **there}}, {"Delete": {"Key": chunk, **there}}])
        except aws.ClientError as error:
            if not _unmet(error):
                raise

    def change(self, changes: Iterable[RowChange]) -> None:
        """Make the changes in order, as many together as one transaction takes.

        Raises:
            Refused: a row isn't as its before-image says; those of earlier transactions are changed, no others.
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
            if not (failed := _unmet(error)):
                raise
            adds = any(change.before is None for change in page)
            what = "exists already" if adds else "was changed or removed by somebody else"
            told = f"a row of {page[min(failed[0] // 2, len(page) - 1)].relation} {what}; nothing was written"
            raise Refused(told, hint="run the command again") from error

    def _standing(self, names: Sequence[Name]) -> Iterator[tuple[Name, Stored]]:
        found = self._connection.stored(names)
        for name in names:
            if name not in found:
                raise no_longer_exists(name)
            if found[name].in_s3:
                raise NotSupported(f"the value of {in_words(name)} is in S3; ckpt changes nothing there")
            yield name, found[name]

    def _new(self, name: Name, record: Record) -> Stored:
        ref = name if isinstance(name, Ref) else name.ref
        manner = self._manner(ref.thread_id)
        now = self._born.setdefault(name, int(time.time()))  # a plan that is expanded again is the same plan
        ttl = {} if manner.lives is None else {"ttl": {"N": str(now + manner.lives)}}
        return _stored(name, record, manner.compressed, ttl)

    def _replaced(self, record: Record, before: Stored) -> Stored:
        """The items with the record's attributes and whatever else they had."""
        compressed = bool(text(before.base, "compression"))
        new = _stored(name_of(record), record, compressed, {})
        lost = {"compression", "parent_checkpoint_id", "task_path"} - set(new.base)
        kept = {name: value for name, value in before.base.items() if name not in lost}
        return Stored({**kept, **new.base}, {**(before.chunk or {}), **(new.chunk or {})})

    def _manner(self, thread_id: str) -> Manner:
        """As the last checkpoints of the thread are stored, or those of the one that was written last."""
        if thread_id not in self._manners:
            columns = ("SK", "ttl", "compression")
            last = self._connection.query(
                f"{CHECKPOINT}{thread_id}", columns=columns, ScanIndexForward=False, Limit=_LAST
            )
            self._manners[thread_id] = _manner([*islice(last, _LAST)])
        return self._manners[thread_id]


def record_of(relation: str, key: Row) -> Name:
    """What a row is, by its key; the thread and the namespace stand in it, since ``#`` may be in both."""
    words: Any = key
    ref_id = words["SK"] if relation == CHECKPOINTS else words["PK"]
    ref = Ref(words["thread_id"], words["ns"], ref_id.rpartition("#")[2])
    return ref if relation == CHECKPOINTS else WriteKey(ref, *task_of({"SK": {"S": words["SK"]}}))


def row_key(name: Name) -> tuple[str, Row]:
    """The columns that name a row."""
    ref = name if isinstance(name, Ref) else name.ref
    base, _ = keys(name)
    told: dict[str, Scalar] = {"PK": text(base, "PK"), "SK": text(base, "SK"), "thread_id": ref.thread_id, "ns": ref.ns}
    return (CHECKPOINTS if isinstance(name, Ref) else PENDING), told


def _stored(name: Name, record: Record, compress: bool, ttl: Item) -> Stored:
    """A record as the official saver stores it."""
    base, chunk = keys(name)
    payload = _one(record)
    data, compression = packed(payload.data, compress)
    if len(data) > _LARGEST:
        what = f"{in_words(name)} would take {len(data):,} bytes, and an item of DynamoDB ends at 400 KB"
        raise NotSupported(what, hint="its own saver puts such values into S3; ckpt changes nothing there")
    told = {"type": {"S": payload.tag}, "ref_loc": {"S": "DYNAMODB"}, "ref_key": chunk["PK"]}
    packing = {"compression": {"S": compression}} if compression else {}
    item = {**base, **_told(record), **told, **packing, **ttl}
    return Stored(item, {**chunk, "payload": {"B": data}, **ttl})


def _told(record: Record) -> Item:
    if isinstance(record, Checkpoint):
        parent = {"parent_checkpoint_id": {"S": record.row.parent_id}} if record.row.parent_id else {}
        return {"id": {"S": record.row.checkpoint_id}, "ns": {"S": record.row.ns}, **parent}
    path = {"task_path": {"S": record.task_path}} if record.task_path else {}
    place = {"task_id": {"S": record.task_id}, "channel": {"S": record.channel}, "idx": {"N": str(record.idx)}}
    return {**place, "checkpoint_id": {"S": record.checkpoint_id}, **path}


def _one(record: Record) -> Payload:
    if isinstance(record, Checkpoint):
        if record.channels is not None:
            raise NotSupported("DynamoDB's saver keeps a checkpoint whole, not channel by channel")
        must_not_be_lost(record.body, in_words(record.row.ref))
        return joined(record.body, record.metadata)
    if record.payload is None:
        raise ValueError(f"{in_words(name_of(record))} has no payload")
    must_not_be_lost(record.payload, in_words(name_of(record)))
    return record.payload


def _manner(last: Sequence[Item]) -> Manner:
    for item in last:
        written = _unix(text(item, "SK").rpartition("#")[2])
        until = item.get("ttl", {}).get("N")
        if until is not None and written is not None:
            lives = round(float(until) - written)
            return Manner(any("compression" in one for one in last), max(lives, 1))
    return Manner(any("compression" in one for one in last))


def _unix(checkpoint_id: str) -> float | None:
    """Seconds since 1970 out of a uuid6, None where it is none."""
    digits = checkpoint_id.replace("-", "")
    if len(digits) != 32 or digits[12] != "6":
        return None
    ticks = int(digits[0:12], 16) << 12 | int(digits[13:16], 16)
    return (ticks - 0x01B21DD213814000) / 1e7


def _unmet(error: aws.ClientError) -> list[int]:
    """The places of the actions whose condition didn't hold, if that is why a transaction was cancelled."""
    if code(error) != "TransactionCanceledException":
        return []
    reasons = error.response.get("CancellationReasons", [])
    return [at for at, reason in enumerate(reasons) if reason.get("Code") == "ConditionalCheckFailed"]


def _actions(change: RowChange) -> Iterator[Mapping[str, Any]]:
    """Both items of a row, each on the condition that it is as it was."""
    before = None if change.before is None else restored(change.before)
    after = None if change.after is None else restored(change.after)
    for part in ("base", "chunk"):
        was: Item | None = getattr(before, part, None)
        will: Item | None = getattr(after, part, None)
        condition = _as_it_was(was) if was is not None else _ABSENT if part == "base" else {}
        if will is not None:
            yield {"Put": {"Item": will, **condition}}
        elif was is not None:
            yield {"Delete": {"Key": {"PK": was["PK"], "SK": was["SK"]}, **condition}}


_ABSENT = {"ConditionExpression": "attribute_not_exists(PK)"}


def _as_it_was(item: Item) -> dict[str, Any]:
    named = [name for name in sorted(item) if name not in ("PK", "SK")]
    words = {f"#c{at}": name for at, name in enumerate(named)}
    values = {f":v{at}": item[name] for at, name in enumerate(named)}
    compared = [f"#c{at} = :v{at}" for at in range(len(named))]
    told: dict[str, Any] = {"ConditionExpression": " AND ".join(["attribute_exists(PK)", *compared])}
    return {**told, "ExpressionAttributeNames": words, "ExpressionAttributeValues": values} if named else told


def _payload(row: Row | None) -> bytes:
    found = (row or {}).get("payload")
    return found if isinstance(found, bytes) else b""
