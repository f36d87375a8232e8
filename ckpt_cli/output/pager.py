"""Shows long output in ``$PAGER`` or ``less``, and leaves Ctrl-C to it."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable

from ckpt_cli.ctrl_c import leave_to_child


def page(lines: Iterable[str]) -> bool:
    """Show lines in ``$PAGER``, or in ``less`` if the variable isn't set.

    Returns False if there is no pager; ``cat`` and "" mean that there is none.
    """
    arguments = shlex.split(os.environ.get("PAGER", "less"))
    if not arguments or arguments == ["cat"] or shutil.which(arguments[0]) is None:
        return False
    env = {"LESS": "FRX", "LV": "-c", "LESSCHARSET": "utf-8", **os.environ}
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, env=env)  # noqa: S603 - the user's own choice
    unsent: bytes | None = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    with leave_to_child():
        while process.returncode is None:
            try:
                process.communicate(unsent)
            except KeyboardInterrupt:  # Ctrl-C is meant for the pager, as in git
                unsent = None
    return True
