"""How many requests DynamoDB is sent: they grow with its pages alone, but for writes, which take one a checkpoint."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient

from ckpt_cli.model import Plan, Ref
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.dynamodb.items import restored
from tests.savers.dynamodb.conftest import SAMPLES, opened
from tests.servers.dynamodb import Dynamo


@pytest.fixture(scope="module")
def sizes(dynamo: Dynamo, table: Callable[[], str]) -> list[str]:
    """A table with few records, and one with many times as many."""
    urls = []
    for threads, steps in ((2, 3), (12, 20)):
        name = table()
        records = [
            record
            for thread in range(threads)
            for step in range(steps)
            for record in (SAMPLES.checkpoint(f"t-{thread}", f"{step:03}"), SAMPLES.write(f"t-{thread}", f"{step:03}"))
        ]
        with opened(dynamo.url(name)) as saver:
            stored = [restored(change.after) for change in saver.expand(Plan("", tuple(records))) if change.after]
        dynamo.fill(name, (item for one in stored for item in (one.base, one.chunk) if item))
        urls.append(dynamo.url(name))
    return urls


LOOKS: dict[str, tuple[int, Callable[[Saver], Any]]] = {
    "threads": (1, lambda saver: list(saver.threads())),
    "thread": (1, lambda saver: saver.thread("t-0")),
    "namespaces": (1, lambda saver: saver.namespaces("t-1")),
    "rows": (1, lambda saver: list(saver.rows("t-1"))),
    "newest": (1, lambda saver: saver.newest("t-1", "", 1)),
    "row": (1, lambda saver: saver.row(Ref("t-1", "", "001"))),
    "totals": (1, lambda saver: saver.totals()),
    "metadata": (2, lambda saver: list(saver.metadata([row.ref for row in saver.rows("t-1", "")]))),
    "checkpoint": (1, lambda saver: list(saver.checkpoints([Ref("t-1", "", "001")]))),
    "writes of one": (2, lambda saver: list(saver.writes("t-1", "", ["001"]))),
}


@pytest.mark.parametrize("name", LOOKS)
def test_requests_do_not_grow(name: str, sizes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing is as many requests in a large table as in a small one, consistent, and asks for no payloads."""
    asked: list[tuple[str, dict[str, Any]]] = []
    call: Any = BaseClient._make_api_call
    monkeypatch.setattr(
        BaseClient, "_make_api_call", lambda c, op, words: asked.append((op, words)) or call(c, op, words)
    )
    for url in sizes:
        with opened(url) as saver:
            asked.clear()
            assert saver.moment(lambda saver=saver: LOOKS[name][1](saver))
        assert len(asked) == LOOKS[name][0]
        assert all("ConsistentRead': True" in str(words) for _, words in asked)
        for operation, words in asked:
            if operation in ("Query", "Scan", "GetItem") and "WRITES_" not in str(
                words.get("ExpressionAttributeValues")
            ):
                assert "payload" not in words["ExpressionAttributeNames"].values()


def test_writes_of_a_thread(sizes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One request a checkpoint, and one for some dozens of payloads."""
    asked: Counter[str] = Counter()
    call: Any = BaseClient._make_api_call
    with opened(sizes[1]) as saver:
        monkeypatch.setattr(BaseClient, "_make_api_call", lambda c, op, words: asked.update([op]) or call(c, op, words))
        assert len(list(saver.writes("t-1", ""))) == 20
    assert asked == {"Query": 21, "BatchGetItem": 1}
