"""The connection to a table: reads it page by page and changes it in transactions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import sleep
from typing import Any, TypeVar

from botocore import exceptions as aws  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.session import Session  # type: ignore[import-untyped]

from ckpt_cli.errors import UsageError
from ckpt_cli.model import Name
from ckpt_cli.savers.dynamodb.address import Address
from ckpt_cli.savers.dynamodb.faults import code, is_lost, no_capacity, translate_errors
from ckpt_cli.savers.dynamodb.items import Item, Stored, key, keys, text
from ckpt_cli.savers.faults import no_checkpoints, unless_sent

T = TypeVar("T")

_AT_ONCE = 100  # keys in one BatchGetItem
_WORKERS = 8
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # seconds before items are sent, again if there was no capacity


class Connection:
    """The clients of one table and of its S3 bucket."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._in_moment = self._sent = False
        with translate_errors(address.location):
            self._session = Session(profile=address.profile or None)
            self._client = self._make_client("dynamodb", address.endpoint_url)
            self.region = str(self._client.meta.region_name)
            self.description = self._describe()
        self._s3: Any = None

    def moment(self, look: Callable[[], T], *, writing: bool = False) -> T:
        """Run `look`; unless `writing`, run it again if a connection broke. Each read is consistent by itself."""
        if self._in_moment:
            return look()
        self._in_moment, self._sent = True, False
        location = self.address.location
        try:
            with unless_sent(location, lambda: self._sent), translate_errors(location, writing=writing):
                try:
                    return look()
                except aws.BotoCoreError as error:
                    if writing or not is_lost(error):
                        raise
                    return look()
        finally:
            self._in_moment = False

    def query(self, pk: str, prefix: str = "", *, columns: Sequence[str], **words: Any) -> Iterator[Item]:
        """The items of a partition whose sort key begins with `prefix`, page by page."""
        condition, values = "PK = :pk", {":pk": {"S": pk}}
        if prefix:
            condition, values = f"{condition} AND begins_with(SK, :sk)", {**values, ":sk": {"S": prefix}}
        words |= {"KeyConditionExpression": condition, "ExpressionAttributeValues": values}
        return self._pages(self._client.query, columns, words)

    def scan(self, *prefixes: str, columns: Sequence[str]) -> Iterator[Item]:
        """Every item whose partition key begins with one of `prefixes`; the service reads the whole table for this."""
        conditions = [f"begins_with(PK, :p{at})" for at in range(len(prefixes))]
        values = {f":p{at}": {"S": prefix} for at, prefix in enumerate(prefixes)}
        words = {"FilterExpression": " OR ".join(conditions), "ExpressionAttributeValues": values}
        return self._pages(self._client.scan, columns, words)

    def item(self, primary_key: Item, columns: Sequence[str]) -> Item | None:
        """Some attributes of one item."""
        projection = _projection(columns)
        answer = self._client.get_item(TableName=self.address.table, Key=primary_key, ConsistentRead=True, **projection)
        item: Item | None = answer.get("Item")
        return item

    def stored(self, names: Iterable[Name]) -> dict[Name, Stored]:
        """Those items that exist, with their payloads: two keys for each, and up to 100 keys in a request."""
        pairs = {name: keys(name) for name in names}
        items = self._items([one for pair in pairs.values() for one in pair])
        read = {
            name: (items.get(_primary_key(base)), items.get(_primary_key(chunk)))
            for name, (base, chunk) in pairs.items()
        }
        return {name: self._whole(base, chunk) for name, (base, chunk) in read.items() if base is not None}

    def payloads(self, items: Iterable[Item]) -> list[Stored]:
        """These items with their payloads."""
        bases = [*items]
        with_chunks = [base for base in bases if text(base, "ref_loc") != "S3" and text(base, "ref_key")]
        chunks = self._items([key(text(base, "ref_key"), "CHUNK") for base in with_chunks])
        return [self._whole(base, chunks.get((text(base, "ref_key"), "CHUNK"))) for base in bases]

    def partitions(self, pks: Sequence[str], columns: Sequence[str] = ()) -> list[list[Item]]:
        """All items of some partitions; each partition needs its own request, so several are sent at the same time."""

        def whole(pk: str) -> list[Item]:
            return [*self.query(pk, columns=columns)]

        if len(pks) < 2:
            return [*map(whole, pks)]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_WORKERS) as workers:
            return [*workers.map(whole, pks)]

    def write(self, actions: Sequence[Mapping[str, Any]]) -> None:
        """Make all of the changes, or none of them.

        Raises:
            botocore.exceptions.ClientError: a condition doesn't hold, or the service refuses.
        """
        actions = [{verb: {"TableName": self.address.table, **one}} for named in actions for verb, one in named.items()]
        self._sent = True
        self._client.transact_write_items(TransactItems=actions)

    def put_all(self, items: Sequence[Item]) -> None:
        """Put up to 25 items in one request, each by itself; existing items are replaced.

        Raises:
            DatabaseUnreachable: the table has no capacity for some of them; the others were put.
        """
        table, self._sent = self.address.table, True
        remaining = [{"PutRequest": {"Item": item}} for item in items]
        for pause in _PAUSES:
            sleep(pause)
            answer = self._client.batch_write_item(RequestItems={table: remaining})
            remaining = answer.get("UnprocessedItems", {}).get(table, [])
            if not remaining:
                return
        raise no_capacity(self.address.location)

    def put_new(self, item: Item) -> None:
        """Put an item unless it exists."""
        self._sent = True
        absent = {"ConditionExpression": "attribute_not_exists(PK)"}
        try:
            self._client.put_item(TableName=self.address.table, Item=item, **absent)
        except aws.ClientError as error:
            if code(error) != "ConditionalCheckFailedException":
                raise

    def has(self, id_: str, table: str) -> bool | None:
        """Whether the table with that id still exists under its name; None if the user may not read its description."""
        try:
            description = self._client.describe_table(TableName=table)["Table"]
        except aws.ClientError as error:
            return False if code(error) == "ResourceNotFoundException" else None
        return table_id(description) == id_

    def close(self) -> None:
        """Close the sockets; safe to call twice."""
        for client in (self._client, self._s3):
            if client is not None:
                client.close()

    def _make_client(self, service: str, endpoint_url: str) -> Any:
        config = Config(
            connect_timeout=self.address.timeout,
            read_timeout=60,
            retries={"mode": "standard", "total_max_attempts": 4},
            max_pool_connections=_WORKERS,
        )
        region = self.address.region or None
        try:
            return self._session.create_client(service, region, endpoint_url=endpoint_url or None, config=config)
        except ValueError as error:
            raise UsageError(f"{self.address.location}: endpoint_url isn't a URL", hint="http://host:port") from error

    def _describe(self) -> Mapping[str, Any]:
        """The table's description; empty if the user may not read it.

        Raises:
            DatabaseUnreachable: the table's key attributes aren't those of LangGraph's saver.
        """
        try:
            description: Mapping[str, Any] = self._client.describe_table(TableName=self.address.table)["Table"]
        except aws.ClientError as error:
            if code(error) not in ("AccessDeniedException", "AccessDenied"):
                raise
            self.item(key("CHECKPOINT_", "#"), ("PK",))
            return {}
        key_names = {one["KeyType"]: one["AttributeName"] for one in description["KeySchema"]}
        if key_names != {"HASH": "PK", "RANGE": "SK"}:
            raise no_checkpoints(
                self.address.location, f"LangGraph's table has the keys PK and SK, not {sorted(key_names.values())}"
            )
        return description

    def _pages(self, ask: Callable[..., Any], columns: Sequence[str], words: dict[str, Any]) -> Iterator[Item]:
        words = {"TableName": self.address.table, "ConsistentRead": True, **_projection(columns), **words}
        while True:
            page = ask(**words)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            words["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _items(self, wanted: Sequence[Item]) -> dict[tuple[str, str], Item]:
        items: dict[tuple[str, str], Item] = {}
        waiting = [dict(pair) for pair in {_primary_key(one): one for one in wanted}.values()]
        while waiting:
            some, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
            request = {self.address.table: {"Keys": some, "ConsistentRead": True}}
            page = self._client.batch_get_item(RequestItems=request)
            items |= {_primary_key(item): item for item in page["Responses"].get(self.address.table, [])}
            waiting = page.get("UnprocessedKeys", {}).get(self.address.table, {}).get("Keys", []) + waiting
        return items

    def _whole(self, base: Item, chunk: Item | None) -> Stored:
        if text(base, "ref_loc") != "S3":
            return Stored(base, chunk)
        return Stored(base, None, self._object(text(base, "ref_key")) if self.address.s3_bucket else None)

    def _object(self, name: str) -> bytes | None:
        """An S3 object; None if it doesn't exist."""
        if self._s3 is None:
            self._s3 = self._make_client("s3", self.address.s3_endpoint_url)
        prefix = self.address.s3_prefix.strip("/")
        try:
            answer = self._s3.get_object(Bucket=self.address.s3_bucket, Key=f"{prefix}/{name}" if prefix else name)
        except aws.ClientError as error:
            if code(error) not in ("NoSuchKey", "NoSuchBucket", "404"):
                raise
            return None
        return bytes(answer["Body"].read())


def table_id(description: Mapping[str, Any]) -> str:
    """A table's id, which a new table of the same name doesn't share; the creation time if the server has no ids."""
    has_time = "CreationDateTime" in description
    created = f"{description.get('TableArn', '')}@{description['CreationDateTime']}" if has_time else ""
    return str(description.get("TableId") or created)


def _primary_key(item: Mapping[str, Any]) -> tuple[str, str]:
    return text(item, "PK"), text(item, "SK")


def _projection(columns: Sequence[str]) -> dict[str, Any]:
    """The request's parameters for reading these attributes (all if empty); aliases avoid reserved words."""
    aliases = {f"#c{at}": name for at, name in enumerate(columns)}
    return {"ProjectionExpression": ", ".join(aliases), "ExpressionAttributeNames": aliases} if aliases else {}
