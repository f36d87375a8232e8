"""Each error of a Redis or Valkey server is one line with its exit code, and nothing is lost."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable, Failed, Refused
from ckpt_cli.model import Checkpoint, Plan, Ref, RowChange, Write, WriteKey
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Phase
from ckpt_cli.operations.settle import settle
from ckpt_cli.operations.undo import undo
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.images import _PAGE
from tests.savers.redis.kinds import Kind, on_redis, on_valkey
from tests.savers.unwritable import refused_before_planning
from tests.servers.processes import free_port


@pytest.fixture(params=["redis", "valkey"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each kind of database; how keys are found doesn't matter here."""
    if request.param == "valkey":
        return on_valkey(request.getfixturevalue("valkey_server"))
    return on_redis(request.getfixturevalue("redis_server"), index=True)


def records(kind: Kind) -> tuple[Checkpoint | Write, ...]:
    """Two checkpoints, and two writes on the first."""
    make = kind.samples
    checkpoints = make.checkpoint("t", "1"), make.checkpoint("t", "2", parent_id="1")
    return *checkpoints, make.write("t", "1"), make.write("t", "1", "other")


@pytest.fixture
def saver(kind: Kind) -> Iterator[Saver]:
    """A saver of a database with these records."""
    with closing(kind.open_url(kind.filled(records(kind)))) as saver:
        yield saver


def refused(url: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The error for a database that can't be opened."""
    assert run(["threads", "-d", url]) == 3
    stderr = capsys.readouterr().err
    assert "secret" not in stderr
    assert "hint" in stderr
    return stderr.splitlines()[0]


@pytest.mark.parametrize("scheme", ["redis", "valkey"])
def test_nobody_listens(scheme: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A port without a server is reported without the password."""
    message = refused(f"{scheme}://me:secret@127.0.0.1:{free_port()}/0", capsys)
    assert "no server answers (connection refused)" in message


def test_wrong_password(kind: Kind, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong password is reported and not repeated."""
    assert "wrong user or password" in refused(kind.server.url.replace("//", "//nobody:secret@"), capsys)


def test_no_permission_to_write(saver: Saver, kind: Kind, capsys: pytest.CaptureFixture[str]) -> None:
    """A user who may only read, and run no script, reads everything; a change is refused before it is planned."""
    with kind.server.client() as client:
        allowed = ("on", ">secret", "~*", "+@read", "+@connection", "+info", *kind.reads)
        client.execute_command("ACL", "SETUSER", "reader", *allowed)
    url = kind.server.url.replace("//", "//reader:secret@")
    with closing(kind.open_url(url)) as reader:
        assert everything(reader) == everything(saver)
        assert [w.size for w in reader.writes("t", values=0)] == [w.size for w in saver.writes("t", values=0)]
        with pytest.raises(Refused, match="may not write"):
            reader.apply(Plan("", remove=(Ref("t", "", "1"),)))
    refused_before_planning(url, "t", "may not write", capsys, shown=False)


def test_a_replica_takes_no_writes(
    saver: Saver, kind: Kind, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A replica is read; a change is refused before anything is planned."""
    with kind.start(tmp_path, "--replicaof", "127.0.0.1", str(kind.server.port)) as replica:
        with replica.client() as client:
            while client.info()["master_link_status"] != "up":
                threading.Event().wait(0.05)
        with closing(kind.open_url(replica.url)) as other:
            assert everything(other) == everything(saver)
            with pytest.raises(Refused, match="replica"):
                other.apply(Plan("", remove=(Ref("t", "", "1"),)))
        refused_before_planning(replica.url, "t", "it is a replica", capsys)


def test_a_lost_connection_is_made_again(saver: Saver, kind: Kind) -> None:
    """A moment whose connection broke is repeated from its beginning."""
    seen = []

    def look() -> list[str]:
        seen.append("look")
        if len(seen) == 1:
            saver._connection.one("BLPOP", "nothing", "30")  # type: ignore[attr-defined]
        return [row.checkpoint_id for row in saver.rows("t")]

    def kill() -> None:
        with kind.server.client() as client:
            while not client.info("clients")["blocked_clients"]:
                threading.Event().wait(0.01)
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    killer = threading.Thread(target=kill)
    killer.start()
    assert saver.moment(look) == ["1", "2"]
    killer.join()
    assert len(seen) == 2


def test_killed_while_reading(kind: Kind, tmp_path: Path) -> None:
    """A server that dies is reported as unreachable."""
    with kind.start(tmp_path) as server:
        url = kind._replace(server=server).filled(records(kind))
        with closing(kind.open_url(url)) as saver:
            assert server.process is not None
            server.process.kill()
            with pytest.raises(DatabaseUnreachable):
                saver.moment(lambda: list(saver.threads()))


def test_killed_while_writing(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server killed before the transaction arrived has nothing of it; the log finds out, and a retry succeeds."""
    options = ("--appendonly", "yes", "--appendfsync", "always")
    log = OperationLog(tmp_path / "log.sqlite")
    plan = Plan("", (kind.samples.checkpoint("t", "3", parent_id="2"), kind.samples.write("t", "2")), verb="test")
    folder = tmp_path / "data"
    folder.mkdir()
    with kind.start(folder, *options) as server, closing(log):
        url = kind._replace(server=server).filled(records(kind))
        with closing(kind.open_url(url)) as saver:
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
        with kind.start(folder, *options) as again, closing(kind.open_url(again.url)) as saver:
            settle(saver, log)
            assert [o.phase for o in log.operations()] == [Phase.ABANDONED]
            assert everything(saver) == before
            apply(saver, log, plan, at=1)
            assert saver.count("t") == 3


def _dumped(kind: Kind) -> dict[bytes, Any]:
    with kind.server.client() as client:
        return {key: client.dump(key) for key in client.keys("*")}


@pytest.mark.parametrize("at", [0, 1], ids=["the first key", "the second key"])
def test_what_somebody_writes_between_comparing_and_writing_stays(at: int, saver: Saver, kind: Kind) -> None:
    """A key that another client writes after the comparison is kept, and nothing of the change is made."""
    plan = Plan("", tuple(kind.samples.checkpoint("new", f"{number:04}") for number in range(_PAGE)))
    changes = list(saver.moment(lambda: list(saver.expand(plan))))
    theirs = str(changes[at].key["key"])
    assert len(changes) > _PAGE

    def while_somebody_writes() -> Iterator[RowChange]:
        yield from changes[:_PAGE]
        with kind.server.client() as client:
            client.set(theirs, "of another client")
        yield from changes[_PAGE:]

    before = _dumped(kind)
    with pytest.raises(Refused):
        saver.transaction(lambda: saver.change(while_somebody_writes()))
    with kind.server.client() as client:
        assert client.get(theirs) == b"of another client"
        client.delete(theirs)
    assert _dumped(kind) == before


def test_what_somebody_writes_before_a_change_is_taken_back_stays(saver: Saver, kind: Kind) -> None:
    """If part of a transaction fails, its keys are restored, except those that another client wrote."""
    plan = Plan("", (kind.samples.checkpoint("new", "1"), kind.samples.checkpoint("new", "2", parent_id="1")))
    changes = list(saver.moment(lambda: list(saver.expand(plan))))
    theirs = str(changes[0].key["key"])
    before = _dumped(kind)

    def work() -> None:
        saver.change(changes)
        with kind.server.client() as client:
            client.delete(theirs)
            client.set(theirs, "of another client")
        raise Refused("something else")

    with pytest.raises(Refused, match="something else"):
        saver.transaction(work)
    with kind.server.client() as client:
        assert client.get(theirs) == b"of another client"
        client.delete(theirs)
    assert _dumped(kind) == before


def test_undo_restores_the_keys(saver: Saver, kind: Kind, tmp_path: Path) -> None:
    """Every key is restored byte for byte, with its expiry; a new key expires with the checkpoint it was made from."""
    make, expires = kind.samples, 4_000_000_000_123
    plans = (
        Plan("", (make.checkpoint("t", "3", parent_id="2"), make.write("t", "2"))),
        Plan("", (make.checkpoint("t", "3", parent_id="2"), make.write("t", "3"), make.write("t", "1", "third"))),
        Plan("", (), (make.checkpoint("t", "2", payload=kind.body),), (Ref("t", "", "1"),)),
        Plan("", (), (), (Ref("t", "", "2"), WriteKey(Ref("t", "", "1"), "task", 0))),
        Plan("", remove=(*(row.ref for row in saver.rows("t")), *_names(saver))),
    )
    with kind.server.client() as client, closing(OperationLog(tmp_path / "log.sqlite")) as log:

        def keys() -> dict[bytes, Any]:
            return {key: (client.dump(key), client.pexpiretime(key)) for key in client.keys("*")}

        for key in client.keys("checkpoint:*:2"):
            client.pexpireat(key, expires)
        before = keys()
        log.is_trusted = True  # the last plan leaves no row that could prove the log
        for plan in plans:
            apply(saver, log, plan, at=0)
            now = keys()
            assert now != before
            made_of = [(key, when) for key, (_, when) in now.items() if key not in before and b"third" not in key]
            assert all(when == expires for _, when in made_of)
            undo(saver, log, log.operations()[0], at=1, reason="")
            assert keys() == before
        assert len(made_of) == len(now) == 0


def _names(saver: Saver) -> Iterator[WriteKey]:
    for write in saver.writes("t"):
        yield WriteKey(write.ref, write.task_id, write.idx)
