"""The user's editor (``$EDITOR``), its process, and the draft's file in a folder only its owner can enter.

The text of the draft is made in `parameters.draft`.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.output.talk import say

_USUAL_EDITORS = ("sensible-editor", "vi", "nano")


class Draft:
    """A text that the user edits, in its own file."""

    def __init__(self, text: str, name: str, ending: str = "json") -> None:
        self._command = _editor_command()
        folder = tempfile.mkdtemp(prefix=f"ckpt-{name}-")  # has mode 700: editors write other files beside the draft
        self.path = Path(folder) / f"{name}.{ending}"
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._first_bytes = text.encode()
        self.write(text)

    def edit(self, problem: str = "") -> str:
        """Show the problem, if any; open the editor; return the file's text after the editor has ended.

        Raises:
            Refused: the editor failed.
            UsageError: the editor can't be run.
        """
        if problem:
            for line in problem.splitlines():
                say(line)
            _wait_for_enter()
        try:
            stdout = None if os.isatty(1) else 2  # the editor's screen must not go into a pipe as data
            arguments = [*self._command, str(self.path)]
            code = subprocess.run(arguments, stdout=stdout, check=False).returncode  # noqa: S603 - the user's own choice
        except OSError as error:
            raise UsageError(f"the editor {self._command[0]} can't be run: {error.strerror}") from error
        if code:
            hint = "the options of the command take a value without an editor"
            raise Refused(f"the editor ended with {code}; nothing was written", hint=hint)
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
        """Whether the user changed the file."""
        try:
            return self.path.read_bytes() != self._first_bytes
        except OSError:
            return False

    def discard(self) -> None:
        """Remove the file, and the files that the editor left beside it."""
        shutil.rmtree(self.path.parent, ignore_errors=True)


def _editor_command() -> list[str]:
    """The command line of the user's editor, as a list of arguments.

    Raises:
        UsageError: no editor is set, or none is installed.
    """
    configured = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    is_interactive = sys.stdin is not None and sys.stdin.isatty()
    command = configured or next((name for name in _USUAL_EDITORS if is_interactive and shutil.which(name)), None)
    if command is None:
        raise UsageError("no editor is set", hint="set $EDITOR, or give the value by an option, as in --set PATH=JSON")
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"$EDITOR can't be read: {error}") from error
    if not arguments or shutil.which(arguments[0]) is None:
        raise UsageError(f"the editor {command!r} isn't installed", hint="set $EDITOR")
    return arguments


def _wait_for_enter() -> None:
    """Wait for Enter, so that the user can read the problem before the editor takes the screen."""
    if sys.stdin is not None and sys.stdin.isatty():
        say("Enter opens the editor again, Ctrl-C stops.")
        sys.stdin.readline()
