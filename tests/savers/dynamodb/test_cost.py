"""The number of requests to DynamoDB grows only with pages, except for writes, which take one for each checkpoint."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient

from ckpt_cli.model import Plan, Ref
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.dynamodb.items import items_of
from tests.savers import paged
from tests.savers.dynamodb.conftest import SAMPLES
from tests.savers.small import opened
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
            stored = [items_of(change.after) for change in saver.expand(Plan("", tuple(records))) if change.after]
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
    """A listing takes as many requests in a large table as in a small one, is consistent and fetches no payloads."""
    requests: list[tuple[str, dict[str, Any]]] = []
    call: Any = BaseClient._make_api_call
    monkeypatch.setattr(
        BaseClient, "_make_api_call", lambda c, op, words: requests.append((op, words)) or call(c, op, words)
    )
    for url in sizes:
        with opened(url) as saver:
            requests.clear()
            assert saver.moment(lambda saver=saver: LOOKS[name][1](saver))
        assert len(requests) == LOOKS[name][0]
        assert all("ConsistentRead': True" in str(words) for _, words in requests)
        for operation, words in requests:
            if operation in ("Query", "Scan", "GetItem") and "WRITES_" not in str(
                words.get("ExpressionAttributeValues")
            ):
                assert "payload" not in words["ExpressionAttributeNames"].values()


def test_writes_of_a_thread(sizes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One request for each checkpoint, and one for some dozens of payloads."""
    requests: Counter[str] = Counter()
    call: Any = BaseClient._make_api_call
    with opened(sizes[1]) as saver:
        monkeypatch.setattr(
            BaseClient, "_make_api_call", lambda c, op, words: requests.update([op]) or call(c, op, words)
        )
        assert len(list(saver.writes("t-1", ""))) == 20
    assert requests == {"Query": 21, "BatchGetItem": 1}


@pytest.fixture(scope="module")
def doubled(dynamo: Dynamo, table: Callable[[], str]) -> list[str]:
    """A table of 26 threads and 26 tips, two pages, and one of twice as many."""
    urls = []
    for threads in (26, 52):
        name = table()
        with opened(dynamo.url(name)) as saver:
            plan = Plan("", tuple(paged.records(SAMPLES, threads)))
            stored = [items_of(change.after) for change in saver.expand(plan) if change.after]
        dynamo.fill(name, (item for one in stored for item in (one.base, one.chunk) if item))
        urls.append(dynamo.url(name))
    return urls


@pytest.fixture
def operations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations of all requests."""
    names: list[str] = []
    call: Any = BaseClient._make_api_call
    monkeypatch.setattr(BaseClient, "_make_api_call", lambda c, op, words: names.append(op) or call(c, op, words))
    return names


@pytest.mark.parametrize("name", paged.COMMANDS)
def test_commands_ask_by_the_page(
    name: str, doubled: list[str], operations: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Payloads are read by the page; each thread and each checkpoint with writes takes a request."""
    costs = []
    for url in doubled:
        paged.cost(paged.COMMANDS[name], url, operations, capsys)
        costs.append(Counter(operations))
    few, many = costs
    assert many.total() <= 2 * few.total()
    assert few["Query"] <= 110
    assert few.total() - few["Query"] <= 16


def test_undo_asks_by_the_page(doubled: list[str], operations: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that an undo restores are read and written by the page."""
    few, many = (paged.cost_of_undo(url, operations, capsys) for url in doubled)
    assert many <= 2 * few <= 40


def test_several_threads(doubled: list[str], operations: list[str]) -> None:
    """Skeletons and writes of many threads together equal those read thread by thread; each takes a query."""
    with opened(doubled[0]) as saver:
        ids = [thread.thread_id for thread in saver.threads()]
        rows = [row for thread_id in ids for row in saver.rows(thread_id)]
        writes = [write for thread_id in ids for write in saver.writes(thread_id)]
        operations.clear()
        assert list(saver.rows_of(ids)) == rows
        assert Counter(operations) == {"Query": len(ids)}
        operations.clear()
        assert list(saver.writes_on([row.ref for row in rows])) == writes
        assert Counter(operations) == {"Query": len(rows), "BatchGetItem": 3}
