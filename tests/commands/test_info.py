"""``ckpt info`` says what a database is."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.commands.info import info
from ckpt_cli.history.state.era import era
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.session import Session
from ckpt_cli.views.info import InfoView
from tests import golden
from tests.databases import DATABASES, KEYS

Database = Callable[[str], Path]


def look(path: Path) -> InfoView:
    """The view of a database, under a location that is the same everywhere."""
    session = Session(str(path), clock=lambda: golden.NOW)
    try:
        view = info(session)
    finally:
        session.close()
    view.location = path.name
    return view


@pytest.mark.parametrize("name", ["real", "js", "legacy/py-upgraded", "encrypted"])
def test_looks(name: str, database: Database) -> None:
    """A current database, a JavaScript one, one that lived through twelve releases, and a locked one."""
    golden.check(f"info/{name.replace('/', '-')}", look(database(name)))


ERAS = {
    "old/sqlite-v00": "langgraph 0.0 or 0.1",
    "legacy/py-0.0.38": "langgraph 0.0 or 0.1",
    "legacy/py-0.1.19": "langgraph 0.0 or 0.1",
    "legacy/py-0.2.3": "langgraph 0.2.0 to 0.2.28 with langgraph-checkpoint before 1.0.10",
    "legacy/py-0.2.60": "langgraph 0.2.0 to 0.3.22 with langgraph-checkpoint 1.0.10 to 2.0.21",
    "legacy/py-0.3.21": "langgraph 0.3.23, or 0.2.32 to 0.3.22 with langgraph-checkpoint 2.0.22 or later",
    "legacy/py-0.4.10": "langgraph 0.3.24 to 0.4",
    "legacy/py-0.5.4": "langgraph 0.5 or later",
    "legacy/py-1.2.22": "langgraph 0.6 or later",
    "legacy/js-0.0.34": "LangGraph.js up to 0.3",
    "legacy/js-0.2.41": "LangGraph.js up to 0.3",
    "legacy/js-1.4.17": "LangGraph.js 0.4 or later",
}


@pytest.mark.parametrize("name", sorted(set(ERAS) & set(DATABASES)))
def test_the_release_is_named(name: str, database: Database) -> None:
    """Most checkpoints of a database are attributed to the releases that wrote it."""
    assert next(iter(look(database(name)).eras)) == ERAS[name]


def test_the_header_of_other_databases_shows_no_encoding(database: Database) -> None:
    """Postgres stores it as JSON in every release, so that only the format number says something there."""
    with closing(open_file(database("legacy/py-0.2.60"))) as saver:
        reader = Reader(saver, Codec())
        state = reader.state(reader.head("err").ref)
    assert era(state, "json", "D") == "langgraph 0.2.0 to 0.2.28 with langgraph-checkpoint before 1.0.10"
    assert era(state, "json", "F") == "langgraph 0.2.0 to 0.3.22 with langgraph-checkpoint before 2.0.22"


@pytest.mark.parametrize("name", DATABASES)
def test_counts_and_times_stand_for_every_generation(name: str, database: Database) -> None:
    """Every database of the collection is counted, dated and described."""
    view = look(database(name))
    assert view.checkpoints >= view.threads > 0
    assert view.sampled > 0
    assert view.oldest is None or view.newest is None or view.oldest <= view.newest
    assert view.locked + view.corrupt + sum(view.eras.values()) == view.sampled


@pytest.mark.parametrize("name", KEYS)
def test_encryption_is_seen(name: str, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the key, or with a wrong one, `info` says how many can't be read; with the key, that it fits."""
    path = database(name)
    assert (look(path).locked > 0, look(path).key) == (True, "missing")
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "x" * 16)
    assert (look(path).locked > 0, look(path).key) == (True, "wrong")
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS[name].decode())
    assert (look(path).locked, look(path).key) == (0, "fits")
    assert any(tag.endswith("+aes") for tag in look(path).encodings)
