"""`Origin`: who makes an operation: the user, the host, and the version of ckpt."""

import os
from contextlib import suppress
from typing import NamedTuple

from ckpt_cli import __version__


class Origin(NamedTuple):
    """Who made an operation; `version` is the version of ckpt. Stored with the operation, and shown in lists."""

    user: str
    host: str
    version: str


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
