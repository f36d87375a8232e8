"""The releases of LangGraph that are asked, and copies of their databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requiring import missing
from tests.twins import older
from tests.twins.library import Library
from tests.twins.twin import Copies, Release


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The installed release."""
    return Library(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="session")
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """The older release in a process of its own."""
    interpreter = older.python()
    if interpreter is None:
        missing(request.config, f"pip can't install {', '.join(older.REQUIREMENTS)}")
    made = older.Older(interpreter, tmp_path_factory.mktemp("old"))
    yield made
    made.close()


@pytest.fixture
def copies(release: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Copies]:
    """Twins of the databases of a release; `release` is a parameter of the test."""
    library: Release = request.getfixturevalue("installed" if release == "installed" else "old")
    yield Copies(library, tmp_path)
    library.call("close", [])
