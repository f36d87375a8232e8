"""DynamoDB and S3 for tests: what ``CKPT_TEST_DYNAMODB_URL`` names (an endpoint's URL), else moto's server.

Moto is a stand-in: it answers boto3 as the services do, from memory.
"""

import os
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import boto3
import pytest
from botocore.loaders import create_loader  # type: ignore[import-untyped]

from tests.requiring import missing
from tests.servers.processes import ServerProcess, free_port, listens

REGION = "us-east-1"
KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": REGION}
"""Credentials that no account has."""


class Dynamo(NamedTuple):
    """A server.

    Attributes:
        process: None if the tests didn't start it.
    """

    endpoint: str
    process: ServerProcess | None = None

    def client(self, service: str = "dynamodb") -> Any:
        """A new client, to be closed."""
        return boto3.session.Session(**KEYS).client(service, endpoint_url=self.endpoint)

    def url(self, table: str, **words: str) -> str:
        """What ``--db`` gets."""
        more = "".join(f"&{name}={quote(value, safe='')}" for name, value in words.items())
        return f"dynamodb://{table}?region={REGION}&endpoint_url={quote(self.endpoint, safe='')}{more}"

    def fill(self, table: str, items: Iterable[dict[str, Any]]) -> None:
        """Many items: moto copies everything it has for each transaction."""
        client, waiting = self.client(), [{"PutRequest": {"Item": item}} for item in items]
        for start in range(0, len(waiting), 25):
            client.batch_write_item(RequestItems={table: waiting[start : start + 25]})
        client.close()

    def create(self, table: str, **keys: str) -> None:
        """A table as the official saver's documentation makes it."""
        hashed, ranged = keys.get("hashed", "PK"), keys.get("ranged", "SK")
        client = self.client()
        client.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": hashed, "KeyType": "HASH"}, {"AttributeName": ranged, "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in (hashed, ranged)],
        )
        client.close()


@contextmanager
def started(folder: Path) -> Iterator[Dynamo]:
    """A new server."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "tests.servers.moto_server", "-H", "127.0.0.1", "-p", str(port)]
    process = ServerProcess(command, folder / "moto.log")
    process.wait_until(lambda: listens(port))
    try:
        yield Dynamo(f"http://127.0.0.1:{port}", process)
    finally:
        process.kill()  # it holds nothing that is worth waiting for


@pytest.fixture(scope="session")
def dynamo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, aws_surroundings: None
) -> Iterator[Dynamo]:
    """One server for all tests; each takes a table of its own."""
    if url := os.environ.get("CKPT_TEST_DYNAMODB_URL"):
        yield Dynamo(url)
        return
    try:
        import moto  # noqa: F401
    except ModuleNotFoundError:
        missing(request.config, "no DynamoDB: set CKPT_TEST_DYNAMODB_URL, or install moto[server,dynamodb,s3]")
    with started(tmp_path_factory.mktemp("dynamo")) as server:
        yield server


@pytest.fixture(scope="session")
def aws_surroundings() -> Iterator[None]:
    """Credentials that no account has, nothing of the machine's own, and boto's description of the services read once.

    boto reads it anew for each client, which takes most of the time of a short command.
    """
    with pytest.MonkeyPatch.context() as patch:
        loader = create_loader()
        patch.setattr("botocore.session.create_loader", lambda *_: loader)
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ACCESS_KEY_ID", KEYS["aws_access_key_id"])
        patch.setenv("AWS_SECRET_ACCESS_KEY", KEYS["aws_secret_access_key"])
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_CONFIG_FILE", "/nowhere")
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
        yield


@pytest.fixture(scope="module")
def table(dynamo: Dynamo) -> Iterator[Callable[[], str]]:
    """Makes a new table each time, and drops them all in the end."""
    names: list[str] = []

    def make() -> str:
        names.append(f"ckpt-{uuid.uuid4().hex[:12]}")
        dynamo.create(names[-1])
        return names[-1]

    yield make
    client = dynamo.client()
    for name in names:
        client.delete_table(TableName=name)
    client.close()
