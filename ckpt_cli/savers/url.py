"""What ``--db`` names: URL, path, libpq string, configured name, ``module:attribute``, this folder's database.

Only the user's own words cause an import, never a database's contents. A password goes to the driver and nowhere else:
every printed text passes through `database_name.mask_database`.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from ckpt_cli.config_file import at_home, read_table
from ckpt_cli.errors import DatabaseUnreachable, UsageError
from ckpt_cli.savers import registry
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.database_name import ESCAPES, cannot_hold_password, check_one_reading, mask_database

_ENDINGS = (".sqlite", ".sqlite3", ".db")
_BUNDLE = ".ckpt"  # it is never opened unless it is named
_DEV = ".langgraph_api"
_URL = r"(?s)([A-Za-z][A-Za-z0-9.-]*)(?:\+[A-Za-z0-9.-]+)?://(.*)"
_CONNINFO = r"\s*(service|host|hostaddr|port|dbname|user|password|passfile|options|ssl\w+)\s*="
"""The beginning of a string of libpq (libpq 15, "Keyword/Value Connection Strings"): one of its usual parameters."""
_ATTRIBUTE = r"([A-Za-z_][\w.]*|[^\0]*\.py):[A-Za-z_][\w.]*"


class NoDatabaseError(UsageError):
    """No database was named, and the current folder has none."""


def open_database(database: str | None, say: Callable[[str], None]) -> Saver:
    """Open the database that ``--db`` names; without a name, open this folder's only database and show its name.

    Raises:
        UsageError: the kind of URL is unknown; or no database was named, and this folder has none or several.
        DatabaseUnreachable: the database doesn't exist or can't be opened.
        MissingExtra: the driver isn't installed.
    """
    if not database:
        return _open_here(say)
    opened = _open_url(database) or _open_path(Path(database), database) or _open_conninfo(database)
    return opened or _open_named(database) or _open_attribute(database) or _no_such(database)


def sqlite_file(database: str) -> Path | None:
    """The file of an SQLite database, found by the name alone; None if no SQLite database has this name.

    The file isn't opened: a program loses its locks on a file when it closes any descriptor of it (POSIX).
    """
    match = re.fullmatch(_URL, database)
    if match is not None:
        return _sqlite_path(database, match[2]) if match[1].lower() == "sqlite" else None
    if _exists(path := Path(database)):
        return path if path.is_file() else None
    url = _config()[1].get(database)
    if not isinstance(url, str):
        return None
    return sqlite_file(url if "://" in url else str(at_home(url)))


def names() -> list[str]:
    """The names of databases in the config file."""
    return sorted(name for name, url in _config()[1].items() if isinstance(url, str))


def spelled_out(database: str) -> str:
    """What a name in the config file stands for; any other text as it is."""
    url = None if re.fullmatch(_URL, database) or _exists(Path(database)) else _config()[1].get(database)
    return url if isinstance(url, str) else database


def is_conninfo(database: str) -> bool:
    """Whether this is a string of libpq: ``service=prod``, ``host=… dbname=…``."""
    return re.match(_CONNINFO, database) is not None


def _open_url(database: str) -> Saver | None:
    match = re.fullmatch(_URL, database)
    if match is None:
        return None
    scheme, rest = match[1].lower(), match[2]
    if scheme == "sqlite":
        return _open_sqlite(_sqlite_path(database, rest), database)
    if scheme in registry.SCHEMES:
        check_one_reading(database)
    return registry.open_registered(scheme, database, mask_database(database))


def _sqlite_path(database: str, rest: str) -> Path:
    """The path of ``sqlite:///relative`` or ``sqlite:////absolute``, as SQLAlchemy reads them.

    People also type one slash too few, or write a space as ``%20``. So if there is no such file, the path from the root
    is tried too, and each path with escapes decoded.
    """
    if not rest.startswith("/") or not rest.strip("/"):
        raise UsageError(
            f"{mask_database(database)}: no path in it", hint="sqlite:///relative/path or sqlite:////absolute/path"
        )
    from urllib.parse import unquote

    readings = [reading for name in (rest[1:], unquote(rest[1:])) for reading in (Path(name), Path("/", name))]
    chosen = next((path for path in readings if _exists(path)), readings[0])
    if not _exists(chosen) and not cannot_hold_password(rest[1:]):
        raise DatabaseUnreachable(f"{mask_database(database)}: no such file", hint="a path has no user and no password")
    return chosen


def _open_path(path: Path, database: str) -> Saver | None:
    if not _exists(path):
        return None
    return registry.open_special(path) or _open_sqlite(path, database)


def _exists(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except (OSError, ValueError):  # it can't be a path: it is too long, or has a NUL in it
        return False


def _open_sqlite(path: Path, database: str) -> Saver:
    from ckpt_cli.savers.sqlite import open_file

    return open_file(path, database)


def _open_named(name: str) -> Saver | None:
    config, databases = _config()
    url = databases.get(name)
    if url is None:
        return None
    if not isinstance(url, str):
        raise UsageError(f'{config}: {name} needs a line like {name} = "path or URL"')
    saver = _open_url(url) or _open_path(at_home(url), url) or _open_conninfo(url) or _open_attribute(url)
    if saver is None:
        raise DatabaseUnreachable(f"no such file: {mask_database(url)}", hint=f"{config} calls it {name}")
    return saver


def _open_conninfo(database: str) -> Saver | None:
    """The database that a string of libpq names; None for other texts."""
    if not is_conninfo(database):
        return None
    return registry.open_registered("postgresql", database, "the libpq string")


def _open_attribute(name: str) -> Saver | None:
    """The saver that ``module:attribute`` or ``file.py:attribute`` names. The user who names it lets its code run.

    Raises:
        UsageError: the name looks like a URL without its slashes, not like a module.
    """
    scheme, colon, rest = name.partition(":")
    kind = scheme.partition("+")[0].lower()
    if colon and kind in ("sqlite", *registry.SCHEMES) and not (_exists(Path(scheme)) or _exists(Path(f"{scheme}.py"))):
        if kind == "sqlite":
            path = rest if cannot_hold_password(rest) else "PATH"
            raise UsageError("sqlite:… is no URL", hint=f"type the path {path} alone, or sqlite:///{path}")
        raise UsageError(f"{scheme}:… is no URL: two slashes follow the colon", hint=f"{scheme}://…")
    return registry.open_attribute(name) if re.fullmatch(_ATTRIBUTE, name) else None


def _no_such(name: str) -> NoReturn:
    config, databases = _config()
    similar = _similar_names(name, databases)
    hint = f"did you mean {similar[0]}?" if similar else "a path, a URL, or a name under [databases] in " + str(config)
    if not cannot_hold_password(name):
        hint += f"; a URL begins with the database's kind, as in postgresql://user:password@host/database; {ESCAPES}"
    raise DatabaseUnreachable(f"no such file or database name: {mask_database(name)}", hint=hint, candidates=similar)


def _config() -> tuple[Path, dict[str, object]]:
    """The config file's path and its ``[databases]``: ``name = "url or path"``, each checked only when it is used."""
    return read_table("databases", 'NAME = "path or URL"')


def _similar_names(name: str, databases: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    folder = Path(name).parent
    try:
        files = [str(path) for path in folder.iterdir() if path.suffix in (*_ENDINGS, _BUNDLE)]
    except (OSError, ValueError):
        files = []
    return get_close_matches(name, [*databases, *files], n=3, cutoff=0.6)


def _open_here(say: Callable[[str], None]) -> Saver:
    from ckpt_cli.savers.sqlite.files import is_sqlite

    files = [path for path in sorted(Path().iterdir()) if path.suffix in _ENDINGS and is_sqlite(path)]
    databases = [str(path) for path in files if _holds_checkpoints(path)]
    databases += [_DEV] if Path(_DEV, ".langgraph_checkpoint.1.pckl").is_file() else []
    if not databases:
        hint = "name one with --db or $CKPT_DB: `ckpt` alone shows how, for each kind; `ckpt demo` makes one to try"
        raise NoDatabaseError("no database named, and no checkpoint database in this folder", hint=hint)
    if len(databases) > 1:
        raise UsageError(
            f"no database named, and {len(databases)} checkpoint databases in this folder",
            hint="name one with --db or $CKPT_DB",
            candidates=databases,
        )
    say(f"database: {databases[0]}")
    return registry.open_special(Path(databases[0])) or _open_sqlite(Path(databases[0]), databases[0])


def _holds_checkpoints(path: Path) -> bool:
    """Whether a file has checkpoints; True also if it can't be opened, so that the error is shown later."""
    from ckpt_cli.savers.sqlite import NotCheckpoints, open_file

    try:
        open_file(path).close()
    except NotCheckpoints:
        return False
    except DatabaseUnreachable:
        return True
    return True
