"""`Origin`: who makes an operation: the user, the host, and the version of ckpt."""

import os
from contextlib import suppress
from typing import NamedTuple

from ckpt_cli import __version__
from ckpt_cli.operations.log_file import LogFile
from ckpt_cli.operations.row_images import from_sqlite

_SINCE = 4  # the version of the log's schema that has these columns


class Origin(NamedTuple):
    """Who made an operation; `version` is the version of ckpt. Stored with the operation, and shown in lists."""

    user: str
    host: str
    version: str


def read_origins(log: LogFile) -> dict[int, Origin]:
    """Number to origin of all operations; those that an older ckpt logged have none."""
    rows = log.rows("SELECT number, user, host, version FROM operations WHERE user IS NOT NULL", since=_SINCE)
    return {number: Origin(*map(from_sqlite, who)) for number, *who in rows}


def find_origin() -> Origin:
    """Who runs this process.

    The user is the one whose rights the process has, not what a variable of the environment says.
    """
    import platform

    return Origin(_user(), platform.node(), __version__)


def _user() -> str:
    """The user's name; the number if the machine has no name for it, as in many containers."""
    try:
        from pwd import getpwuid
    except ImportError:  # Windows
        from getpass import getuser

        return getuser()
    user_id = os.geteuid()
    with suppress(KeyError):
        return getpwuid(user_id).pw_name
    return str(user_id)
