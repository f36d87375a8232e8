"""A file that isn't a database of checkpoints gives a one-line error, and no file appears beside it."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.sqlite import NotCheckpoints, open_file
from tests.savers.sqlite.writer import Writer, folder, ids, opened, read

ODD_NAMES = [
    "what?.sqlite",
    "50%.db",
    "%41.sqlite",
    "a#b",
    "two words.sqlite",
    "中文 🙂.sqlite",
    "file:x",
    "a&mode=rwc",
    "-d",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_file_names(path: Path, name: str) -> None:
    """A file name may have characters that mean something in a URI."""
    odd = path.with_name(name)
    path.rename(odd)
    before = folder(path.parent)
    assert read(odd) == ["1"]
    assert folder(path.parent) == before


def test_file_name_that_is_not_utf8(path: Path) -> None:
    """A file name need not be UTF-8."""
    odd = Path(os.fsdecode(os.fsencode(path) + b"\xff"))
    path.rename(odd)
    assert read(odd) == ["1"]


def test_link(path: Path, writer: Writer, tmp_path: Path) -> None:
    """A link is followed to the file, whose log is beside the file and not beside the link."""
    link = tmp_path / "link.sqlite"
    link.symlink_to(path)
    assert read(link) == ["1", "2"]


def _missing(path: Path) -> Path:
    return path.with_name("missing.sqlite")


def _folder(path: Path) -> Path:
    return path.parent


def _dangling(path: Path) -> Path:
    link = path.with_name("link")
    link.symlink_to(path.with_name("missing"))
    return link


def _empty(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def _text(path: Path) -> Path:
    path.write_text("not a database " * 100)
    return path


def _short(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:50])
    return path


def _pipe(path: Path) -> Path:
    os.mkfifo(path.with_name("pipe"))
    return path.with_name("pipe")


def _torn(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:4096] + b"\x00" * 4096)
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_missing, "No such file"),
        (_dangling, "No such file"),
        (_folder, "is a folder"),
        (_empty, "is empty"),
        (_text, "not an SQLite database"),
        (_short, "not an SQLite database"),
        (_pipe, "not a regular file"),
    ],
)
def test_what_is_not_a_database(path: Path, make: Callable[[Path], Path], message: str) -> None:
    """A path that can't be opened gives an error that says why, and no file appears."""
    odd = make(path)
    before = folder(path.parent)
    with pytest.raises(DatabaseUnreachable, match=message):
        open_file(odd)
    assert folder(path.parent) == before


def test_damaged(path: Path) -> None:
    """A file with missing pages is called damaged when the pages are needed."""
    _torn(path)
    with pytest.raises(DatabaseUnreachable, match="damaged"):
        read(path)


def test_database_without_tables(path: Path) -> None:
    """For a database without tables, the hint says that it has none."""
    with closing(sqlite3.connect(path)) as connection:
        for table in ("checkpoints", "writes"):
            connection.execute(f"DROP TABLE {table}")
    with pytest.raises(NotCheckpoints) as raised:
        open_file(path)
    assert raised.value.hint == "it has no tables"


@pytest.mark.parametrize(("name", "tables"), [("cache", "cache"), ("store", "store, store_migrations")])
def test_other_databases(database: Callable[[str], Path], name: str, tables: str) -> None:
    """A database of another part of LangGraph isn't taken for one of checkpoints; the hint names its tables."""
    with pytest.raises(NotCheckpoints) as raised:
        open_file(database(name))
    assert raised.value.hint == f"its tables: {tables}"


def test_tables_of_the_same_name(tmp_path: Path) -> None:
    """Tables with the names of LangGraph's but other columns are not taken for LangGraph's."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE checkpoints (thread_id, checkpoint, epoch, loss)")
    with pytest.raises(NotCheckpoints, match="holds no LangGraph checkpoints"):
        open_file(path)


def test_other_tables_beside(path: Path) -> None:
    """Other tables in the same file don't matter, and are listed."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE store (prefix, key, value)")
    with opened(path) as saver:
        assert saver.about().facts["other tables"] == "store"
        assert ids(saver) == ["1"]


def test_the_size_includes_the_log(path: Path, writer: Writer) -> None:
    """The size of a database is that of its file and its log."""
    with opened(path) as saver:
        about = saver.about()
    assert about.size == sum((path.parent / name).stat().st_size for name in ("x.sqlite", "x.sqlite-wal"))
    assert about.facts == {"journal mode": "WAL", "page size": "4096", "opened": "a process has it open"}
