"""MongoDB URLs: what they name, and that no secret in them is ever shown."""

import pytest

from ckpt_cli.app import run
from ckpt_cli.errors import CkptError, DatabaseUnreachable, UsageError
from ckpt_cli.savers.mongodb.address import parse_url
from ckpt_cli.savers.url import open_database


@pytest.mark.parametrize(
    ("url", "identity", "driver"),
    [
        ("mongodb://h", "mongodb://h:27017/checkpointing_db", "mongodb://h/"),
        ("mongodb://u:p%40@H:1,g/db?w=1&collection=c", "mongodb://g:27017,h:1/db/c,checkpoint_writes", None),
        ("mongodb://h/d?collection=checkpoints_aio", "mongodb://h:27017/d/checkpoints_aio,checkpoint_writes_aio", None),
        ("mongodb+srv://u:p@x.example/d?retryWrites=true", "mongodb://x.example/d", None),
        ("mongodb://h/d?connect_timeout=2&writes_collection=w", "mongodb://h:27017/d/checkpoints,w", "mongodb://h/d"),
    ],
)
def test_parts(url: str, identity: str, driver: str | None) -> None:
    """Every way to name a database has one identity, and our own parameters don't reach the driver."""
    address = parse_url(url)
    address = address if address.collection else address._replace(collection="checkpoints", writes="checkpoint_writes")
    assert address.identity == identity
    assert driver is None or address.url == driver
    assert "p%40" not in address.location + address.identity and "collection=" not in address.url


SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "url",
    [
        f"mongodb://user:{SECRET}@127.0.0.1:1/db?connect_timeout=0.2",
        f"mongodb://user:{SECRET}@127.0.0.1:notaport/db",
        f"mongodb://user:{SECRET}:more@127.0.0.1/db",
        f"mongodb://user:{SECRET}/x@127.0.0.1:1/db",
        f"mongodb://user:{SECRET}?x@127.0.0.1:1/db",
        f"mongodb://user:x@{SECRET}/x@127.0.0.1:1/db",
        f"mongodb://user:{SECRET}@/db",
        f"mongodb://user:{SECRET}@127.0.0.1:1/db?nonsense=1",
        f"mongodb://user:{SECRET}@127.0.0.1:1/db?tls=perhaps",
        f"mongodb://user:{SECRET}@127.0.0.1:1/db?connect_timeout=soon",
    ],
)
def test_passwords_are_never_shown(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No message contains the password, whatever is wrong with the URL or its server."""
    with pytest.raises(CkptError) as raised:
        open_database(url, lambda _: None)
    assert SECRET not in raised.value.message + raised.value.hint
    assert run(["threads", "-d", url]) in (2, 3)
    assert SECRET not in "".join(capsys.readouterr())


def test_nobody_listens() -> None:
    """An unreachable server is reported in one line with a hint."""
    with pytest.raises(DatabaseUnreachable, match=r"^mongodb://127\.0\.0\.1:1/x: no server answers \(conn.*refused\)$"):
        open_database("mongodb://127.0.0.1:1/x?connect_timeout=0.2", lambda _: None)


def test_an_option_nobody_knows() -> None:
    """A misspelt option is reported, not ignored."""
    with pytest.raises(UsageError, match="option"):
        open_database("mongodb://127.0.0.1:1/x?retryWrite=1", lambda _: None)
