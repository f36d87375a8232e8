"""Where operation logs are: found out without knowing what is in one, which every command would pay for."""

import os
from hashlib import blake2b
from pathlib import Path

LOG = "log.sqlite"


def state_folder() -> Path:
    """Where the logs of all databases are: ``$XDG_STATE_HOME/ckpt``."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "ckpt"


def folder_name(address: str) -> str:
    """The name of the folder that the first log of an address has; up to ckpt 0.1 each address had this one alone."""
    return blake2b(address.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def default_path(address: str) -> Path:
    """Where the first log of an address is, or would be."""
    return state_folder() / folder_name(address) / LOG
