"""The person's own editor: opens `$VISUAL` or `$EDITOR` on a file that only they can read."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.output.talk import say

_USUAL = ("sensible-editor", "vi", "nano")


class Draft:
    """A text that is being edited, in a file of its own."""

    def __init__(self, text: str, name: str) -> None:
        self._words = _editor()
        folder = tempfile.mkdtemp(prefix=f"ckpt-{name}-")  # of mode 700: editors put files of their own beside it
        self.path = Path(folder) / f"{name}.json"
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._first = text.encode()
        self.write(text)

    def edit(self, problem: str = "") -> str:
        """Open the editor and give the file's text when it has ended; a problem is shown first.

        Raises:
            Refused: the editor failed.
            UsageError: the editor can't be run.
        """
        if problem:
            for line in problem.splitlines():
                say(line)
            _wait()
        try:
            shown = None if os.isatty(1) else 2  # what the editor draws must not go into a pipe as data
            words = [*self._words, str(self.path)]
            code = subprocess.run(words, stdout=shown, check=False).returncode  # noqa: S603 - the person's own choice
        except OSError as error:
            raise UsageError(f"the editor {self._words[0]} can't be run: {error.strerror}") from error
        if code:
            raise Refused(f"the editor ended with {code}; nothing was written")
        return self.read()

    def read(self) -> str:
        """The text of the file.

        Raises:
            Refused: the file no longer exists, or isn't text.
        """
        try:
            return self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{self.path} can't be read: {error}; nothing was written") from error

    def write(self, text: str) -> None:
        """Replace the text of the file."""
        self.path.write_bytes(text.encode())

    @property
    def worth_keeping(self) -> bool:
        """Whether the person changed the file."""
        try:
            return self.path.read_bytes() != self._first
        except OSError:
            return False

    def discard(self) -> None:
        """Remove the file and what the editor left beside it."""
        shutil.rmtree(self.path.parent, ignore_errors=True)


def _editor() -> list[str]:
    """The editor's command line.

    Raises:
        UsageError: no editor is set, or none is installed.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    person = sys.stdin is not None and sys.stdin.isatty()
    command = named or next((name for name in _USUAL if person and shutil.which(name)), None)
    if command is None:
        raise UsageError("no editor is set", hint="set $EDITOR, or name the change: --set PATH=JSON")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"$EDITOR can't be read: {error}") from error
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"the editor {command!r} isn't installed", hint="set $EDITOR")
    return words


def _wait() -> None:
    """Wait for Enter, so that the person can read before the editor takes the screen."""
    if sys.stdin is not None and sys.stdin.isatty():
        say("Enter opens the editor again, Ctrl-C stops.")
        sys.stdin.readline()
