"""What can go wrong with DynamoDB: each error is one line with a hint, nothing is lost, and no secret is shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable, Refused, UsageError
from ckpt_cli.model import Plan, Ref
from ckpt_cli.savers.dynamodb import open_url
from ckpt_cli.savers.dynamodb.address import parse_url
from ckpt_cli.savers.dynamodb.items import items_of
from tests.savers.dynamodb.conftest import SAMPLES
from tests.savers.small import opened, two_steps
from tests.savers.unwritable import refused_before_planning
from tests.servers.dynamodb import Dynamo, started

NOWHERE = "dynamodb://t?region=us-east-1&endpoint_url=http://127.0.0.1:1&connect_timeout=0.3"


def test_parts() -> None:
    """A table has one identity, by its ARN where that may be read; credentials in an endpoint aren't shown."""
    address = parse_url("dynamodb://t?region=eu-west-1&endpoint_url=http://me:s3cr3t@H:8000&profile=p&s3_bucket=b")
    assert address.location == "dynamodb://t?region=eu-west-1&endpoint=h:8000&profile=p&s3_bucket=b"
    assert address.identity("", "eu-west-1") == "dynamodb://h:8000/eu-west-1/t"
    arn = "arn:aws:dynamodb:eu-west-1:1:table/t"
    assert parse_url("dynamodb://t").identity(arn, "eu-west-1") == f"dynamodb://aws/{arn}"


@pytest.mark.parametrize(
    "url",
    [
        "dynamodb://",
        "dynamodb://key:s3cr3t@t",
        "dynamodb://t?regoin=x",
        "dynamodb://t?connect_timeout=x",
        "dynamodb://t?region=x&endpoint_url=nonsense",
    ],
)
def test_invalid_urls(url: str) -> None:
    """A URL without a table, with credentials, or with a misspelt option is a usage error that repeats no secret."""
    with pytest.raises(UsageError) as raised:
        open_url(url)
    assert "s3cr3t" not in raised.value.message + raised.value.hint


def test_nobody_listens(aws_surroundings: None, capsys: pytest.CaptureFixture[str]) -> None:
    """A service that can't be reached is exit 3 with a hint."""
    assert run(["threads", "-d", NOWHERE]) == 3
    stderr = capsys.readouterr().err
    assert "no server answers (connection refused)" in stderr


def test_no_such_table(dynamo: Dynamo, table: Callable[[], str], capsys: pytest.CaptureFixture[str]) -> None:
    """A missing table, and a table that isn't LangGraph's, are exit 3; no table is created."""
    assert run(["threads", "-d", dynamo.url("none")]) == 3
    assert "no such table" in capsys.readouterr().err
    dynamo.create("other-keys", hashed="name", ranged="at")
    assert run(["threads", "-d", dynamo.url("other-keys")]) == 3
    assert "no LangGraph checkpoints" in capsys.readouterr().err
    client = dynamo.client()
    assert "none" not in client.list_tables()["TableNames"]
    client.delete_table(TableName="other-keys")
    client.close()
    assert run(["threads", "-d", dynamo.url(table())]) == 0


def test_no_credentials(dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without credentials, a region or the named profile, the hint says where they come from."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(DatabaseUnreachable, match="no AWS credentials") as raised:
        open_url(dynamo.url("t"))
    assert "?profile=NAME" in raised.value.hint
    with pytest.raises(DatabaseUnreachable, match="no region"):
        open_url("dynamodb://t")
    with pytest.raises(DatabaseUnreachable, match="no such profile"):
        open_url("dynamodb://t?region=us-east-1&profile=nobody")


class Answers:
    """Makes the service refuse; moto has no permissions and accepts every key."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.noes: dict[str, str] = {}
        call: Any = BaseClient._make_api_call

        def ask(client: Any, operation: str, words: Any) -> Any:
            if operation in self.noes:
                raise ClientError({"Error": {"Code": self.noes[operation], "Message": "no\x1b[31m"}}, operation)
            return call(client, operation, words)

        monkeypatch.setattr(BaseClient, "_make_api_call", ask)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(monkeypatch)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("UnrecognizedClientException", "AWS refused the credentials"),
        ("ExpiredTokenException", "AWS refused the credentials"),
        ("ThrottlingException", "capacity is used up"),
        ("SomethingNew", "no"),
    ],
)
def test_the_service_refuses(
    said: str, expected: str, table_url: str, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service's error becomes one line without control characters."""
    answers.noes = {"DescribeTable": said}
    assert run(["threads", "-d", table_url]) == (8 if said == "SomethingNew" else 3)
    err = capsys.readouterr().err
    assert expected in err and "\x1b" not in err


def test_no_permission_to_describe(table_url: str, answers: Answers) -> None:
    """The official saver needs no DescribeTable, so neither does reading."""
    answers.noes = {"DescribeTable": "AccessDeniedException"}
    with opened(table_url) as saver:
        assert saver.count("t") == 2
        assert saver.about().size is None
    answers.noes = {"DescribeTable": "AccessDeniedException", "GetItem": "AccessDeniedException"}
    with pytest.raises(DatabaseUnreachable, match="may not read"):
        open_url(table_url)


def test_no_permission_to_write(table_url: str, answers: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    """Writing is refused with exit 7, nothing is written, and the operation doesn't count as done."""
    with opened(table_url) as saver:
        before = everything(saver)
        answers.noes = {"TransactWriteItems": "AccessDeniedException"}
        refused_before_planning(table_url, "t", "may not write", capsys, shown=False)
        assert everything(saver) == before
    assert run(["undo", "-d", table_url, "--yes"]) == 4


def test_somebody_else_changes_an_item(dynamo: Dynamo, table_url: str) -> None:
    """A change is made only if both items equal the before-image; else the whole transaction is refused."""
    with opened(table_url) as saver:
        plan = Plan("", remove=(Ref("t", "", "2"), Ref("t", "", "1")))
        changes = saver.moment(lambda: list(saver.expand(plan)))
        table = table_url.partition("://")[2].partition("?")[0]
        client = dynamo.client()
        key = {"PK": {"S": "CHUNK_t##1"}, "SK": {"S": "CHUNK"}}
        item = client.get_item(TableName=table, Key=key)["Item"]
        dynamo.fill(table, [{**item, "payload": {"B": item["payload"]["B"].replace(b"1", b"7")}}])
        client.close()
        before = everything(saver)
        with pytest.raises(Refused, match="changed or removed by somebody else"):
            saver.transaction(lambda: saver.change(changes))
        assert everything(saver) == before


def test_a_plan_that_adds_an_item_twice_is_refused_before_anything_is_written(table_url: str) -> None:
    """The two may be so far apart that they would be in different transactions."""
    again = SAMPLES.checkpoint("new", "000")
    records = [SAMPLES.checkpoint("new", f"{number:03}") for number in range(120)]
    with opened(table_url) as saver, pytest.raises(Refused, match="checkpoint 000 of thread 'new' exists already"):
        saver.moment(lambda: list(saver.expand(Plan("", (*records, again)))))


def test_cut_off_between_two_transactions(
    dynamo: Dynamo,
    table: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A change of three transactions that was cut off after the second is taken back by the next change."""
    name = table()
    url = dynamo.url(name)
    with opened(url) as saver:
        plan = Plan("", tuple(SAMPLES.checkpoint("t", f"{n:03}") for n in range(101)))
        stored = [items_of(change.after) for change in saver.expand(plan) if change.after]
        dynamo.fill(name, (item for one in stored for item in (one.base, one.chunk) if item))
        saver.apply(Plan("", tuple(two_steps(SAMPLES, "other"))))

        def kept() -> list[Any]:
            return list(saver.checkpoints([row.ref for thread in ("t", "other") for row in saver.rows(thread)]))

        before = kept()
        call: Any = BaseClient._make_api_call
        operations: list[str] = []

        def ask(client: Any, operation: str, words: Any) -> Any:
            operations.extend([operation] if operation == "TransactWriteItems" else [])
            if len(operations) > 3:  # the first asks whether it may write
                raise KeyboardInterrupt  # as a killed process, it doesn't come to take anything back
            return call(client, operation, words)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BaseClient, "_make_api_call", ask)
            assert run(["delete", "t", "-d", url, "--yes"]) == 130
        assert len(kept()) == len(before) - 100
        assert run(["delete", "other", "-d", url, "--yes"]) == 0, capsys.readouterr().err
        assert run(["undo", "-d", url, "--yes"]) == 0, capsys.readouterr().err
        assert kept() == before


def test_killed_while_it_is_read(tmp_path: Path, aws_surroundings: None, capsys: pytest.CaptureFixture[str]) -> None:
    """A service that dies during a command is exit 3 with a hint."""
    with started(tmp_path) as server:
        server.create("t")
        with opened(server.url("t", connect_timeout="0.5")) as saver:
            saver.apply(Plan("", tuple(two_steps(SAMPLES))))

            def look() -> Any:
                count = saver.count("t")
                assert server.process is not None
                server.process.kill()
                return count, saver.count("t")

            with pytest.raises(DatabaseUnreachable, match=r"no server answers|no answer|was lost"):
                saver.moment(look)
