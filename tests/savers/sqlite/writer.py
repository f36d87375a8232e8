"""`Writer`: another process with the database open. `read`: what ckpt reads. `folder`: the files with their hashes."""

import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ckpt_cli.conformance import everything
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.sqlite import open_file

_LOOP = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
print("ready", flush=True)
for line in sys.stdin:
    try:
        rows = connection.execute(eval(line)).fetchall()
    except sqlite3.Error as error:
        print(repr(f"{type(error).__name__}: {error}"), flush=True)
    else:
        print(rows, flush=True)
connection.close()
"""


class Writer:
    """A process with one connection, which never waits for a lock: a blocked statement is an error at once."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-I", "-c", _LOOP, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._answer() == "ready"

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(self, sql: str) -> Any:
        """The rows of a statement.

        Raises:
            AssertionError: the statement failed, or would have had to wait.
        """
        answer = self.attempt(sql)
        assert isinstance(answer, list), answer
        return answer

    def attempt(self, sql: str) -> Any:
        """The rows of a statement, or the error as text."""
        assert self._process.stdin is not None
        print(repr(sql), file=self._process.stdin, flush=True)
        return eval(self._answer())

    def add(self, checkpoint_id: str, thread_id: str = "t") -> None:
        """Save a checkpoint."""
        row = f"'{thread_id}', '', '{checkpoint_id}', NULL, 'json', x'7B7D', x'7B7D'"
        self.run(f"INSERT INTO checkpoints VALUES ({row})")

    def close(self) -> None:
        """Close the connection and end, as a process should."""
        if self._process.poll() is None:
            self._process.communicate()

    def kill(self) -> None:
        """End at once, without closing anything (SIGKILL)."""
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def folder(path: Path) -> dict[str, tuple[int, int, int, str]]:
    """The inode, size, time of change and hash of every file in a folder, by name."""
    files = {}
    for file in sorted(path.iterdir()):
        status = file.lstat()
        digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
        files[file.name] = (status.st_ino, status.st_size, status.st_mtime_ns, digest)
    return files


def ids(saver: Saver) -> list[str]:
    """The checkpoints of thread ``t``."""
    return saver.moment(lambda: [row.checkpoint_id for row in saver.rows("t")])


@contextmanager
def opened(path: Path) -> Iterator[Saver]:
    """A saver, closed at the end."""
    with closing(open_file(path)) as saver:
        yield saver


def read(path: Path) -> list[str]:
    """Read everything there is, and give the checkpoints of thread ``t``."""
    with opened(path) as saver:
        everything(saver)
        saver.moment(saver.totals)
        saver.about()
        return ids(saver)


def rollback_mode(path: Path) -> None:
    """Put a database into rollback mode, in which a copy made by SQLite's own tools may be."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode=delete").fetchall() == [("delete",)]
