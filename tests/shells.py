"""Real shells in a pseudo-terminal: what a person types at a prompt, and what appears."""

import os
import pty
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.requiring import missing

SHELLS = ("bash", "zsh", "fish")
_PROMPT = "READY>"
_PATIENCE = 60.0  # seconds that a shell may take to answer, on a machine that is busy

_RC = {
    "bash": (
        "PS1='{prompt} '\nHISTFILE=\nset -o history -o histexpand\nbind 'set enable-bracketed-paste off'\n"
        "source {script}\n"
    ),
    "zsh": (
        "PS1='{prompt} '\nunset zle_bracketed_paste\nautoload -Uz compinit\ncompinit -u -D\nLISTMAX=1000\n"
        "source {script}\n"
    ),
    "fish": (
        "function fish_prompt; printf '{prompt} '; end\nfunction fish_greeting; end\n"
        "set -g fish_autosuggestion_enabled 0\nsource {script}\n"
    ),
}


class Terminal:
    """A shell at its prompt."""

    def __init__(self, process: int, descriptor: int) -> None:
        self._process = process
        self._descriptor = descriptor
        self._seen = ""
        self._marks = 0

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._descriptor, text.encode())

    def wait_for_file(self, path: Path) -> None:
        """Wait until a file exists."""
        assert self._wait(path.exists, _PATIENCE), f"{path} didn't come; the screen: {self._seen[-2000:]!r}"

    def wait_for_start(self) -> None:
        """Wait for the first prompt; a key pressed before it could interrupt the shell's start files."""
        assert self._wait(lambda: _PROMPT in self._seen, _PATIENCE), f"no prompt came; the screen: {self._seen!r}"

    def wait_for_prompt(self) -> None:
        """Wait until the shell has run what was typed; a line that it takes for unfinished is given up."""
        self._marks += 1
        mark = f"mark-{self._marks}-"
        for _ in range(int(_PATIENCE / 2)):
            self.type(f"\x15echo '{mark}'{self._marks}\n")
            if self._wait(lambda: _PROMPT in self._seen.partition(f"{mark}{self._marks}")[2], 2):
                return
            self.type("\x03")
            self._wait(lambda: False, 0.1)
        raise AssertionError(f"no prompt came; the screen: {self._seen[-2000:]!r}")

    def _wait(self, done: Callable[[], bool], seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not done():
            if time.monotonic() > until:
                return False
            if select.select([self._descriptor], [], [], 0.02)[0]:
                self._seen += os.read(self._descriptor, 1 << 16).decode(errors="replace")
        return True

    def end(self) -> None:
        """Hang up."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._descriptor)


@contextmanager
def terminal(shell: str, script: Path, home: Path, env: dict[str, str], config: pytest.Config) -> Iterator[Terminal]:
    """A shell that has sourced a completion script; its home, and where it is, is `home`."""
    if shutil.which(shell) is None:
        missing(config, f"no {shell} here: apt-get install {shell}")
    rc = home / {"bash": ".bashrc", "zsh": ".zshrc", "fish": "config.fish"}[shell]
    rc.write_text(_RC[shell].format(prompt=_PROMPT, script=script))
    words = {
        "bash": ["bash", "--noprofile", "--rcfile", str(rc), "-i"],
        "zsh": ["zsh", "-d", "-i"],
        "fish": ["fish", "--no-config", "--init-command", f"source {rc}", "--interactive"],
    }[shell]
    own = {"HOME": str(home), "ZDOTDIR": str(home), "TERM": "xterm", "COLUMNS": "200", "LINES": "50"}
    process, descriptor = pty.fork()
    if process == 0:
        os.chdir(home)
        os.execvpe(words[0], words, {**env, **own})
    shown = Terminal(process, descriptor)
    try:
        shown.wait_for_start()
        yield shown
    finally:
        shown.end()
