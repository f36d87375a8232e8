"""Tables of every generation are detected, read, and changed unless the server computes a column."""

from contextlib import closing

import pytest
from langgraph.checkpoint.mysql.base import MIGRATIONS

from ckpt_cli.conformance import everything
from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Plan, Ref
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.mysql import open_url
from tests.savers.apart import ApartConformance
from tests.servers.mysql import MySQLServer

SAMPLE = ApartConformance()


def migrated(server: MySQLServer, version: int, *statements: str) -> str:
    """A database with the tables of a migration, and after some more statements."""
    name = server.new()
    server.run(*MIGRATIONS[: version + 1], *statements, on=name)
    server.run(f"INSERT INTO checkpoint_migrations VALUES ({version})", on=name)
    return server.url(name)


@pytest.mark.parametrize(
    ("version", "description", "task_paths"),
    [
        (4, "keys with namespace", False),
        (11, "keys with namespace", False),
        (14, "keys without namespace", False),
        (18, "task_path", True),
        (21, "task_path, namespaces by hash", True),
    ],
)
def test_read_and_changed(version: int, description: str, task_paths: bool, mysql: MySQLServer) -> None:
    """Records in the tables of each generation are read as they were written, and removed by undoing the plan."""
    with closing(open_url(migrated(mysql, version))) as saver:
        assert description in saver.about().generation and f"schema {version} " in saver.about().generation
        assert (Ability.TASK_PATHS in saver.abilities) is task_paths
        if Ability.WRITE not in saver.abilities:  # MySQL computes the hash of schema 15 to 18
            return
        records = [SAMPLE.checkpoint("t", "1"), SAMPLE.checkpoint("t", "2", ns="sub:1", payload=SAMPLE.payloads[0])]
        write = SAMPLE.write("t", "1", path="a path" if task_paths else "")
        before = everything(saver)
        plan = Plan("", (*records, write))
        changes = saver.moment(lambda: list(saver.expand(plan)))
        saver.apply(plan)
        threads, checkpoints, writes = everything(saver)
        assert [thread.head for thread in threads] == [Ref("t", "", "1")]
        assert saver.namespaces("t") == ["", "sub:1"]
        assert all(SAMPLE.alike(*pair) for pair in zip(checkpoints, records, strict=True))
        assert writes == [write]
        saver.transaction(lambda: saver.change(change.inverse for change in reversed(changes)))
        assert everything(saver) == before


def test_a_computed_hash_is_not_written(mysql: MySQLServer) -> None:
    """If the server computes the hash of a namespace, the database is read, and a change is refused with the reason."""
    computed = "MODIFY COLUMN checkpoint_ns_hash BINARY(16) AS (UNHEX(MD5(checkpoint_ns))) STORED"
    key = "DROP PRIMARY KEY, ADD PRIMARY KEY (thread_id, checkpoint_id)"
    with closing(open_url(migrated(mysql, 18, f"ALTER TABLE checkpoints {key}, {computed}"))) as saver:
        assert list(saver.threads()) == []
        with pytest.raises(NotSupported, match="computes the hash"):
            saver.apply(Plan("", (SAMPLE.checkpoint("t", "1"),)))
