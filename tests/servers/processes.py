"""A server process of a test: started, waited for, killed and stopped by its process id alone."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

_PATIENCE = 60.0  # seconds; a loaded machine starts slowly


def free_port() -> int:
    """A port of the loopback address that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class ServerProcess:
    """One child process; its output goes to `log`, and is part of the error if it doesn't start.

    Attributes:
        allowed: whether the test that runs now may start one; only those marked as slow may.
    """

    allowed: ClassVar[bool] = True

    def __init__(self, command: Sequence[str | Path], log: Path, *, user: str | None = None) -> None:
        if not self.allowed:
            raise RuntimeError(f"{command[0]} is started by a test that isn't marked as slow (tests/slow.py)")
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                user=user,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait until it answers.

        Raises:
            RuntimeError: it ended, or doesn't answer; the message has the end of its output.
        """
        until = time.monotonic() + _PATIENCE
        while not ready():
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise RuntimeError(f"{self._process.args!r} did not come up: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end, and wait; kill it if it won't."""
        if self._process.poll() is None:
            self._process.send_signal(how)
            try:
                self._process.wait(_PATIENCE / 4)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


def listens(port: int) -> bool:
    """Whether somebody answers on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def serves_redis(port: int) -> bool:
    """Whether a Redis or Valkey on a loopback port has loaded its data; it listens before."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as probe:
            probe.sendall(b"PING\r\n")
            answer = probe.recv(64)
            return bool(answer) and not answer.startswith(b"-LOADING")  # it may want a password
    except OSError:
        return False
