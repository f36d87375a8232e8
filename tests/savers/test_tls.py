"""Servers with TLS are trusted as their URL says; one that isn't trusted is reported."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest
import trustme

from ckpt_cli.app import run
from tests.servers import mysql, postgres, redis
from tests.servers.processes import free_port


class Certificates(NamedTuple):
    """Files that any user may read, the key excepted.

    Attributes:
        trusted: whom to trust.
        stranger: a root that signed nothing here.
    """

    trusted: Path
    stranger: Path
    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def certificates() -> Iterator[Certificates]:
    """A server's certificate for 127.0.0.1, and who signed it."""
    folder = Path(tempfile.mkdtemp(prefix="ckpt-tls-"))
    folder.chmod(0o755)
    ca, certificates = trustme.CA(), Certificates(*(folder / name for name in ("ca", "stranger", "certificate", "key")))
    issued = ca.issue_cert("127.0.0.1")
    ca.cert_pem.write_to_path(certificates.trusted)
    trustme.CA().cert_pem.write_to_path(certificates.stranger)
    issued.cert_chain_pems[0].write_to_path(certificates.certificate)
    issued.private_key_pem.write_to_path(certificates.key)
    certificates.key.chmod(0o600)
    yield certificates
    shutil.rmtree(folder)


class Secured(NamedTuple):
    """A server that speaks TLS.

    Attributes:
        url: of a database with checkpoints in it, which `trusting` and a path complete.
    """

    url: str
    trusting: str

    def trusted(self, by: Path) -> str:
        """The URL that verifies the server by this root."""
        return f"{self.url}{self.trusting}{quote(str(by), safe='')}"


@pytest.fixture
def postgres_server(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[Secured]:
    """Postgres, which reads its key as its own user."""
    server = postgres.own_server(request.config)
    if os.getuid() == 0:
        shutil.chown(certificates.key, postgres.account())
    name = server.loaded("pg-js")
    server.process.stop()
    server.start(ssl="on", ssl_cert_file=str(certificates.certificate), ssl_key_file=str(certificates.key))
    yield Secured(server.url(name), "?sslmode=verify-full&sslrootcert=")
    server.stop()
    if os.getuid() == 0:
        shutil.chown(certificates.key, "root")


@pytest.fixture
def mysql_server(request: pytest.FixtureRequest, certificates: Certificates, tmp_path: Path) -> Iterator[Secured]:
    """MariaDB."""
    server = mysql.own_server(request.config, tmp_path)
    name = server.loaded("mysql")
    server.stop()
    options = [f"--ssl-cert={certificates.certificate}", f"--ssl-key={certificates.key}"]
    server.start("--loose-ssl", *options)
    yield Secured(server.url(name), "?ssl_mode=verify_identity&ssl_ca=")
    server.stop()


def tls_port(certificates: Certificates) -> tuple[int, list[str]]:
    """Redis with a TLS port, where clients need no certificate."""
    files = {"cert-file": certificates.certificate, "key-file": certificates.key, "ca-cert-file": certificates.trusted}
    options = [word for name, path in files.items() for word in (f"--tls-{name}", str(path))]
    port = free_port()
    return port, ["--tls-port", str(port), "--tls-auth-clients", "no", *options]


@pytest.fixture
def redis_server(certificates: Certificates, tmp_path: Path) -> Iterator[Secured]:
    """Redis, with its search index."""
    port, options = tls_port(certificates)
    with redis.started(tmp_path, *options) as server:
        with server.client() as client:
            redis.load(client, "redis")
        yield Secured(f"rediss://127.0.0.1:{port}/0", "?ssl_ca_certs=")


@pytest.fixture(params=["postgres_server", "mysql_server", "redis_server"])
def secured(request: pytest.FixtureRequest) -> Secured:
    """Each kind of server that can be had with TLS; Valkey's wheel is built without, and its connection is Redis'."""
    server: Secured = request.getfixturevalue(request.param)
    return server


def test_whom_to_trust(secured: Secured, certificates: Certificates, capsys: pytest.CaptureFixture[str]) -> None:
    """A server is read and changed if the named root signed its certificate; else, or without a file, that is said."""
    url = secured.trusted(certificates.trusted)
    assert run(["threads", "--limit", "1", "-d", url]) == 0, capsys.readouterr().err
    thread = capsys.readouterr().out.splitlines()[0].split("\t")[0]
    assert run(["delete", thread, "--yes", "-d", url]) == 0, capsys.readouterr().err
    assert run(["undo", "--yes", "-d", url]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert run(["threads", "-d", secured.trusted(certificates.stranger)]) == 3
    stderr = capsys.readouterr().err
    assert "TLS failed" in stderr and "Traceback" not in stderr
    assert run(["threads", "-d", secured.trusted(certificates.key.parent / "nowhere")]) == 3
    stderr = capsys.readouterr().err
    assert "can't use the TLS file" in stderr
    assert "nowhere" in stderr
