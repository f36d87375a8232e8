"""What goes wrong is told in one line with its exit code, and nothing is lost."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.redis import RedisSaver

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable, Failed, Refused
from ckpt_cli.model import Payload, Plan, Ref
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog, Phase
from ckpt_cli.operations.settle import settle
from ckpt_cli.operations.undo import undo
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.redis import open_url
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.spelling import spelled
from tests.savers.redis.records import TAG, RedisSamples
from tests.savers.unwritable import refused_before_planning
from tests.servers.processes import free_port
from tests.servers.redis import Server, started

MAKE = RedisSamples()


def indexed(url: str) -> None:
    with RedisSaver.from_conn_string(url) as official:
        official.setup()


@pytest.fixture
def saver(redis_server: Server) -> Iterator[Saver]:
    """A database of two checkpoints and a write."""
    url = redis_server.empty()
    indexed(url)
    with closing(open_url(url)) as saver:
        records = (MAKE.checkpoint("t", "1"), MAKE.checkpoint("t", "2", parent_id="1"), MAKE.write("t", "1"))
        saver.apply(Plan("", records))
        yield saver


def refused(url: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is told of a database that can't be opened."""
    assert run(["threads", "-d", url]) == 3
    told = capsys.readouterr().err
    assert "secret" not in told
    assert "hint" in told
    return told.splitlines()[0]


def test_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    """A port without a server is told as such, without the password."""
    told = refused(f"redis://me:secret@127.0.0.1:{free_port()}/0", capsys)
    assert "no server answers (connection refused)" in told


def test_wrong_password(redis_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A password that the server refuses is told as such, and not repeated."""
    assert "wrong user or password" in refused(redis_server.url.replace("//", "//nobody:secret@"), capsys)


def test_no_checkpoints(redis_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A database without LangGraph's documents is no checkpoint database, and stays as it is."""
    url = redis_server.empty()
    with redis_server.client() as client:
        client.set("something", "else")
        assert "no LangGraph checkpoints" in refused(url, capsys)
        assert client.keys("*") == [b"something"]
        assert client.execute_command("FT._LIST") == []


def test_another_database_is_not_searched(
    saver: Saver, redis_server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """An index answers in every database and loses its documents by it: only in its own is it asked."""
    for words in (["threads"], ["log", "t"], ["info"]):
        assert run([*words, "-d", f"{redis_server.url}/1"]) == 3
    assert "no LangGraph checkpoints" in capsys.readouterr().err
    with redis_server.client() as client:
        found = client.execute_command("FT.AGGREGATE", "checkpoint", "*", "LOAD", "1", "$.thread_id")
    assert found[1:] == [[b"$.thread_id", b"t"]] * 2


def test_unknown_option(redis_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """An option of the URL that nobody knows is a usage error."""
    assert run(["threads", "-d", f"{redis_server.url}/0?prefx=x"]) == 2
    assert "prefx" in capsys.readouterr().err


def test_no_permission_to_write(saver: Saver, redis_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A user who may only read reads everything; a change is refused before anything is planned."""
    with redis_server.client() as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+@connection", "+info")
        client.execute_command(
            "ACL", "SETUSER", "reader", "+json.get", "+ft.info", "+ft.search", "+ft.aggregate", "+ft.cursor"
        )
    url = redis_server.url.replace("//", "//reader:secret@")
    refused_before_planning(url, "t", "may not write", capsys, told=False)


def test_a_replica_takes_no_writes(
    saver: Saver, redis_server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A replica is read; a change is refused before anything is planned."""
    with started(tmp_path, "--replicaof", "127.0.0.1", str(redis_server.port)) as replica:
        with replica.client() as client:
            while client.info()["master_link_status"] != "up":
                threading.Event().wait(0.05)
        with closing(open_url(replica.url)) as other:
            assert everything(other) == everything(saver)
            with pytest.raises(Refused, match="replica"):
                other.apply(Plan("", remove=(Ref("t", "", "1"),)))
        refused_before_planning(replica.url, "t", "it is a replica", capsys)


def test_a_lost_connection_is_made_again(saver: Saver, redis_server: Server) -> None:
    """A moment whose connection broke is read once more from its beginning."""
    seen = []

    def look() -> list[str]:
        seen.append("look")
        if len(seen) == 1:
            saver._connection.one("BLPOP", "nothing", "30")  # type: ignore[attr-defined]
        return [row.checkpoint_id for row in saver.rows("t")]

    def kill() -> None:
        with redis_server.client() as client:
            while not client.info("clients")["blocked_clients"]:
                threading.Event().wait(0.01)
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    killer = threading.Thread(target=kill)
    killer.start()
    assert saver.moment(look) == ["1", "2"]
    killer.join()
    assert len(seen) == 2


def test_killed_while_reading(tmp_path: Path) -> None:
    """A server that dies is told as unreachable."""
    with started(tmp_path) as server:
        indexed(server.url)
        with closing(open_url(server.url)) as saver:
            saver.apply(Plan("", (MAKE.checkpoint("t", "1"),)))
            assert server.process is not None
            server.process.kill()
            with pytest.raises(DatabaseUnreachable):
                saver.moment(lambda: list(saver.threads()))


def test_killed_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server killed before the transaction came through holds nothing of it; the log can tell, and it can be made."""
    options = ("--appendonly", "yes", "--appendfsync", "always")
    log = OperationLog(tmp_path / "log.sqlite")
    plan = Plan("", (MAKE.checkpoint("t", "2", parent_id="1"), MAKE.write("t", "1")), verb="test")
    folder = tmp_path / "data"
    folder.mkdir()
    with started(folder, *options) as server, closing(log):
        indexed(server.url)
        with closing(open_url(server.url)) as saver:
            saver.apply(Plan("", (MAKE.checkpoint("t", "1"),)))
            before = everything(saver)
            original = Connection.pipeline

            def dying(self: Connection, key: str) -> Any:
                pipeline = original(self, key)
                multi = pipeline.multi
                pipeline.multi = lambda: (multi(), server.process and server.process.kill())[0]
                return pipeline

            with monkeypatch.context() as patched:
                patched.setattr(Connection, "pipeline", dying)
                with pytest.raises(Failed, match="lost while writing"):
                    apply(saver, log, plan, at=0)
        assert [o.phase for o in log.operations()] == [Phase.PLANNED]
        with started(folder, *options) as again, closing(open_url(again.url)) as saver:
            settle(saver, log)
            assert [o.phase for o in log.operations()] == [Phase.ABANDONED]
            assert everything(saver) == before
            apply(saver, log, plan, at=1)
            assert saver.count("t") == 2


def test_keys_expire_as_before(saver: Saver, redis_server: Server, tmp_path: Path) -> None:
    """What is changed and undone keeps the time it expires; what is added expires with what it was made of."""
    with redis_server.client() as client, closing(OperationLog(tmp_path / "log.sqlite")) as log:
        key = "checkpoint:t:__empty__:{}"
        client.pexpireat(key.format("2"), 4_000_000_000_123)
        apply(saver, log, Plan("", (MAKE.checkpoint("t", "3", parent_id="2"), MAKE.write("t", "2"))), at=0)
        for made in (key.format("3"), "checkpoint_write:t:__empty__:2:task:0", "write_keys_zset:t:__empty__:2"):
            assert client.pexpiretime(made) == 4_000_000_000_123
        assert client.pexpiretime(key.format("1")) == -1
        everything_of = Plan("", remove=tuple(Ref("t", "", i) for i in "123"))
        apply(saver, log, everything_of, at=1)
        assert client.get("checkpoint_latest:t:__empty__") is None
        undo(saver, log, log.operations()[0], at=2, reason="")
        assert client.pexpiretime(key.format("2")) == 4_000_000_000_123
        assert client.pexpiretime(key.format("1")) == -1


def test_undo_restores_the_keys(saver: Saver, redis_server: Server, tmp_path: Path) -> None:
    """After undo every key of the server holds what it held, the pointer and the sorted sets included."""
    with redis_server.client() as client, closing(OperationLog(tmp_path / "log.sqlite")) as log:

        def keys() -> dict[bytes, Any]:
            return {key: client.dump(key) for key in client.keys("*")}

        before = keys()
        fork = MAKE.checkpoint("t", "3", parent_id="2", payload=Payload("bytes", b"x"))
        changed = MAKE.checkpoint("t", "2", parent_id="1", payload=Payload("bytes", b"y"))
        for plan in (Plan("", (fork, MAKE.write("t", "2"))), Plan("", (), (changed,), (Ref("t", "", "1"),))):
            apply(saver, log, plan, at=0)
            assert keys() != before
            undo(saver, log, log.operations()[0], at=1, reason="")
            assert keys() == before


def test_numbers_are_kept(saver: Saver, redis_server: Server) -> None:
    """Numbers that RedisJSON reads as their neighbours are spelled so that it doesn't."""
    numbers = [939167018948.5865, 23.308445025757262, 5e-324, -0.0, 1e22, 12088.995980580641, 1.7976931348623157e308]
    with redis_server.client() as client:
        client.execute_command("JSON.SET", "numbers", "$", json.dumps(numbers))
        assert json.loads(client.execute_command("JSON.GET", "numbers")) != numbers
        client.execute_command("JSON.SET", "numbers", "$", spelled(json.dumps(numbers)))
        assert json.loads(client.execute_command("JSON.GET", "numbers")) == numbers
        client.delete("numbers")
    body = Payload(TAG, json.dumps({"v": 4, "channel_values": {"n": numbers}}, separators=(",", ":")).encode())
    given = MAKE.checkpoint("n", "1")._replace(body=body)
    saver.apply(Plan("", (given,)))
    (found,) = saver.checkpoints([Ref("n", "", "1")])
    assert json.loads(found.body.data) == json.loads(body.data)
