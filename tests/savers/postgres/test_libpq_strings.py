"""`--db` takes a string or a service of libpq; it is the same database as by its URL, and no password is shown."""

import json
import os
from pathlib import Path

import pytest

from tests.savers.postgres.conftest import Ckpt
from tests.savers.postgres.large import fill
from tests.servers.postgres import PostgresServer

THREAD = "thread-000001"
SECRET = "s3cr3t b1anks'"


@pytest.fixture
def name(postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database, with the service ``prod`` for it, and a folder for the operation log."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    name = postgres.fresh()
    fill(postgres.url(name), 2, 3)
    lines = {"host": postgres.host, "port": postgres.port, "dbname": name, "user": postgres.user}
    lines |= {"password": postgres.password} if postgres.password else {}
    lines |= {"options": "-cstatement_timeout=7s", "application_name": "on-call"}
    services = tmp_path / "services.conf"
    services.write_text("\n".join(["[prod]", *(f"{key}={value}" for key, value in lines.items()), ""]))
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    return name


def test_a_string_and_a_service_name_the_database_of_the_url(ckpt: Ckpt, postgres: PostgresServer, name: str) -> None:
    """They show the same place; what one of them did, the next one lists, and another takes back."""
    secret = f" password='{postgres.password}'" if postgres.password else ""
    words = f"host={postgres.host} port={postgres.port} dbname={name} user = {postgres.user}{secret}"
    urls = (postgres.url(name), words, "service=prod", "postgresql://?service=prod")
    places = set()
    for url in urls:
        code, output = ckpt("info", "-d", url, "--json")
        assert code == 0, output
        described = json.loads(output)
        places.add((described["location"], described["threads"], described["facts"]["user"]))
        assert not postgres.password or postgres.password not in output
    assert places == {(f"postgresql://{postgres.host}:{postgres.port}/{name}", 2, postgres.user)}
    assert ckpt("fork", THREAD, "@^", "-d", "service=prod", "--yes")[0] == 0
    assert len(json.loads(ckpt("operations", "-d", words, "--json")[1])["operations"]) == 1
    assert ckpt("undo", "-d", postgres.url(name), "--yes")[0] == 0


def test_the_variable_of_a_service_counts(
    ckpt: Ckpt, postgres: PostgresServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for every program of libpq; and ckpt leaves the variable as it is."""
    monkeypatch.setenv("PGSERVICE", "prod")
    code, output = ckpt("info", "-d", "postgresql://", "--json")
    assert (code, json.loads(output)["location"]) == (0, f"postgresql://{postgres.host}:{postgres.port}/{name}")
    ckpt("info", "-d", "service=other")
    assert os.environ["PGSERVICE"] == "prod"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("service=other", 3, "libpq has no such service"),
        (f"host=127.0.0.1 port=1 password={SECRET}", 2, "the libpq string can't be read"),
        ("host=127.0.0.1 pasword=s3cr3t-b1anks", 2, "the libpq string can't be read"),
        ("host=127.0.0.1 port=1 password=s3cr3t-b1anks", 3, "no server answers"),
    ],
)
def test_what_is_wrong_is_said_without_the_password(ckpt: Ckpt, name: str, words: str, code: int, said: str) -> None:
    """A service that isn't there, a string that libpq can't read, a server that doesn't answer."""
    got, output = ckpt("threads", "-d", words)
    assert (got, said in output) == (code, True), output
    assert "s3cr3t" not in output and "b1anks" not in output
    assert name not in output


def test_a_file_of_that_name_comes_first(ckpt: Ckpt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is a path is one, whatever it looks like; a string that is none of libpq's is no string of it."""
    monkeypatch.chdir(tmp_path)
    Path("service=prod").write_text("no database")
    code, output = ckpt("threads", "-d", "service=prod")
    assert (code, "service=prod" in output or "not shown" in output, "libpq" in output) == (3, True, False)
    assert ckpt("threads", "-d", "color=red")[0] == 3
