"""What the user types after ``--db`` opens its database, or gives a clear error."""

import bz2
import gzip
import lzma
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.errors import CkptError, DatabaseUnreachable, MissingExtra, UsageError
from ckpt_cli.installing import install
from ckpt_cli.model import Plan
from ckpt_cli.savers import registry
from ckpt_cli.savers.sqlite import create
from ckpt_cli.savers.url import names, open_database, sqlite_file
from tests.savers.sqlite.writer import folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes the config file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "ckpt").mkdir(parents=True)
    return lambda text: (tmp_path / "config" / "ckpt" / "config.toml").write_text(text) and None


def made(path: str | Path) -> Path:
    """A database whose only thread has the database's name."""
    with closing(create(Path(path))) as saver:
        saver.apply(Plan("given", (checkpoint(Path(path).name, "1"),)))
    return Path(path)


def found(database: str | None) -> str:
    """The name of the database that opens."""
    with closing(open_database(database, lambda _: None)) as saver:
        return saver.moment(lambda: next(saver.threads()).thread_id)


def refusal(database: str | None) -> CkptError:
    with pytest.raises(CkptError) as raised:
        open_database(database, lambda _: None)
    return raised.value


def test_path(here: Path) -> None:
    """A path, relative or absolute, is a file."""
    made("x.sqlite")
    assert found("x.sqlite") == found(str(here / "x.sqlite")) == "x.sqlite"


def test_sqlite_url(here: Path) -> None:
    """``sqlite:///`` takes a relative path, an absolute one with four slashes or three, a driver's name and ``%20``."""
    made("a b%.sqlite")
    urls = ["sqlite:///a b%.sqlite", f"sqlite:///{here}/a b%.sqlite", f"sqlite://{here}/a b%.sqlite"]
    urls += ["sqlite+aiosqlite:///a b%.sqlite", "SQLite:///a%20b%25.sqlite"]
    assert {found(url) for url in urls} == {"a b%.sqlite"}


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite://x.sqlite"])
def test_sqlite_url_without_a_path(url: str) -> None:
    """A URL without a path is a usage error."""
    assert isinstance(refusal(url), UsageError)


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("sqlite:x.sqlite", "type the path x.sqlite alone, or sqlite:///x.sqlite"),
        ("sqlite:/tmp/x.sqlite", "sqlite:////tmp/x.sqlite"),
        ("postgresql:user:hush@host/x", "postgresql://"),
        ("redis:6379", "redis://"),
    ],
)
def test_a_url_without_its_slashes(typed: str, hint: str) -> None:
    """The error shows the right form without a password; the text isn't taken for a module's attribute."""
    error = refusal(typed)
    assert isinstance(error, UsageError)
    assert hint in (error.hint or "")
    assert "hush" not in f"{error.message} {error.hint}"


def test_a_module_may_be_called_as_a_kind_of_database(here: Path) -> None:
    """A module of the user's may be named like a scheme."""
    (here / "dynamodb.py").write_text("raise ValueError('mine')\n")
    assert "mine" in refusal("dynamodb:saver").message


@pytest.mark.parametrize(("kind", "pack"), [("gzip", gzip.compress), ("xz", lzma.compress), ("bzip2", bz2.compress)])
def test_a_packed_file(kind: str, pack: Callable[[bytes], bytes], here: Path) -> None:
    """A compressed file is recognized by its compression, also if it is short."""
    packed = here / "x.sqlite.packed"
    packed.write_bytes(pack(made("x.sqlite").read_bytes()))
    assert f"is packed with {kind}" in refusal(str(packed)).message
    packed.write_bytes(pack(b""))
    assert f"is packed with {kind}" in refusal(str(packed)).message


def test_sqlite_url_that_leads_nowhere(here: Path) -> None:
    """The URL of a missing file creates none."""
    assert isinstance(refusal("sqlite:///nope.sqlite"), DatabaseUnreachable)
    assert folder(here) == {}


def test_unknown_kind() -> None:
    """An unknown scheme is a usage error with the list of known ones."""
    error = refusal("oracle://u:secret@h")
    assert isinstance(error, UsageError)
    assert "postgresql" in error.hint
    assert "secret" not in error.message


def test_a_driver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing driver is one line with the install command, and no password in it."""
    monkeypatch.setitem(sys.modules, "ckpt_cli.savers.postgres", None)
    monkeypatch.setitem(registry.SCHEMES, "postgresql", registry.Backend("postgres", "postgres", ("ckpt_cli",)))
    error = refusal("postgresql://u:secret@h/db")
    assert isinstance(error, MissingExtra)
    assert "secret" not in error.message
    assert error.hint == install("psycopg[binary]>=3.2")


def test_name_from_the_config_file(here: Path, config: Callable[[str], None]) -> None:
    """A name under ``[databases]`` stands for a URL or a path; a file of that name has precedence."""
    made("x.sqlite")
    config(f'[databases]\nprod = "sqlite:///{here}/x.sqlite"\nlocal = "x.sqlite"\nlater = "oracle://:secret@h"\n')
    assert found("prod") == found("local") == "x.sqlite"
    made("prod")
    assert found("prod") == "prod"
    assert isinstance(refusal("later"), UsageError)


def test_home_in_the_config_file(config: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    """``~`` in the config file is the home folder."""
    monkeypatch.setenv("HOME", str(here))
    made("x.sqlite")
    config('[databases]\nmine = "~/x.sqlite"\ngone = "~/gone.sqlite"\n')
    assert found("mine") == "x.sqlite"
    error = refusal("gone")
    assert isinstance(error, DatabaseUnreachable)
    assert "config.toml" in error.hint


@pytest.mark.parametrize("text", ["[databases\n", "databases = 3\n", "[databases]\nprod = 3\n"])
def test_config_file_with_a_mistake(config: Callable[[str], None], text: str) -> None:
    """A config file that can't be understood is named, not ignored."""
    config(text)
    error = refusal("prod")
    assert isinstance(error, UsageError)
    assert "config.toml" in error.message


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b"\xff"), lambda path: (path.unlink(), path.mkdir())])
def test_config_file_that_is_none(
    tmp_path: Path, config: Callable[[str], None], spoil: Callable[[Path], object]
) -> None:
    """A config file that isn't text, or is a folder, is an error with a hint."""
    config("")
    spoil(tmp_path / "config" / "ckpt" / "config.toml")
    error = refusal("prod")
    assert isinstance(error, UsageError)
    assert "config.toml can't be read" in error.message and "NAME =" in error.hint


def test_one_bad_entry_of_the_config_file_disables_no_other(here: Path, config: Callable[[str], None]) -> None:
    """Each entry is checked only when it is named."""
    made("x.sqlite")
    config('[databases]\nbad = 3\ngood = "x.sqlite"\n')
    assert found("good") == "x.sqlite"
    assert names() == ["good"]
    assert "bad = " in refusal("bad").message


def test_nothing_of_that_name(here: Path, config: Callable[[str], None]) -> None:
    """An unknown name suggests the nearest files and names, and creates no file."""
    made("checkpoints.sqlite")
    config('[databases]\nproduction = "x"\n')
    before = folder(here)
    assert refusal("checkpoint.sqlite").candidates == ("checkpoints.sqlite",)
    assert refusal("prodution").hint == "did you mean production?"
    for name in ("quite different", "nowhere/x.sqlite", "a\x00b", "x" * 5000):
        error = refusal(name)
        assert isinstance(error, DatabaseUnreachable)
        assert error.message.startswith("no such file or database name")
    assert folder(here) == before


@pytest.mark.parametrize("name", ["x.sqlite", "x.sqlite3", "x.db"])
@pytest.mark.parametrize("database", [None, ""])
def test_the_one_database_here(name: str, database: str | None) -> None:
    """Without ``--db`` the folder's only checkpoint database opens, and its name is shown."""
    made(name)
    messages: list[str] = []
    open_database(database, messages.append).close()
    assert messages == [f"database: {name}"]


def test_other_files_here(here: Path, packed: Callable[[str], bytes]) -> None:
    """Files with such a name that aren't databases, and databases of other programs, are ignored."""
    (here / "text.db").write_text("no database")
    (here / "empty.sqlite").touch()
    (here / "folder.sqlite").mkdir()
    (here / "store.sqlite").write_bytes(packed("store"))
    assert "no checkpoint database" in refusal(None).message
    made("x.sqlite")
    shutil.copy("x.sqlite", "copy.bak")
    assert found(None) == "x.sqlite"


def test_none_here() -> None:
    """Without a database there is a hint how to get one."""
    error = refusal(None)
    assert isinstance(error, UsageError)
    assert "--db" in error.hint and "ckpt demo" in error.hint


def test_several_here() -> None:
    """With several databases none is chosen; they are listed."""
    made("a.sqlite")
    made("b.db")
    error = refusal(None)
    assert isinstance(error, UsageError)
    assert "--db" in error.hint
    assert error.candidates == ("a.sqlite", "b.db")


def test_sqlite_is_loaded_when_needed() -> None:
    """Parsing the command line imports no driver: sqlite3 is imported when the first database opens."""
    code = "import sys, ckpt_cli.savers.url; print('sqlite3' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert answer.stdout == "False\n"


def test_the_file_of_a_database_follows_from_its_name(tmp_path: Path) -> None:
    """SQLite URLs and existing files have a file; other URLs, folders and unknown names have none."""
    place = tmp_path / "x.sqlite"
    place.touch()
    for name in (f"sqlite:///{place}", f"SQLITE:///{place}", str(place)):
        assert sqlite_file(name) == place
    for name in ("postgresql://h/x", f"redis:///{place}", str(tmp_path), "nowhere.sqlite"):
        assert sqlite_file(name) is None
