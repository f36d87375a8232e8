"""An application opens, sets up and closes `CkptSaver` as it does LangGraph's own saver of that database."""

import asyncio
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.errors import CkptError, DatabaseUnreachable, MissingExtra, NoCheckpoints, NotSupported
from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.savers.url import open_database
from tests.graphs.building import line, on
from tests.langgraph.places import Where


def empty_url(kind: str, request: pytest.FixtureRequest) -> str:
    """A database without LangGraph's tables; for SQLite, a file that doesn't exist."""
    if kind == "sqlite":
        return str(request.getfixturevalue("tmp_path") / "new folder.sqlite")
    if kind == "mongodb":
        name = request.getfixturevalue("mongo_database")()
        return str(request.getfixturevalue("mongo").database(name))
    if kind == "redis":
        return str(request.getfixturevalue("redis_server").empty())
    server: Any = request.getfixturevalue(kind)
    return str(server.url(server.new()))


MUST_BE_SET_UP = ("postgres", "mysql", "redis")


@pytest.mark.parametrize("kind", ["sqlite", "mongodb", *MUST_BE_SET_UP])
def test_a_new_database(kind: str, request: pytest.FixtureRequest) -> None:
    """Tables are made when the own saver makes them, at opening or by `setup`, and another program finds them."""
    url = empty_url(kind, request)
    with CkptSaver.from_conn_string(url) as saver:
        if kind in MUST_BE_SET_UP:
            for use in (lambda: saver.get_tuple(on("t")), lambda: line(saver, "a").invoke({"log": []}, on("t"))):
                with pytest.raises(NoCheckpoints, match="no LangGraph checkpoints") as caught:
                    use()
                assert "setup()" in caught.value.hint
            with pytest.raises(NoCheckpoints):
                open_database(url, lambda _: None)
        saver.setup()
        assert line(saver, "a").invoke({"log": ["x"]}, on("t"))["log"] == ["x", "a"]
        saver.setup()
    with CkptSaver.from_conn_string(url) as again:
        again.setup()
        assert line(again, "a").get_state(on("t")).values["log"] == ["x", "a"]


@pytest.mark.parametrize("kind", ["sqlite", "mongodb", *MUST_BE_SET_UP])
def test_setup_after_a_clone(kind: str, request: pytest.FixtureRequest) -> None:
    """A graph that was compiled before `setup`, for which LangGraph cloned its saver, finds the tables."""
    strict = JsonPlusSerializer(allowed_msgpack_modules=[])
    with CkptSaver.from_conn_string(empty_url(kind, request), serde=strict) as saver:
        clone = saver.with_allowlist([("somewhere", "Class")])
        assert clone is not saver
        saver.setup()
        assert line(clone, "a").invoke({"log": ["x"]}, on("t"))["log"] == ["x", "a"]
        assert line(saver, "a").get_state(on("t")).values["log"] == ["x", "a"]


def test_another_program_made_the_tables(where: Where) -> None:
    """On a database of the own saver, `setup` changes nothing, also when it is awaited."""
    url = where().url

    async def live() -> Any:
        async with CkptSaver.from_conn_string(url) as saver:
            await saver.setup()
            await line(saver, "a").ainvoke({"log": ["x"]}, on("t"))
            return (await line(saver, "a").aget_state(on("t"))).values["log"]

    assert asyncio.run(live()) == ["x", "a"]


def test_not_stored_at_all() -> None:
    """``:memory:`` is a database of this object alone."""
    with CkptSaver.from_conn_string(":memory:") as saver, CkptSaver.from_conn_string(":memory:") as other:
        saver.setup()
        assert line(saver, "a").invoke({"log": ["x"]}, on("t"))["log"] == ["x", "a"]
        assert saver.get_tuple(on("t")) is not None
        assert other.get_tuple(on("t")) is None
    assert not Path(":memory:").exists()


def test_names_make_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name from the config file, and what could be a module's attribute, are never taken for a file to make."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ckpt").mkdir()
    (tmp_path / "ckpt" / "config.toml").write_text(f'[databases]\nproduction = "{tmp_path}/missing.sqlite"\n')
    for name in ("production", "no_such_module:saver", "postgresql:/host/database"):
        with pytest.raises(CkptError):
            CkptSaver.from_conn_string(name)
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt"]


def test_what_is_refused(tmp_path: Path) -> None:
    """A time to live is refused with a reason before anything is made, and a server that isn't there is an error."""
    path = str(tmp_path / "x.sqlite")
    for make in (CkptSaver.from_conn_string, CkptSaver):
        for ttl in ({"ttl": {"default_ttl": 5}}, {"ttl_seconds": 60}):
            with pytest.raises(NotSupported, match="time to live") as caught:
                make(path, **ttl)  # type: ignore[arg-type]
            assert "own saver" in caught.value.hint
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DatabaseUnreachable):
        CkptSaver.from_conn_string("postgresql://user:secret@127.0.0.1:1/none")


@pytest.mark.parametrize("kind", ["postgres"])
def test_without_the_own_saver(kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the own saver isn't installed, `setup` names its package and shows no password."""
    monkeypatch.setitem(__import__("sys").modules, "langgraph.checkpoint.postgres", None)
    url = empty_url(kind, request)
    with CkptSaver.from_conn_string(url) as saver, pytest.raises(MissingExtra) as caught:
        saver.setup()
    assert caught.value.hint == "pip install langgraph-checkpoint-postgres"


def test_encrypted_from_the_start(tmp_path: Path) -> None:
    """The serializer of an application encrypts in a database that was made for it."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    path = tmp_path / "x.sqlite"
    with CkptSaver.from_conn_string(str(path), serde=serde) as saver:
        line(saver, "a").invoke({"log": ["a secret"]}, on("t"))
    assert b"a secret" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    with CkptSaver.from_conn_string(str(path), serde=serde) as saver:
        assert line(saver, "a").get_state(on("t")).values["log"] == ["a secret", "a"]


def test_two_event_loops(where: Where) -> None:
    """One saver serves several event loops at once: it belongs to none of them."""
    with closing(CkptSaver(where().url)) as saver:
        logs: dict[str, Any] = {}

        async def live(thread_id: str) -> None:
            states = [line(saver, "a").ainvoke({"log": [n]}, on(f"{thread_id}{n}")) for n in range(4)]
            logs[thread_id] = [state["log"] for state in await asyncio.gather(*states)]

        threads = [Thread(target=lambda name=name: asyncio.run(live(name))) for name in "ab"]  # type: ignore[misc]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert logs == {name: [[n, "a"] for n in range(4)] for name in "ab"}
