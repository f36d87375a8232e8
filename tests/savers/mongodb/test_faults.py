"""What can go wrong with MongoDB: no rights, a server killed while it is read or written, transactions cut off.

These need a server that dies on command, so they run on the stand-in of `tests.servers.mongod_stub` alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable, Refused
from ckpt_cli.model import Payload, Plan, Ref
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.savers.mongodb import open_url
from tests.savers.mongodb.conftest import SAMPLES, filled
from tests.savers.small import opened, two_steps
from tests.savers.unwritable import refused_before_planning
from tests.servers.mongodb import Mongo, stand_in
from tests.servers.processes import free_port

NAME = "ckpt_test"
MANY = [record for n in range(30) for record in two_steps(SAMPLES, f"t-{n:02}")]


@contextmanager
def server(folder: Path, *options: str, port: int | None = None) -> Iterator[Mongo]:
    with stand_in(folder, "--keep", str(folder / "kept.bson"), *options, port=port) as started:
        yield started


def dies(mongo: Mongo, after: int, of: str) -> None:
    """The server kills itself in the middle of its work."""
    with MongoClient(mongo.url) as client:
        client.admin.command({"stub": "die", "after": after, "of": of})


def test_wrong_password(mongo: Mongo, capsys: pytest.CaptureFixture[str]) -> None:
    """A refused login is exit 3 with a hint, and the password is not repeated."""
    url = mongo.url.replace("mongodb://", "mongodb://somebody:s3cr3t@")
    assert run(["threads", "-d", f"{url}/x"]) == 3
    stderr = capsys.readouterr().err
    assert "wrong user or password" in stderr and "authSource" in stderr and "s3cr3t" not in stderr


@pytest.mark.parametrize("options", [(), ("--replica-set",)])
def test_a_user_who_may_only_read(options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reading works; writing is refused before anything is logged, and no log file is created."""
    with server(tmp_path) as mongo:
        filled(mongo.url, NAME, *two_steps(SAMPLES))
    with server(tmp_path, "--read-only", *options) as mongo:
        url = mongo.database(NAME)
        refused_before_planning(url, "t", "may not write it ('reader' lacks the role readWrite)", capsys)
        assert run(["undo", "-d", url, "--yes"]) == 4
        with opened(url) as saver, pytest.raises(Refused, match="may not write"):
            saver.apply(Plan("", (SAMPLES.checkpoint("t", "3"),)))
        assert not default_path(saver.identity).parent.exists()


def test_killed_while_it_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that dies between two pages is exit 3 with a hint, and nothing waits for ever."""
    with server(tmp_path) as mongo:
        filled(mongo.url, NAME, *MANY)
        dies(mongo, 5, "reads")
        assert run(["threads", "-d", mongo.database(NAME) + "?connect_timeout=0.5"]) == 3
    stderr = capsys.readouterr().err
    assert "no server answers" in stderr or "the connection was lost" in stderr
    assert "Traceback" not in stderr


def test_a_lost_connection_is_taken_up_again(tmp_path: Path) -> None:
    """If a server dies during a read and restarts, the read is repeated from its beginning."""
    port = free_port()
    looked: list[int] = []
    with server(tmp_path, port=port) as first:
        filled(first.url, NAME, *two_steps(SAMPLES))
        with opened(first.database(NAME)) as saver:

            def look() -> int:
                looked.append(saver.count("t"))
                if len(looked) == 1:
                    assert first.process is not None
                    first.process.kill()
                    started.append(server(tmp_path, port=port))
                    started[0].__enter__()
                return len(list(saver.rows("t")))

            started: list[Any] = []
            with MongoClient(first.url) as client:
                client.admin.command("ping")
            try:
                assert saver.moment(look) == 2
            finally:
                started[0].__exit__(None, None, None)
    assert looked in ([2], [2, 2])


@pytest.mark.parametrize("after", [1, 2, 3, 4])
def test_killed_while_it_is_written(after: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a change stops, the next one finds the database as before it, or with all of it."""
    with server(tmp_path) as mongo:
        filled(mongo.url, NAME, *two_steps(SAMPLES), *two_steps(SAMPLES, "other"))
        with opened(mongo.database(NAME)) as saver:
            before = everything(saver)
        dies(mongo, after, "writes")
        port = int(mongo.url.rpartition(":")[2])
        assert run(["delete", "t", "--yes", "-d", mongo.database(NAME) + "?connect_timeout=0.5"]) == 8
    with server(tmp_path, port=port) as mongo:
        url = mongo.database(NAME)
        assert run(["delete", "other", "--yes", "-d", url]) == 0, capsys.readouterr().err
        assert run(["undo", "--yes", "--same-database", "-d", url]) == 0, capsys.readouterr().err
        with opened(url) as saver:
            found = everything(saver)
        gone = tuple([one for one in part if "other" in str(one)] for part in before)
        assert found == (gone if after == 4 else before)
        if after == 4:
            capsys.readouterr()
            assert run(["undo", "1", "--yes", "-d", url]) == 0, capsys.readouterr().err
            with opened(url) as saver:
                assert everything(saver) == before


def test_somebody_else_changes_a_document(database_url: str) -> None:
    """A change is made only if the document equals its before-image; else the changes made before it are taken back."""
    with opened(database_url) as saver, MongoClient(database_url) as client:
        plan = Plan("", remove=(Ref("t", "", "2"), Ref("t", "", "1")))
        changes = saver.moment(lambda: list(saver.expand(plan)))
        documents = client.get_default_database()["checkpoints"]
        documents.update_one({"checkpoint_id": "1"}, {"$set": {"parent_checkpoint_id": "0"}})
        before = everything(saver)
        with pytest.raises(Refused, match="changed or removed by somebody else"):
            saver.transaction(lambda: saver.change(changes))
        saver.transaction(lambda: saver.take_back(changes))
        assert everything(saver) == before


def test_a_snapshot_is_of_one_moment(tmp_path: Path) -> None:
    """On a replica set a moment doesn't see what an application writes meanwhile."""
    with server(tmp_path, "--replica-set") as mongo:
        filled(mongo.url, NAME, *two_steps(SAMPLES))
        with opened(mongo.database(NAME)) as saver, opened(mongo.database(NAME)) as other:

            def look() -> tuple[int, int]:
                first = saver.count("t")
                other.apply(Plan("", (SAMPLES.checkpoint("t", "3"),)))
                return first, saver.count("t")

            assert saver.moment(look) == (2, 2)
            assert saver.count("t") == 3


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """On a replica set the server takes back the changes made before the error."""
    with server(tmp_path, "--replica-set") as mongo:
        filled(mongo.url, NAME, *two_steps(SAMPLES))
        with opened(mongo.database(NAME)) as saver:
            before = everything(saver)
            added = saver.moment(lambda: list(saver.expand(Plan("", (SAMPLES.checkpoint("t", "3"),)))))

            def work() -> None:
                saver.change(added)
                raise ArithmeticError

            with pytest.raises(ArithmeticError):
                saver.transaction(work)
            assert everything(saver) == before


def test_a_document_that_is_too_large_for_a_statement(database_url: str) -> None:
    """The largest documents that MongoDB takes are changed and taken back too."""
    with opened(database_url) as saver:
        large = SAMPLES.checkpoint("t", "3", payload=Payload("bytes", b"x" * (16_000_000)))
        saver.apply(Plan("", (large,)))
        with_it = everything(saver)
        saver.apply(Plan("", remove=(Ref("t", "", "3"),)))
        assert len(everything(saver)[1]) == len(with_it[1]) - 1


def test_a_server_that_stops_between_two_commands(tmp_path: Path) -> None:
    """Opening a server that has just stopped reports that."""
    with server(tmp_path) as mongo:
        url = mongo.database(NAME)
    with pytest.raises(DatabaseUnreachable, match="no server answers"):
        open_url(f"{url}?connect_timeout=0.3")
