"""What goes wrong is told in one line with its exit code, and nothing is lost."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import Failed, Refused
from ckpt_cli.model import Plan, Ref, WriteKey
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog, Phase
from ckpt_cli.operations.settle import settle
from ckpt_cli.operations.undo import undo
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.valkey import open_url
from tests.savers.unwritable import refused_before_planning
from tests.servers.processes import free_port
from tests.servers.redis import Server
from tests.servers.valkey import started

RECORDS = (checkpoint("t", "1"), checkpoint("t", "2", parent_id="1"), write("t", "1"), write("t", "1", "other"))


@pytest.fixture
def saver(valkey_server: Server) -> Iterator[Saver]:
    """A database of two checkpoints and two writes."""
    with closing(open_url(valkey_server.empty())) as saver:
        saver.apply(Plan("", RECORDS))
        yield saver


def refused(url: str, capsys: pytest.CaptureFixture[str], code: int = 3) -> str:
    """What is told of a database that can't be opened."""
    assert run(["threads", "-d", url]) == code
    told = capsys.readouterr().err
    assert "secret" not in told
    return told


def test_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    """A port without a server is told as such, without the password."""
    told = refused(f"valkey://me:secret@127.0.0.1:{free_port()}/0", capsys)
    assert "no server answers (connection refused)" in told


def test_wrong_password(valkey_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A password that the server refuses is told as such, and not repeated."""
    assert "wrong user or password" in refused(valkey_server.url.replace("//", "//nobody:secret@"), capsys)


def test_no_checkpoints(valkey_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody else's keys are no checkpoint database; none at all may be one, as the saver sets nothing up."""
    url = valkey_server.empty()
    assert run(["threads", "-d", url]) == 0
    capsys.readouterr()
    with valkey_server.client() as client:
        client.set("something", "else")
        assert "no LangGraph checkpoints" in refused(url, capsys)
        assert client.keys("*") == [b"something"]
        client.rpush("agentcore:session:s:a:checkpoints", "1")
        assert "AgentCore" in refused(url, capsys, 6)


def test_no_permission_to_write(saver: Saver, valkey_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A user who may only read reads everything; a change is refused before anything is planned."""
    with valkey_server.client() as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+@connection", "+info")
        client.execute_command("ACL", "SETUSER", "reader", "+dbsize", "-@scripting")
    url = valkey_server.url.replace("//", "//reader:secret@")
    assert run(["show", "t", "-d", url]) in (0, 5), capsys.readouterr().err
    with closing(open_url(url)) as reader:
        assert everything(reader) == everything(saver)
        assert [w.size for w in reader.writes("t", values=0)] == [w.size for w in saver.writes("t", values=0)]
        with pytest.raises(Refused, match="may not write"):
            reader.apply(Plan("", remove=(Ref("t", "", "1"),)))
    refused_before_planning(url, "t", "may not write", capsys, told=False)


def test_a_lost_connection_is_made_again(saver: Saver, valkey_server: Server) -> None:
    """A moment whose connection broke is read once more from its beginning."""
    seen = []

    def look() -> list[str]:
        seen.append("look")
        if len(seen) == 1:
            saver._connection.one("BLPOP", "nothing", "30")  # type: ignore[attr-defined]
        return [row.checkpoint_id for row in saver.rows("t")]

    def kill() -> None:
        with valkey_server.client() as client:
            while not client.info("clients")["blocked_clients"]:
                threading.Event().wait(0.01)
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    killer = threading.Thread(target=kill)
    killer.start()
    assert saver.moment(look) == ["1", "2"]
    killer.join()
    assert len(seen) == 2


def test_killed_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server killed before the transaction came through holds nothing of it; the log can tell, and it can be made."""
    options = ("--appendonly", "yes", "--appendfsync", "always")
    log = OperationLog(tmp_path / "log.sqlite")
    plan = Plan("", (checkpoint("t", "3", parent_id="2"), write("t", "2")), verb="test")
    folder = tmp_path / "data"
    folder.mkdir()
    with started(folder, *options) as server, closing(log):
        with closing(open_url(server.url)) as saver:
            saver.apply(Plan("", RECORDS))
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
            assert saver.count("t") == 3


def test_undo_restores_the_keys(saver: Saver, valkey_server: Server, tmp_path: Path) -> None:
    """After undo every key of the server holds what it held, byte for byte and in the same order, and expires then."""
    with valkey_server.client() as client, closing(OperationLog(tmp_path / "log.sqlite")) as log:

        def keys() -> dict[bytes, Any]:
            return {key: (client.dump(key), client.pexpiretime(key)) for key in client.keys("*")}

        client.pexpireat("checkpoint:{t}::2", 4_000_000_000_123)
        before = keys()
        plans = (
            Plan("", (checkpoint("t", "3", parent_id="2"), write("t", "2"))),
            Plan("", (checkpoint("t", "3", parent_id="2"), write("t", "3"), write("t", "1", "third"))),
            Plan("", (), (), (Ref("t", "", "2"), WriteKey(Ref("t", "", "1"), "task", 0))),
        )
        for plan in plans:
            apply(saver, log, plan, at=0)
            assert keys() != before
            for key in (b"checkpoint:{t}::3", b"writes:{t}::2", b"writes:{t}::3"):
                assert key not in keys() or keys()[key][1] == 4_000_000_000_123
            undo(saver, log, log.operations()[0], at=1, reason="")
            assert keys() == before
