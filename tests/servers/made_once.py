"""Folders that are made once on a machine, by whichever test process is first; two runs side by side don't meet."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

HOME = Path(os.environ.get("CKPT_TEST_BINARIES") or Path(tempfile.gettempdir()) / f"ckpt-tests-{os.getuid()}")


def made_once(folder: Path, make: Callable[[Path], bool]) -> Path | None:
    """The folder, made if it isn't there yet; None where it can't be made.

    It is made elsewhere and moved into place at once, so one that is there is whole, also after a killed run. Others
    who need it wait meanwhile.

    Args:
        folder: where it is to be; its parents are made too.
        make: fills an empty folder, and says whether it could.
    """
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed, or the process is gone
        if folder.is_dir():
            return folder
        new = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        new.chmod(0o755)  # a server may run as another user
        try:
            if not make(new):
                return None
            new.rename(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return folder
