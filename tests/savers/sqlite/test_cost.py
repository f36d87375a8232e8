"""What a listing costs: it reads the key index and the first page of a row, never values, and skips between threads."""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.conformance import everything
from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.model import Checkpoint, Payload, Plan, Ref, Write
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.sqlite import create, open_file, statements
from ckpt_cli.savers.sqlite.schema import Schema, detect

KEYS = {"thread_id", "checkpoint_ns", "checkpoint_id"}
THREAD = "= CAST(? AS TEXT)"


def made(path: Path, records: Iterable[Checkpoint | Write]) -> Path:
    with closing(create(path)) as saver:
        saver.apply(Plan("records", tuple(records)))
    return path


def schema_of(connection: sqlite3.Connection) -> Schema:
    return detect(Path("x"), lambda sql, parameters: iter(connection.execute(sql, parameters)))


def columns_read(connection: sqlite3.Connection, statement: str) -> set[str]:
    """The columns that a statement reads, as SQLite names them to its authorizer."""
    columns: set[str] = set()

    def authorize(action: int, table: str | None, column: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and table in ("checkpoints", "writes") and column:
            columns.add(column)
        return sqlite3.SQLITE_OK

    connection.set_authorizer(authorize)
    connection.execute(f"EXPLAIN {statement}", [""] * statement.count("?")).fetchall()
    connection.set_authorizer(None)
    return columns


def plan(connection: sqlite3.Connection, statement: str) -> list[str]:
    """The lines of EXPLAIN QUERY PLAN that visit a table of the database."""
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", [""] * statement.count("?"))
    return [detail for *_, detail in rows if "checkpoints" in detail or "writes" in detail]


BY_INDEX_ALONE = {
    "threads": statements.THREADS,
    "count threads": statements.COUNT_THREADS,
    "namespaces": statements.NAMESPACES,
    "count": statements.COUNT,
    "numbers": statements.NUMBER_IDS,
    "blobs": statements.BLOB_IDS,
}


@pytest.mark.parametrize("template", BY_INDEX_ALONE.values(), ids=BY_INDEX_ALONE)
def test_listings_read_the_key_index_alone(tmp_path: Path, template: str) -> None:
    """Threads, namespaces and counts search the covering key index; no statement scans, none reads a value."""
    path = made(tmp_path / "x.sqlite", [])
    with closing(sqlite3.connect(path)) as connection:
        statement = schema_of(connection).sql(template, thread=THREAD)
        assert columns_read(connection, statement) <= KEYS
        lines = plan(connection, statement)
        assert lines and all("USING COVERING INDEX sqlite_autoindex_checkpoints_1" in line for line in lines)
        assert all(line.startswith("SEARCH") for line in lines)


ROWS = {
    "rows": statements.ROWS,
    "newest": statements.NEWEST,
    "row": statements.ROW,
    "checkpoint": statements.CHECKPOINT,
    "metadata": statements.METADATA,
    "writes": statements.WRITES,
}


@pytest.mark.parametrize("end", [THREAD, "IS ?"], ids=["text", "odd"])
@pytest.mark.parametrize("template", ROWS.values(), ids=ROWS)
def test_rows_are_searched(tmp_path: Path, template: str, end: str) -> None:
    """Every statement about one thread searches by the key, and nothing is sorted but the writes of one checkpoint."""
    path = made(tmp_path / "x.sqlite", [])
    with closing(sqlite3.connect(path)) as connection:
        names = {"thread": end, "is_ns": end, "is_id": end, "some": f"checkpoint_id {end}"}
        statement = schema_of(connection).sql(template, only="", **names)
        assert all(line.startswith("SEARCH") and "thread_id=?" in line for line in plan(connection, statement))
        sorts = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", [""] * statement.count("?"))]
        sorts = [line for line in sorts if "TEMP B-TREE" in line]
        assert sorts == (["USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"] if template == statements.WRITES else [])


def steps(path: Path) -> int:
    """How many steps (tens of instructions) SQLite's virtual machine needs to list the threads."""
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1

    with closing(sqlite3.connect(path)) as connection:
        statement = schema_of(connection).sql(statements.THREADS)
        connection.set_progress_handler(tick, 10)
        connection.execute(statement).fetchall()
    return count


def test_the_listing_skips_from_thread_to_thread(tmp_path: Path) -> None:
    """The cost of listing threads depends on their number: twenty times the checkpoints take no more steps."""
    few, many = (
        made(tmp_path / f"{n}.sqlite", [checkpoint(f"{t:03}", f"{i:03}") for t in range(100) for i in range(n)])
        for n in (5, 100)
    )
    assert steps(few) > 100
    assert steps(many) <= steps(few) * 1.05


@pytest.fixture
def hollow(tmp_path: Path) -> Path:
    """A database without its long values: every page that held only a part of a value is now zeros."""
    value = Payload("msgpack", b"\xa5" * 40_000)
    records = [r for i in "123" for r in (checkpoint("t", i, body=value), write("t", i, payload=value))]
    path = made(tmp_path / "x.sqlite", [*records, checkpoint("u", "1", body=value)])
    pages = path.read_bytes()
    hollowed = [page if page.count(0xA5) < 4000 else bytes(4096) for page in _split(pages, 4096)]
    assert hollowed.count(bytes(4096)) > 50
    path.write_bytes(b"".join(hollowed))
    return path


def _split(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


LISTINGS: dict[str, Callable[[Saver], object]] = {
    "threads": lambda saver: [t.thread_id for t in saver.threads()] == ["t", "u"],
    "thread": lambda saver: saver.thread("t"),
    "rows": lambda saver: [row.size for row in saver.rows("t")] == [40_000] * 3,
    "newest": lambda saver: [row.checkpoint_id for row in saver.newest("t", "", 2)] == ["3", "2"],
    "row": lambda saver: saver.row(Ref("t", "", "2")),
    "count": lambda saver: saver.count("t") == 3,
    "totals": lambda saver: saver.totals().writes == 3,
    "writes": lambda saver: [w.size for w in saver.writes("t", values=1000)] == [40_000] * 3,
}


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS)
def test_listings_read_no_values(hollow: Path, listing: Callable[[Saver], object]) -> None:
    """A listing is the same on a database whose values can't be read, so it doesn't read them."""
    with closing(open_file(hollow)) as saver:
        assert saver.moment(lambda: listing(saver))


@pytest.mark.parametrize(
    "read",
    [
        everything,
        lambda saver: list(saver.metadata([Ref("t", "", "1")])),
        lambda saver: list(saver.writes("t")),
    ],
    ids=["everything", "metadata", "writes"],
)
def test_reading_values_finds_the_damage(hollow: Path, read: Callable[[Saver], object]) -> None:
    """Reading values, or metadata, which is stored after them, says that such a database is damaged."""
    with closing(open_file(hollow)) as saver, pytest.raises(DatabaseUnreachable, match="damaged"):
        saver.moment(lambda: read(saver))
