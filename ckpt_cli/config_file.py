"""The config file, ``$XDG_CONFIG_HOME/ckpt/config.toml``: where it is, and its tables."""

import os
import re
from pathlib import Path

from ckpt_cli.errors import UsageError

_PLACE = r" \(at [\w ,]+\)$"


def read_table(name: str, lines: str) -> tuple[Path, dict[str, object]]:
    """The config file's path and one of its tables, empty if there is none; its values are checked by the caller.

    Args:
        name: the table.
        lines: what the table has lines of, for the hint of an error.

    Raises:
        UsageError: the file can't be read, or the name is no table in it.
    """
    home = os.environ.get("XDG_CONFIG_HOME")
    path = at_home(home or "~/.config") / "ckpt" / "config.toml"
    hint = f"below [{name}] it has lines like {lines}"
    try:
        if not os.path.exists(path):  # noqa: PTH110 - False also where this user may not enter the folder
            return path, {}
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it isn't UTF-8"
        raise UsageError(f"{path} can't be read: {reason}", hint=hint) from None
    import tomllib

    try:
        table = tomllib.loads(text).get(name, {})
    except tomllib.TOMLDecodeError as error:
        place = re.search(_PLACE, str(error))  # the rest of the message may quote a line with a password
        raise UsageError(f"{path} is not valid TOML{place[0] if place else ''}", hint=hint) from None
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [{name}] needs lines like {lines}")
    return path, table


def at_home(path: str) -> Path:
    """The path with a leading ``~`` replaced by the home directory; unchanged where there is no home."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises an error there
