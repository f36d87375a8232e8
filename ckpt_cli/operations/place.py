"""Where operation logs are: found out without knowing what is in one, which every command would pay for."""

import os
from hashlib import blake2b
from pathlib import Path


def default_path(identity: str) -> Path:
    """Where the log of a database is: a folder of its own under ``$XDG_STATE_HOME/ckpt``."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    return Path(state) / "ckpt" / name / "log.sqlite"
