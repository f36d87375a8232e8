"""The table: what is found in it, page by page, and changed in it, a transaction at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from botocore import exceptions as aws  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.session import Session  # type: ignore[import-untyped]

from ckpt_cli.errors import UsageError
from ckpt_cli.model import Name
from ckpt_cli.savers.dynamodb.address import Address
from ckpt_cli.savers.dynamodb.faults import code, explained, is_lost
from ckpt_cli.savers.dynamodb.items import Item, Stored, key, keys, text
from ckpt_cli.savers.faults import no_checkpoints, unless_sent

T = TypeVar("T")

_AT_ONCE = 100  # keys in one BatchGetItem
_WORKERS = 8


class Connection:
    """One table, and the bucket beside it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._inside = self._sent = False
        with explained(address.location):
            self._session = Session(profile=address.profile or None)
            self._client = self._made("dynamodb", address.endpoint_url)
            self.region = str(self._client.meta.region_name)
            self.description = self._described()
        self._s3: Any = None

    def moment(self, look: Callable[[], T], *, writing: bool = False) -> T:
        """Run `look`; for reading once more if a connection broke. Reads are consistent each by itself."""
        if self._inside:
            return look()
        self._inside, self._sent = True, False
        location = self.address.location
        try:
            with unless_sent(location, lambda: self._sent), explained(location, writing=writing):
                try:
                    return look()
                except aws.BotoCoreError as error:
                    if writing or not is_lost(error):
                        raise
                    return look()
        finally:
            self._inside = False

    def query(self, pk: str, prefix: str = "", *, columns: Sequence[str], **words: Any) -> Iterator[Item]:
        """The items of a partition, those whose sort key begins with `prefix`, page by page."""
        condition, values = "PK = :pk", {":pk": {"S": pk}}
        if prefix:
            condition, values = f"{condition} AND begins_with(SK, :sk)", {**values, ":sk": {"S": prefix}}
        words |= {"KeyConditionExpression": condition, "ExpressionAttributeValues": values}
        return self._pages(self._client.query, columns, words)

    def scan(self, *prefixes: str, columns: Sequence[str]) -> Iterator[Item]:
        """Every item whose partition key begins so; the service reads all there is for that."""
        some = [f"begins_with(PK, :p{at})" for at in range(len(prefixes))]
        values = {f":p{at}": {"S": prefix} for at, prefix in enumerate(prefixes)}
        words = {"FilterExpression": " OR ".join(some), "ExpressionAttributeValues": values}
        return self._pages(self._client.scan, columns, words)

    def item(self, wanted: Item, columns: Sequence[str]) -> Item | None:
        """Some attributes of one item."""
        shown = _shown(columns)
        found = self._client.get_item(TableName=self.address.table, Key=wanted, ConsistentRead=True, **shown)
        item: Item | None = found.get("Item")
        return item

    def stored(self, names: Iterable[Name]) -> dict[Name, Stored]:
        """Items with their payloads, two keys each, as many in a request as it takes."""
        asked = {name: keys(name) for name in names}
        found = self._items([one for pair in asked.values() for one in pair])
        there = {name: (found.get(_plain(base)), found.get(_plain(chunk))) for name, (base, chunk) in asked.items()}
        return {name: self._whole(base, chunk) for name, (base, chunk) in there.items() if base is not None}

    def payloads(self, items: Iterable[Item]) -> list[Stored]:
        """Items that were found, with their payloads."""
        bases = [*items]
        here = [base for base in bases if text(base, "ref_loc") != "S3" and text(base, "ref_key")]
        found = self._items([key(text(base, "ref_key"), "CHUNK") for base in here])
        return [self._whole(base, found.get((text(base, "ref_key"), "CHUNK"))) for base in bases]

    def partitions(self, pks: Sequence[str], columns: Sequence[str] = ()) -> list[list[Item]]:
        """All items of some partitions: the service answers a request for each, so several are sent at a time."""

        def whole(pk: str) -> list[Item]:
            return [*self.query(pk, columns=columns)]

        if len(pks) < 2:
            return [*map(whole, pks)]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_WORKERS) as workers:
            return [*workers.map(whole, pks)]

    def write(self, actions: Sequence[Mapping[str, Any]]) -> None:
        """Make changes all together or not at all.

        Raises:
            botocore.exceptions.ClientError: a condition doesn't hold, or the service says no.
        """
        actions = [{verb: {"TableName": self.address.table, **one}} for named in actions for verb, one in named.items()]
        self._sent = True
        self._client.transact_write_items(TransactItems=actions)

    def has(self, number: str, table: str) -> bool | None:
        """Whether the table of that id is still there under its name; None where it may not be asked for."""
        try:
            found = self._client.describe_table(TableName=table)["Table"]
        except aws.ClientError as error:
            return False if code(error) == "ResourceNotFoundException" else None
        return table_number(found) == number

    def close(self) -> None:
        """Close the sockets; safe to call twice."""
        for client in (self._client, self._s3):
            if client is not None:
                client.close()

    def _made(self, service: str, endpoint_url: str) -> Any:
        waits = Config(
            connect_timeout=self.address.timeout,
            read_timeout=60,
            retries={"mode": "standard", "total_max_attempts": 4},
            max_pool_connections=_WORKERS,
        )
        region = self.address.region or None
        try:
            return self._session.create_client(service, region, endpoint_url=endpoint_url or None, config=waits)
        except ValueError as error:
            raise UsageError(f"{self.address.location}: endpoint_url isn't one", hint="http://host:port") from error

    def _described(self) -> Mapping[str, Any]:
        """The table's description; nothing where it may not be asked for.

        Raises:
            DatabaseUnreachable: its keys aren't those of LangGraph's saver.
        """
        try:
            told: Mapping[str, Any] = self._client.describe_table(TableName=self.address.table)["Table"]
        except aws.ClientError as error:
            if code(error) not in ("AccessDeniedException", "AccessDenied"):
                raise
            self.item(key("CHECKPOINT_", "#"), ("PK",))
            return {}
        named = {one["KeyType"]: one["AttributeName"] for one in told["KeySchema"]}
        if named != {"HASH": "PK", "RANGE": "SK"}:
            raise no_checkpoints(
                self.address.location, f"LangGraph's table has the keys PK and SK, not {sorted(named.values())}"
            )
        return told

    def _pages(self, ask: Callable[..., Any], columns: Sequence[str], words: dict[str, Any]) -> Iterator[Item]:
        words = {"TableName": self.address.table, "ConsistentRead": True, **_shown(columns), **words}
        while True:
            page = ask(**words)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            words["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _items(self, wanted: Sequence[Item]) -> dict[tuple[str, str], Item]:
        found: dict[tuple[str, str], Item] = {}
        waiting = [dict(pair) for pair in {_plain(one): one for one in wanted}.values()]
        while waiting:
            some, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
            asked = {self.address.table: {"Keys": some, "ConsistentRead": True}}
            page = self._client.batch_get_item(RequestItems=asked)
            found |= {_plain(item): item for item in page["Responses"].get(self.address.table, [])}
            waiting = page.get("UnprocessedKeys", {}).get(self.address.table, {}).get("Keys", []) + waiting
        return found

    def _whole(self, base: Item, chunk: Item | None) -> Stored:
        if text(base, "ref_loc") != "S3":
            return Stored(base, chunk)
        return Stored(base, None, self._object(text(base, "ref_key")) if self.address.s3_bucket else None)

    def _object(self, name: str) -> bytes | None:
        """An S3 object, None where it isn't there."""
        if self._s3 is None:
            self._s3 = self._made("s3", self.address.s3_endpoint_url)
        prefix = self.address.s3_prefix.strip("/")
        try:
            found = self._s3.get_object(Bucket=self.address.s3_bucket, Key=f"{prefix}/{name}" if prefix else name)
        except aws.ClientError as error:
            if code(error) not in ("NoSuchKey", "NoSuchBucket", "404"):
                raise
            return None
        return bytes(found["Body"].read())


def table_number(described: Mapping[str, Any]) -> str:
    """What a table made anew under the same name doesn't share: its id, or when it was made where a server has none."""
    made = f"{described.get('TableArn', '')}@{described['CreationDateTime']}" if "CreationDateTime" in described else ""
    return str(described.get("TableId") or made)


def _plain(item: Mapping[str, Any]) -> tuple[str, str]:
    return text(item, "PK"), text(item, "SK")


def _shown(columns: Sequence[str]) -> dict[str, Any]:
    """A projection, by aliases, since some names are words of the language; everything where none is named."""
    aliases = {f"#c{at}": name for at, name in enumerate(columns)}
    return {"ProjectionExpression": ", ".join(aliases), "ExpressionAttributeNames": aliases} if aliases else {}
