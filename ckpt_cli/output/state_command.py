"""`StateCommand`: runs a person's command (``bisect --run``) on a state, as JSON in a private file."""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from ckpt_cli.errors import UsageError

VARIABLE = "CKPT_STATE"
"""The environment variable that names the file."""
_STDERR = 2  # the command's own output goes there, so that stdout has nothing but the answer


class StateCommand:
    """A command that tests states.

    Raises:
        UsageError: the command can't be split into words, or names no program.
    """

    def __init__(self, command: str) -> None:
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--run can't be split into words: {error}", hint="close its quotes") from error
        if not self.words or shutil.which(self.words[0]) is None:
            name = repr(self.words[0]) if self.words else "nothing"
            raise UsageError(f"--run names no program: {name}", hint="no shell runs it; `sh -c '…'` does")

    def exit_code(self, state: str) -> int:
        """The exit code of the command on a state; negative if a signal ended it.

        Raises:
            UsageError: the program can't be started.
        """
        folder = tempfile.mkdtemp(prefix="ckpt-bisect-")  # has mode 700
        path = Path(folder) / "state.json"
        try:
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(state.encode("utf-8", "backslashreplace"))
            with path.open("rb") as stdin:  # a pipe would block if the command doesn't read it
                environment = {**os.environ, VARIABLE: str(path)}
                done = subprocess.run(self.words, stdin=stdin, stdout=_STDERR, env=environment, check=False)  # noqa: S603
        except OSError as error:
            raise UsageError(f"{self.words[0]} can't be started: {error.strerror}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return done.returncode
