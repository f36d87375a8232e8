"""DynamoDB: attributes of any type, keys whose parts don't decode, missing items."""

from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError
from hypothesis import strategies as st

from tests.damage.kinds import COUNT, THREADS, Kind, talk
from tests.damage.stored import BLOBS, DOCUMENTS, TEXTS
from tests.savers.dynamodb.test_cross import official
from tests.servers.dynamodb import Dynamo

_VALUES = st.one_of(
    TEXTS.map(lambda text: {"S": text}),
    st.integers(-(10**30), 10**30).map(lambda number: {"N": str(number)}),
    st.sampled_from([{"N": "1.5"}, {"BOOL": True}, {"NULL": True}, {"L": []}, {"L": [{"S": "a"}]}, {"M": {}}]),
    st.sampled_from([{"M": {"a": {"N": "1"}}}, {"SS": ["a"]}, {"NS": ["1"]}, {"BS": [b"\xff"]}, None]),
    st.one_of(BLOBS, DOCUMENTS).map(lambda data: {"B": data}),
)
_NAMES = st.one_of(TEXTS.filter(bool), st.sampled_from(["#", "##", "a#b#c#d", "x", "CHECKPOINT_", "#-1"]))


class OnDynamo(Kind):
    """A table of the official saver."""

    left = (COUNT + 2) // 3  # the stand-in takes seconds for each

    def __init__(self, server: Dynamo, table: str) -> None:
        self.url, self._server, self._table = server.url(table), server, table
        self._client = server.client()
        with official(server, table) as saver:
            talk(saver)
        self.sound = self._items()

    def restore(self) -> None:
        """Put back what differs."""
        now = self._items()
        for key in now.keys() - self.sound.keys():
            self._client.delete_item(TableName=self._table, Key=_key(now[key]))
        for key, item in self.sound.items():
            if now.get(key) != item:
                self._client.put_item(TableName=self._table, Item=item)

    def harm(self, draw: Any) -> str:
        """Change an attribute, drop or rename an item; what the service won't hold doesn't happen."""
        item = self.sound[draw(st.sampled_from(sorted(self.sound)))]
        with suppress(ClientError):
            name = draw(st.sampled_from([*sorted(item), "gone"]))
            changed = {**item, name: draw(_NAMES.map(lambda text: {"S": text}) if name == "SK" else _VALUES)}
            if name == "gone":
                self._client.delete_item(TableName=self._table, Key=_key(item))
            elif name == "PK":
                at = draw(st.integers(0, len(item["PK"]["S"])))
                text = item["PK"]["S"]
                self._renamed(item, {**item, "PK": {"S": text[:at] + draw(_NAMES) + text[at:]}})
            elif name == "SK":
                self._renamed(item, changed)
            else:
                kept = {key: value for key, value in changed.items() if value is not None}
                self._client.put_item(TableName=self._table, Item=kept)
        return next(name for name in THREADS if f"_{name}" in item["PK"]["S"])

    def dump(self) -> Any:
        """Every item."""
        return self._items()

    def _renamed(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        self._client.put_item(TableName=self._table, Item=new)
        self._client.delete_item(TableName=self._table, Key=_key(old))

    def _items(self) -> dict[tuple[str, str], Any]:
        found = self._client.scan(TableName=self._table, ConsistentRead=True)["Items"]
        return {(item["PK"]["S"], item["SK"]["S"]): item for item in found}

    def close(self) -> None:
        """Close the sockets."""
        self._client.close()


def _key(item: dict[str, Any]) -> dict[str, Any]:
    return {"PK": item["PK"], "SK": item["SK"]}
