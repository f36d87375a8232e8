"""`Deliveries`: gives each event of a watch to a command (``--exec``) or a web address (``--post``).

Secrets are masked in the JSON, and a web address is shown without its path: for many services the path is a password.
"""

import base64
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from http.client import HTTPException
from tempfile import TemporaryFile
from time import sleep
from typing import NamedTuple
from urllib import request
from urllib.error import HTTPError
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from ckpt_cli import __version__
from ckpt_cli.errors import UsageError
from ckpt_cli.masking import hide
from ckpt_cli.output import json
from ckpt_cli.views.watch import EventView

AT_ONCE = 8
"""So many commands run at once; the watch waits before it starts more."""
TIME_LIMIT = 10.0
"""Seconds that a web address has to answer."""
_TRIES = 3
_PAUSE = 1.0  # seconds before the second try; twice as long before the third
_POLL = 0.05  # seconds
_STDERR = 2  # a command's own output goes there, so that stdout has nothing but events


class Deliveries:
    """Delivers events in their order.

    Args:
        command: is split into words as a shell does, but no shell runs it; "" for none.
        url: of http or https; "" for none.
        say: prints a remark about an event that couldn't be delivered.

    Raises:
        UsageError: the command or the address can't be used.
    """

    def __init__(self, command: str, url: str, say: Callable[[str], None]) -> None:
        self._words = _split(command) if command else []
        self._address = _parse(url) if url else None
        self._say = say
        self._running: list[subprocess.Popen[bytes]] = []

    def send(self, event: EventView) -> None:
        """Start the command with an event, and post the event."""
        if not self._words and self._address is None:
            return
        body = f"{json.text(json.form(event, reveal=False), indent=None)}\n".encode("utf-8", "backslashreplace")
        if self._words:
            self._start(body)
        if self._address is not None:
            self._post(self._address, body)

    def close(self) -> None:
        """Wait for the commands that still run."""
        while self._running:
            self._reap()

    def _start(self, body: bytes) -> None:
        while len(self._running) >= AT_ONCE:
            self._reap()
        with TemporaryFile() as stdin:  # a pipe would block if the command doesn't read it
            stdin.write(body)
            stdin.seek(0)
            try:
                process = subprocess.Popen(self._words, stdin=stdin, stdout=_STDERR)  # noqa: S603 - the user's own choice
            except OSError as error:
                self._say(f"{self._words[0]} can't be started: {error.strerror}")
                return
        self._running.append(process)

    def _reap(self) -> None:
        """Take the commands that have ended from the list; if none has, wait a moment."""
        ended = [process for process in self._running if process.poll() is not None]
        for process in ended:
            self._running.remove(process)
            if process.returncode:
                self._say(f"{self._words[0]} ended with exit code {process.returncode}")
        if not ended:
            sleep(_POLL)

    def _post(self, address: "_Address", body: bytes) -> None:
        for number in range(_TRIES):
            if number:
                sleep(_PAUSE * 2 ** (number - 1))
            problem, is_final = _try(address, body)
            if not problem or is_final:
                break
        if problem:
            self._say(f"{address.shown} didn't take an event: {problem}")


class _Address(NamedTuple):
    """A web address: for the request, for people, and its login as a header."""

    url: str
    shown: str
    headers: dict[str, str]


def _split(command: str) -> Sequence[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--exec can't be split into words: {error}", hint="close its quotes") from error
    if not words or shutil.which(words[0]) is None:
        name = repr(words[0]) if words else "nothing"
        raise UsageError(f"--exec names no program: {name}", hint="no shell runs it; `sh -c '…'` does")
    return words


def _parse(url: str) -> _Address:
    try:
        parts = urlsplit(url)
        place = f"{_host(parts)}{'' if parts.port is None else f':{parts.port}'}"
    except ValueError as error:
        raise UsageError(f"--post: no web address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise UsageError("--post takes an address that begins with https:// or http://")
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    basic = base64.b64encode(login.encode()).decode("ascii")
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": f"ckpt/{__version__}"}
    headers |= {"Authorization": f"Basic {basic}"} if login != ":" else {}
    bare = urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))
    return _Address(bare, f"{parts.scheme}://{place}", headers)


def _host(parts: SplitResult) -> str:
    name = parts.hostname or ""
    return f"[{name}]" if ":" in name else name


class _NoRedirect(request.HTTPRedirectHandler):
    """Follows no redirect: it would send the event, as a GET, to an address that nobody named."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _try(address: _Address, body: bytes) -> tuple[str, bool]:
    """Why an event couldn't be posted, "" if it was; and whether it is no use to try again."""
    opener = request.build_opener(_NoRedirect)
    question = request.Request(address.url, data=body, headers=address.headers, method="POST")  # noqa: S310 - http(s)
    try:
        with opener.open(question, timeout=TIME_LIMIT):
            return "", True
    except HTTPError as error:
        error.close()
        return f"HTTP status {error.code}", error.code < 500 and error.code != 429
    except (OSError, HTTPException) as error:
        return hide(str(getattr(error, "reason", "") or error) or type(error).__name__), False
