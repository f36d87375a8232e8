"""Long output goes through the person's own pager."""

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable


def page(lines: Iterable[str]) -> bool:
    """Show lines in ``$PAGER`` or less; False where there is none (``cat`` and an empty word mean none)."""
    words = shlex.split(os.environ.get("PAGER", "less"))
    if not words or words == ["cat"] or shutil.which(words[0]) is None:
        return False
    env = {"LESS": "FRX", "LV": "-c", "LESSCHARSET": "utf-8", **os.environ}
    process = subprocess.Popen(words, stdin=subprocess.PIPE, env=env, encoding="utf-8", errors="backslashreplace")  # noqa: S603
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt), process.stdin as feed:
        for line in lines:
            feed.write(line + "\n")
    while True:
        try:
            process.wait()
        except KeyboardInterrupt:  # the pager's, as in git
            continue
        return True
