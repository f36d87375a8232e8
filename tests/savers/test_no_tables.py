"""A view, a virtual table or a foreign table with the name of one of LangGraph's tables is refused, and not read."""

import json

import pytest

from ckpt_cli.app import run
from tests.savers.tables import Tables, place

__all__ = ["place"]

Refusal = tuple[dict[str, list[str]], str]

_RENAMED = "ALTER TABLE {table} RENAME TO real_{table}"

IN_PLACE: dict[str, Refusal] = {
    "view": (
        {
            "sqlite": [_RENAMED, "CREATE VIEW {table} AS SELECT *, boom() AS boom FROM real_{table}"],
            "postgres": [_RENAMED, "CREATE VIEW {table} AS SELECT * FROM real_{table} WHERE pg_sleep(60) IS NOT NULL"],
            "mysql": [_RENAMED, "CREATE VIEW {table} AS SELECT * FROM real_{table} WHERE sleep(60) = 0"],
        },
        "a view",
    ),
    "in other letters": ({"sqlite": [_RENAMED, "CREATE VIEW \"{upper}\" AS SELECT * FROM real_{table}"]}, "a view"),
    "virtual table": (
        {"sqlite": ["DROP TABLE {table}", "CREATE VIRTUAL TABLE {table} USING fts5(thread_id, checkpoint)"]},
        "a virtual table",
    ),
    "materialized view": (
        {"postgres": [_RENAMED, "CREATE MATERIALIZED VIEW {table} AS SELECT * FROM real_{table}"]},
        "a materialized view",
    ),
    "foreign table": (
        {
            "postgres": [
                _RENAMED,
                "CREATE EXTENSION IF NOT EXISTS file_fdw",
                "CREATE SERVER IF NOT EXISTS files FOREIGN DATA WRAPPER file_fdw",
                "CREATE FOREIGN TABLE {table} (thread_id text) SERVER files OPTIONS (program 'sleep 60')",
            ]
        },
        "a foreign table",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", IN_PLACE)
@pytest.mark.parametrize("which", ["checkpoints", "writes"])
def test_what_is_no_table_is_refused(place: Tables, kind: str, which: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command names it and says what it is, without a statement that reads it."""
    statements, what = IN_PLACE[kind]
    if place.engine not in statements:
        pytest.skip(f"{place.engine} has none of these")
    table = place.writes if which == "writes" else which
    if kind == "foreign table" and not place.run("SELECT 1 FROM pg_available_extensions WHERE name = 'file_fdw'"):
        pytest.skip("this Postgres has no file_fdw")
    place.run(*(one.format(table=table, upper=table.upper()) for one in statements[place.engine]))
    for words in (["threads"], ["info"], ["delete", "t", "--yes"], ["operations"]):
        capsys.readouterr()
        assert run([*words, "-d", place.url]) == 3
        stderr = capsys.readouterr().err
        assert f"is {what}, not a table; it was not read" in stderr and table in stderr.lower()


def test_a_partitioned_table_is_one(place: Tables, capsys: pytest.CaptureFixture[str]) -> None:
    """Postgres' partitioned tables are read like others."""
    if place.engine != "postgres":
        pytest.skip("Postgres")
    columns = "thread_id, checkpoint_ns, checkpoint_id"
    place.run(
        "ALTER TABLE checkpoints RENAME TO old",
        f"CREATE TABLE checkpoints (LIKE old, PRIMARY KEY ({columns})) PARTITION BY HASH (thread_id)",
        "CREATE TABLE part PARTITION OF checkpoints FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
    )
    assert run(["threads", "-d", place.url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["threads"] == []
