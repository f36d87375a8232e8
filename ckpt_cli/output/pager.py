"""Shows long output in the person's own pager."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable

from ckpt_cli.ctrl_c import leave_to_child


def page(lines: Iterable[str]) -> bool:
    """Show lines in ``$PAGER``, by default less; False if there is none (``cat`` and an empty variable mean none)."""
    words = shlex.split(os.environ.get("PAGER", "less"))
    if not words or words == ["cat"] or shutil.which(words[0]) is None:
        return False
    env = {"LESS": "FRX", "LV": "-c", "LESSCHARSET": "utf-8", **os.environ}
    process = subprocess.Popen(words, stdin=subprocess.PIPE, env=env)  # noqa: S603 - the person's own choice
    feed: bytes | None = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    with leave_to_child():
        while process.returncode is None:
            try:
                process.communicate(feed)
            except KeyboardInterrupt:  # Ctrl-C is meant for the pager, as in git
                feed = None
    return True
