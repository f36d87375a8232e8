"""Where operation logs are: found out without knowing what is in one, which every command would pay for."""

import os
from hashlib import blake2b
from pathlib import Path

from ckpt_cli.errors import Refused

HINT = "set XDG_STATE_HOME to a folder that you may write and that is kept"
LOG = "log.sqlite"


def state_folder() -> Path:
    """Where the logs of all databases are: ``$XDG_STATE_HOME/ckpt``.

    Raises:
        Refused: neither that variable nor a home directory says where.
    """
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 - never fails
    if state.startswith("~"):
        raise Refused("there is no home directory to keep the operation log in; nothing was written", hint=HINT)
    return Path(state) / "ckpt"


def folder_name(address: str) -> str:
    """The name of the folder that the first log of an address has; up to ckpt 0.1 each address had this one alone."""
    return blake2b(address.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def default_path(address: str) -> Path:
    """Where the first log of an address is, or would be."""
    return state_folder() / folder_name(address) / LOG
