"""Every test runs in the same surroundings: its own folders, UTC, no colours or databases from outside."""

import time
from collections.abc import Callable, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import unpacked
from tests.requiring import skipped_line
from tests.servers.processes import ServerProcess
from tests.slow import is_slow

pytest.register_assert_rewrite("ckpt_cli.conformance")

_SERVERS = {
    "boto3": ["tests.servers.dynamodb"],
    "pymongo": ["tests.servers.mongodb"],
    "psycopg": ["tests.servers.postgres", "tests.servers.pgbouncer"],
    "pymysql": ["tests.servers.mysql"],
    "redis": ["tests.servers.redis", "tests.servers.valkey"],
}
"""The fixtures of servers by the driver that they need: without a driver, tests that need no server still run."""

pytest_plugins: list[str] = [
    plugin for driver, plugins in _SERVERS.items() if find_spec(driver) is not None for plugin in plugins
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


settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("steady"), max_examples=25)
settings.load_profile("steady")  # a property that holds must not fail because the machine is busy


def pytest_configure(config: pytest.Config) -> None:
    """The quick part tries fewer examples of a property, unless the property itself says how many."""
    if config.getoption("markexpr") == "not slow":
        settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests: `-m "not slow"` leaves them out."""
    for item in items:
        if is_slow(item):
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that isn't marked as slow can start no server: else `-m "not slow"` would become slow unnoticed."""
    ServerProcess.allowed = item.get_closest_marker("slow") is not None
    return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say at the end what was skipped, and how to have it."""
    if line := skipped_line(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(line, yellow=True)


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
