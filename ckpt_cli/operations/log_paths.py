"""The paths of operation logs in ``$XDG_STATE_HOME``; what if there is no home directory.

Every command imports this small module, but few need the code of the log.
"""

import os
from pathlib import Path

from ckpt_cli.errors import Refused

HINT = "set XDG_STATE_HOME to a permanent folder to which you may write"
LOG = "log.sqlite"


def state_folder() -> Path:
    """The folder of the logs of all databases: ``$XDG_STATE_HOME/ckpt``.

    Raises:
        Refused: there is neither this variable nor a home directory.
    """
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 - never fails
    if state.startswith("~"):
        raise Refused("there is no home directory to keep the operation log in; nothing was written", hint=HINT)
    return Path(state) / "ckpt"


def folder_name(address: str) -> str:
    """The folder name of the first log of an address; up to ckpt 0.1, an address had only this log."""
    from hashlib import blake2b

    return blake2b(address.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def default_path(address: str) -> Path:
    """The path where the first log of an address is or will be."""
    return state_folder() / folder_name(address) / LOG
