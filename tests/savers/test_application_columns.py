"""An application's own columns beside LangGraph's: a change is undone with them, and settled whatever they hold."""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ckpt_cli.app import run
from ckpt_cli.errors import Failed
from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.model import Plan
from ckpt_cli.operations.log_paths import default_path
from tests.cross.travel import counters
from tests.graphs.building import on
from tests.savers.small import opened
from tests.savers.tables import Tables, place, tables

__all__ = ["place"]

Rows = dict[str, list[dict[str, Any]]]


class Altered(NamedTuple):
    """Alterations of tables by an application, before a change and between the change and its undo."""

    before: Callable[[Tables], list[str]] = lambda _: []
    between: Callable[[Tables], list[str]] = lambda _: []


def _add(column: str) -> Callable[[Tables], list[str]]:
    return lambda on: [f"ALTER TABLE {table} ADD COLUMN {column}" for table in ("checkpoints", on.writes)]


def _drop(column: str) -> Callable[[Tables], list[str]]:
    return lambda on: [f"ALTER TABLE {table} DROP COLUMN {column}" for table in ("checkpoints", on.writes)]


def _generated(on: Tables) -> list[str]:
    always = "VARCHAR(200) GENERATED ALWAYS AS (concat(checkpoint_id, '!'))"
    kinds = on.of(
        sqlite=["TEXT GENERATED ALWAYS AS (checkpoint_id || '!') VIRTUAL"],
        postgres=["TEXT GENERATED ALWAYS AS (checkpoint_id || '!') STORED"],
        mysql=[f"{always} VIRTUAL", f"{always} STORED"],
    )
    return [one for at, kind in enumerate(kinds) for one in _add(f"marked_{at} {kind}")(on)]


def _identity(on: Tables) -> list[str]:
    if on.engine == "sqlite":
        return _rebuilt(on, "number INTEGER PRIMARY KEY AUTOINCREMENT, ", key="UNIQUE")
    always = on.of(postgres="GENERATED ALWAYS AS IDENTITY", mysql="AUTO_INCREMENT UNIQUE")
    return _add(f"number INTEGER {always}")(on)


def _rebuilt(on: Tables, column: str = "", key: str = "PRIMARY KEY", blob: str = "BLOB") -> list[str]:
    """SQLite's way of altering a table."""
    ((sql,),) = on.run("SELECT sql FROM sqlite_schema WHERE name = 'checkpoints'")
    columns = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
    changed = sql.replace("(", f"({column}", 1).replace("PRIMARY KEY (", f"{key} (").replace("BLOB", blob)
    return [
        "ALTER TABLE checkpoints RENAME TO old",
        changed,
        f"INSERT INTO checkpoints ({columns}) SELECT {columns} FROM old",
        "DROP TABLE old",
    ]


def _retyped(on: Tables) -> list[str]:
    if on.engine == "sqlite":
        return _rebuilt(on, blob="ANY")
    if on.engine == "mysql":
        return ["ALTER TABLE checkpoint_writes MODIFY idx BIGINT NOT NULL", "ALTER TABLE checkpoints MODIFY type TEXT"]
    return [
        "ALTER TABLE checkpoint_writes ALTER COLUMN idx TYPE bigint, ALTER COLUMN channel TYPE varchar",
        "ALTER TABLE checkpoints ALTER COLUMN metadata TYPE json",
    ]


def _migrated(on: Tables) -> list[str]:
    """LangGraph's own migration, checkpoint-sqlite 3.1.2, -postgres 2.0.13 and -mysql 2.0.9 alike."""
    kind = on.of(mysql="VARCHAR(2000)", default="TEXT")
    return [f"ALTER TABLE {on.writes} ADD COLUMN task_path {kind} NOT NULL DEFAULT ''"]


def _unmigrated(on: Tables) -> list[str]:
    return [f"ALTER TABLE {on.writes} DROP COLUMN task_path"]


ALTERED = {
    "defaulted": Altered(_add("tenant VARCHAR(20) NOT NULL DEFAULT 'acme'")),
    "nullable": Altered(_add("note VARCHAR(20)")),
    "dated": Altered(lambda on: [] if on.engine == "sqlite" else _add("at TIMESTAMP DEFAULT CURRENT_TIMESTAMP")(on)),
    "numbers": Altered(_add("price DECIMAL(10, 2) DEFAULT 1.10")),
    "floats": Altered(_add("ratio FLOAT DEFAULT 0.1")),
    "generated": Altered(_generated),
    "identity": Altered(_identity),
    "added since": Altered(between=_add("tenant VARCHAR(20) NOT NULL DEFAULT 'acme'")),
    "generated since": Altered(between=_generated),
    "dropped since": Altered(_add("tenant VARCHAR(20) DEFAULT 'acme'"), _drop("tenant")),
    "migrated since": Altered(_unmigrated, _migrated),
    "retyped since": Altered(between=_retyped),
}


CHANGES = [["delete", "t"], ["fork", "t", "@~1"], ["fork", "t", "@", "--to", "new"]]


@pytest.fixture(params=ALTERED)
def altered(request: pytest.FixtureRequest) -> Altered:
    """Each of the alterations."""
    return ALTERED[request.param]


def filled(on_: Tables, runs: Iterable[str] = ("",)) -> None:
    """Two threads of a real graph, each of some runs."""
    with CkptSaver(on_.url) as saver:
        for thread_id, run_id in product(("t", "u"), runs):
            counters(saver).invoke({"log": ["x"], "n": 1}, {**on(thread_id), "metadata": {"run_id": run_id}})


def stored(tables: Tables) -> Rows:
    """Every row by its columns."""
    found: Rows = {}
    for table in ("checkpoints", tables.writes, *(["checkpoint_blobs"] if tables.engine != "sqlite" else [])):
        columns = [name for (name,) in tables.run(_COLUMNS[tables.engine].format(table=table))]
        quote = "`" if tables.engine == "mysql" else '"'
        named = ", ".join(f"{quote}{column}{quote}" for column in columns)
        shown = tables.run(f"SELECT {named} FROM {table}")
        found[table] = sorted((dict(zip(columns, row, strict=True)) for row in shown), key=repr)
    return found


_COLUMNS = {
    "sqlite": "SELECT name FROM pragma_table_xinfo('{table}')",
    "postgres": "SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"
    " AND NOT attisdropped",
    "mysql": "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE()"
    " AND table_name = '{table}'",
}


def common(rows: Rows, others: Rows) -> Rows:
    """Rows over the columns that both have."""
    shared = {table: set(rows[table][0]) & set(others[table][0]) for table in rows}
    return {
        table: sorted(({n: v for n, v in row.items() if n in shared[table]} for row in found), key=repr)
        for table, found in rows.items()
    }


def state_of(url: str) -> str:
    """How the last operation ended according to the log."""
    with closing(sqlite3.connect(log_of(url))) as connection:
        return str(connection.execute("SELECT state FROM operations ORDER BY number DESC").fetchone()[0])


def log_of(url: str) -> str:
    """The log's file."""
    with opened(url) as saver:
        return str(default_path(saver.identity))


@pytest.mark.parametrize(
    "words", [["delete", "t"], ["fork", "t", "@~1"], ["fork", "t", "@", "--to", "new"]], ids=" ".join
)
def test_a_change_is_undone_beside_them(place: Tables, altered: Altered, words: list[str]) -> None:
    """Whatever columns exist or are added meanwhile, undo restores every row and keeps an application's own values."""
    place.run("SELECT 1", *altered.before(place))
    filled(place)
    before = stored(place)
    assert run([*words, "-d", place.url, "--yes"]) == 0
    assert stored(place) != before
    place.run("SELECT 1", *altered.between(place))
    assert run(["undo", "-d", place.url, "--yes"]) == 0
    after = stored(place)
    assert common(after, before) == common(before, after)
    assert run(["undo", "2", "-d", place.url, "--yes"]) == 0
    assert run(["undo", "-d", place.url, "--yes"]) == 0
    again = stored(place)
    assert common(again, before) == common(before, again)


def test_settling_knows_what_was_applied(place: Tables, altered: Altered) -> None:
    """An operation whose end isn't in the log is found to be applied, whatever columns exist or were added since."""
    place.run("SELECT 1", *altered.before(place))
    filled(place)
    assert run(["fork", "t", "@~1", "-d", place.url, "--yes"]) == 0
    place.run("SELECT 1", *altered.between(place))
    with closing(sqlite3.connect(log_of(place.url))) as connection:
        connection.execute("UPDATE operations SET state = 'planned'")
        connection.commit()
    assert run(["operations", "--settle", "-d", place.url]) == 0
    assert state_of(place.url) == "done"


def test_an_applications_own_change_stays(place: Tables) -> None:
    """A value that an application wrote to its own column since an edit doesn't stop the undo and isn't lost by it."""
    place.run("SELECT 1", *_add("tenant VARCHAR(20) DEFAULT 'acme'")(place))
    filled(place, ("first", "second"))
    place.run("UPDATE checkpoints SET tenant = 'own'")
    assert run(["delete", "t", "-d", place.url, "--yes"]) == 0
    place.run("UPDATE checkpoints SET tenant = 'later'")
    assert run(["undo", "-d", place.url, "--yes"]) == 0
    assert run(["fork", "u", "@~1", "-d", place.url, "--yes"]) == 0
    place.run("UPDATE checkpoints SET tenant = 'new'  WHERE thread_id = 'u'")
    assert run(["undo", "-d", place.url, "--yes"]) == 0
    found = {tuple(row) for row in place.run("SELECT DISTINCT thread_id, tenant FROM checkpoints")}
    assert found == {("t", "own"), ("u", "new")}
    parents = "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints ORDER BY thread_id, checkpoint_id"
    before = place.run(parents)
    assert run(["delete", "u", "--run", "first", "--reparent", "-d", place.url, "--yes"]) == 0
    place.run("UPDATE checkpoints SET tenant = 'last' WHERE thread_id = 'u'")
    assert run(["undo", "-d", place.url, "--yes"]) == 0
    assert place.run(parents) == before
    found = {tuple(row) for row in place.run("SELECT DISTINCT thread_id, tenant FROM checkpoints")}
    assert found == {("t", "own"), ("u", "new"), ("u", "last")}


def test_a_value_whose_type_was_changed_is_the_same_where_it_reads_the_same(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """SQLite stores a type with each value: the same text in place of a blob doesn't stop an undo, other text does."""
    place = tables("sqlite", request, tmp_path)
    filled(place)
    before = place.run("SELECT checkpoint_id FROM checkpoints")
    assert run(["fork", "t", "@~1", "-d", place.url, "--yes"]) == 0
    place.run("UPDATE checkpoints SET metadata = CAST(metadata AS TEXT) || ' '")
    assert run(["undo", "-d", place.url, "--yes"]) == 7
    place.run("UPDATE checkpoints SET metadata = trim(metadata)")
    assert {kind for (kind,) in place.run("SELECT typeof(metadata) FROM checkpoints")} == {"text"}
    assert run(["undo", "-d", place.url, "--yes"]) == 0
    assert place.run("SELECT checkpoint_id FROM checkpoints") == before


def test_an_image_with_a_missing_column_is_refused(place: Tables) -> None:
    """The refusal names table and column, and no row of the change is written."""
    filled(place)
    with opened(place.url) as saver:
        removing = Plan("", remove=tuple(row.ref for row in saver.rows("t")))
        removed = [row for row in saver.expand(removing) if row.relation == "checkpoints"]
        saver.transaction(lambda: saver.change(removed))
        before = stored(place)
        first, *_, last = (row.inverse for row in removed)
        unknown = last._replace(after={**(last.after or {}), "note": "x"})
        with pytest.raises(Failed, match="table 'checkpoints' has no column 'note'; nothing was written"):
            saver.transaction(lambda: saver.change([first, unknown]))
    assert stored(place) == before
