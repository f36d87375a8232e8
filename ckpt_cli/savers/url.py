"""What a person typed after ``--db`` becomes an open saver: a URL, a path, a name, or nothing for this folder's one.

Nothing is ever imported on a database's word, and a password goes to the driver and nowhere else: whatever is printed
passes `database_name.mask_database`.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from ckpt_cli.errors import DatabaseUnreachable, UsageError
from ckpt_cli.savers import registry
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.database_name import ESCAPES, is_plain, mask_database, must_be_clear

_ENDINGS = (".sqlite", ".sqlite3", ".db")
_DEV = ".langgraph_api"
_LINES = 'below [databases] it has lines like NAME = "path or URL"'
_URL = re.compile(r"([A-Za-z][A-Za-z0-9.-]*)(?:\+[A-Za-z0-9.-]+)?://(.*)", re.DOTALL)
_PLACE = re.compile(r" \(at [\w ,]+\)$")
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w.]*|[^\0]*\.py):[A-Za-z_][\w.]*")


def open_database(database: str | None, say: Callable[[str], None]) -> Saver:
    """Open what ``--db`` names; None looks for the one database of the current folder and says which it found.

    Raises:
        UsageError: no database was named and there is not exactly one here, or it is no URL that ckpt knows.
        DatabaseUnreachable: what was named isn't there or can't be opened.
        MissingExtra: its driver isn't installed.
    """
    if not database:
        return _open_here(say)
    opened = _open_url(database) or _open_path(Path(database), database) or _open_known(database)
    return opened or _open_attribute(database) or _no_such(database)


def sqlite_file(database: str) -> Path | None:
    """The file of an SQLite database, by its name alone; None if the name is something else's.

    The file isn't touched: a program that has it open loses its locks on it when it closes another descriptor (POSIX).
    """
    match = _URL.fullmatch(database)
    if match is not None:
        return _sqlite_path(database, match[2]) if match[1].lower() == "sqlite" else None
    if _there(path := Path(database)):
        return path if path.is_file() else None
    url = _config()[1].get(database)
    if not isinstance(url, str):
        return None
    return sqlite_file(url if "://" in url else str(_at_home(url)))


def names() -> list[str]:
    """The databases that the config file names."""
    return sorted(name for name, url in _config()[1].items() if isinstance(url, str))


def _open_url(database: str) -> Saver | None:
    match = _URL.fullmatch(database)
    if match is None:
        return None
    scheme, rest = match[1].lower(), match[2]
    if scheme == "sqlite":
        return _open_sqlite(_sqlite_path(database, rest), database)
    if scheme in registry.SCHEMES:
        must_be_clear(database)
    return registry.open_registered(scheme, database, mask_database(database))


def _sqlite_path(database: str, rest: str) -> Path:
    """``sqlite:///relative`` and ``sqlite:////absolute``, as SQLAlchemy reads them.

    What is not there under that name is looked for from the root and with ``%20`` and the like decoded, which people
    type as well.
    """
    if not rest.startswith("/") or not rest.strip("/"):
        raise UsageError(
            f"{mask_database(database)}: no path in it", hint="sqlite:///relative/path or sqlite:////absolute/path"
        )
    from urllib.parse import unquote

    readings = [reading for name in (rest[1:], unquote(rest[1:])) for reading in (Path(name), Path("/", name))]
    found = next((path for path in readings if _there(path)), readings[0])
    if not _there(found) and not is_plain(rest[1:]):
        raise DatabaseUnreachable(f"{mask_database(database)}: no such file", hint="a path has no user and no password")
    return found


def _open_path(path: Path, database: str) -> Saver | None:
    if not _there(path):
        return None
    return registry.open_special(path) or _open_sqlite(path, database)


def _there(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except (OSError, ValueError):  # too long for a name, or a NUL in it: no path
        return False


def _open_sqlite(path: Path, database: str) -> Saver:
    from ckpt_cli.savers.sqlite import open_file

    return open_file(path, database)


def _open_known(name: str) -> Saver | None:
    config, known = _config()
    url = known.get(name)
    if url is None:
        return None
    if not isinstance(url, str):
        raise UsageError(f'{config}: {name} wants a line like {name} = "path or URL"')
    saver = _open_url(url) or _open_path(_at_home(url), url) or _open_attribute(url)
    if saver is None:
        raise DatabaseUnreachable(f"no such file: {mask_database(url)}", hint=f"{config} calls it {name}")
    return saver


def _at_home(path: str) -> Path:
    """A path from the home directory where it begins with a ``~``, and as it is where there is no home."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path's own is an error there


def _open_attribute(name: str) -> Saver | None:
    """What ``module:attribute`` or ``file.py:attribute`` gives: naming it is the person's word that it may run.

    Raises:
        UsageError: it is a URL without its slashes rather than a module of the person's.
    """
    scheme, colon, rest = name.partition(":")
    kind = scheme.partition("+")[0].lower()
    if colon and kind in ("sqlite", *registry.SCHEMES) and not (_there(Path(scheme)) or _there(Path(f"{scheme}.py"))):
        if kind == "sqlite":
            path = rest if is_plain(rest) else "PATH"
            raise UsageError("sqlite:… is no URL", hint=f"a path as it is, {path}, or sqlite:///{path}")
        raise UsageError(f"{scheme}:… is no URL: two slashes follow the colon", hint=f"{scheme}://…")
    return registry.open_attribute(name) if _ATTRIBUTE.fullmatch(name) else None


def _no_such(name: str) -> NoReturn:
    config, known = _config()
    near = _near(name, known)
    hint = f"did you mean {near[0]}?" if near else "a path, a URL, or a name under [databases] in " + str(config)
    if not is_plain(name):
        hint += f"; a URL begins with a kind, as postgresql://user:password@host/database; {ESCAPES}"
    raise DatabaseUnreachable(f"no such file or database name: {mask_database(name)}", hint=hint, candidates=near)


def _config() -> tuple[Path, dict[str, object]]:
    """The config file and its contents: ``[databases]``, ``name = "url or path"``, each judged when it is used."""
    home = os.environ.get("XDG_CONFIG_HOME")
    path = _at_home(home or "~/.config") / "ckpt" / "config.toml"
    try:
        if not os.path.exists(path):  # noqa: PTH110 - False also in a home that this user may not enter
            return path, {}
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it isn't UTF-8"
        raise UsageError(f"{path} can't be read: {why}", hint=_LINES) from None
    import tomllib

    try:
        named = tomllib.loads(text).get("databases", {})
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))  # the rest of its text may quote the line
        raise UsageError(f"{path} is not valid TOML{place[0] if place else ''}", hint=_LINES) from None
    if not isinstance(named, dict):
        raise UsageError(f'{path}: [databases] wants lines like name = "url"')
    return path, named


def _near(name: str, known: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    folder = Path(name).parent
    try:
        files = [str(path) for path in folder.iterdir() if path.suffix in _ENDINGS]
    except (OSError, ValueError):
        files = []
    return get_close_matches(name, [*known, *files], n=3, cutoff=0.6)


def _open_here(say: Callable[[str], None]) -> Saver:
    from ckpt_cli.savers.sqlite.files import is_sqlite

    files = [path for path in sorted(Path().iterdir()) if path.suffix in _ENDINGS and is_sqlite(path)]
    found = [str(path) for path in files if _holds_checkpoints(path)]
    found += [_DEV] if Path(_DEV, ".langgraph_checkpoint.1.pckl").is_file() else []
    if not found:
        hint = "name one with --db or $CKPT_DB; `ckpt demo` makes one to look around in"
        raise UsageError("no database named, and no checkpoint database in this folder", hint=hint)
    if len(found) > 1:
        raise UsageError(
            f"no database named, and {len(found)} checkpoint databases in this folder",
            hint="name one with --db or $CKPT_DB",
            candidates=found,
        )
    say(f"database: {found[0]}")
    return registry.open_special(Path(found[0])) or _open_sqlite(Path(found[0]), found[0])


def _holds_checkpoints(path: Path) -> bool:
    """Whether it is one to choose; also when it can't be opened now, so that the reason is shown."""
    from ckpt_cli.savers.sqlite import NotCheckpoints, open_file

    try:
        open_file(path).close()
    except NotCheckpoints:
        return False
    except DatabaseUnreachable:
        return True
    return True
