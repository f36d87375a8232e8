"""The backends by URL scheme, and special paths (``langgraph dev``, a bundle); entry points add more.

The package of a backend is imported only when its scheme is used. An installed package adds a backend through the entry
point group ``ckpt_cli.savers``: the entry's name is a URL scheme, and its object is a function that takes a URL and
returns an open `Saver`.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from ckpt_cli.errors import MissingExtra, UsageError
from ckpt_cli.savers.contract import Saver

GROUP = "ckpt_cli.savers"
"""The entry point group."""


class Backend(NamedTuple):
    """The backend of a server.

    Attributes:
        module: its package in ``ckpt_cli.savers``; the package has ``open_url(url) -> Saver``.
        extra: the name of its optional dependencies.
        drivers: the modules that these dependencies provide.
    """

    module: str
    extra: str
    drivers: tuple[str, ...]


_POSTGRES = Backend("postgres", "postgres", ("psycopg",))
_MYSQL = Backend("mysql", "mysql", ("pymysql",))
_REDIS = Backend("redis", "redis", ("redis",))
_VALKEY = Backend("valkey", "valkey", ("redis",))
_MONGODB = Backend("mongodb", "mongodb", ("pymongo", "bson"))

SCHEMES = {
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "redis": _REDIS,
    "rediss": _REDIS,
    "valkey": _VALKEY,
    "valkeys": _VALKEY,
    "mongodb": _MONGODB,
    "mongodb+srv": _MONGODB,
    "dynamodb": Backend("dynamodb", "aws", ("boto3", "botocore")),
}
"""Backends by URL scheme."""

_SPECIAL = {".langgraph_api": "dev", "langgraph.json": "custom"}
_BUNDLE = b"\x5c\x2a\x4d\x18\x38\0\0\0ckpt bundle\n"  # as in docs/bundle.md


def open_registered(scheme: str, url: str, masked: str) -> Saver:
    """Open the database that a URL names; `masked` is the URL without its password.

    Raises:
        UsageError: no backend has this scheme.
        MissingExtra: the backend's driver isn't installed.
        DatabaseUnreachable: the database can't be reached or opened.
    """
    backend = SCHEMES.get(scheme)
    if backend is None:
        return _from_packages(scheme, masked)(url)
    try:
        module = import_module(f"ckpt_cli.savers.{backend.module}")
        opener = cast(Callable[[str], Saver], module.open_url)
        return opener(url)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in backend.drivers:
            raise
        from ckpt_cli.installing import install_extra

        what = f"{masked}: the driver {error.name} isn't installed"
        raise MissingExtra(what, hint=install_extra(backend.extra)) from error


def open_special(path: Path) -> Saver | None:
    """Open a folder of ``langgraph dev``, a langgraph.json, a pickled storage or a bundle; None for any other path."""
    name = _SPECIAL.get(path.name) or (_kind_of_file(path) if path.is_file() else _kind_of_folder(path))
    if name is None:
        return None
    return cast(Callable[[Path], Saver], import_module(f"ckpt_cli.savers.{name}").open_path)(path)


def open_attribute(name: str) -> Saver:
    """Open the saver that ``module:attribute`` names, or ``file.py:attribute``."""
    module = import_module("ckpt_cli.savers.custom")
    return cast(Callable[[str], Saver], module.open_attribute)(name)


def _kind_of_file(path: Path) -> str | None:
    """The backend of a file, by its first bytes: a bundle, or a pickle of protocol 2 or later."""
    with path.open("rb") as file:
        start = file.read(len(_BUNDLE))
    if start == _BUNDLE:
        return "bundle"
    return "dev" if start[:1] == b"\x80" and b"\x02" <= start[1:2] <= b"\x05" else None


def _kind_of_folder(folder: Path) -> str | None:
    """The backend of a folder that has the files of ``langgraph dev``, or bundles."""
    if not folder.is_dir():
        return None
    from ckpt_cli.savers.dev.files import is_dev_folder

    if is_dev_folder(folder):
        return "dev"
    has_bundle = any(path.is_file() and _kind_of_file(path) == "bundle" for path in folder.glob("*.ckpt"))
    return "bundle" if has_bundle else None


def _from_packages(scheme: str, masked: str) -> Callable[[str], Saver]:
    from importlib.metadata import entry_points

    entries = {entry.name: entry for entry in entry_points(group=GROUP)}
    if scheme not in entries:
        known = ", ".join(["sqlite", *SCHEMES, *sorted(entries)])
        raise UsageError(f"{masked}: unknown kind of database", hint=f"known: {known}")
    return cast(Callable[[str], Saver], entries[scheme].load())
