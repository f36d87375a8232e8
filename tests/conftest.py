"""Every test runs in the same surroundings: its own folders, UTC, no colours or databases from outside."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.databases import unpacked

pytest_plugins: list[str] = [
    "tests.servers.dynamodb",
    "tests.servers.mongodb",
    "tests.servers.postgres",
    "tests.servers.pgbouncer",
    "tests.servers.mysql",
    "tests.servers.redis",
    "tests.servers.valkey",
]

_OUTSIDE = (
    "CKPT_DB",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "PAGER",
    "LESS",
    "LANGGRAPH_AES_KEY",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--require`` is for machines that must have everything."""
    parser.addoption("--require", action="store_true", help="what would be skipped for want of something fails")


@pytest.fixture(autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the machine's own settings reaches a test."""
    for name in _OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for kind in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr("ckpt_cli.masking._known", set())  # a process of ckpt's own opens few databases
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="session")
def packed() -> Callable[[str], bytes]:
    """The bytes of a database of ``tests/data``, unpacked once a session."""
    known: dict[str, bytes] = {}

    def give(name: str) -> bytes:
        if name not in known:
            known[name] = unpacked(name)
        return known[name]

    return give


@pytest.fixture
def database(tmp_path: Path, packed: Callable[[str], bytes]) -> Callable[[str], Path]:
    """Makes a test's own copy of a database of ``tests/data``, by name: ``database("legacy/py-0.2.60")``."""

    def copy(name: str) -> Path:
        path = tmp_path / f"{name.replace('/', '-')}.sqlite"
        path.write_bytes(packed(name))
        return path

    return copy
