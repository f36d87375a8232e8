"""The log files that may belong to a database, chosen by their addresses; none of them is opened.

`log_search` opens them and compares their rows with the database. A command without any of them imports no more.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ckpt_cli.operations.log_index import Entry, Index
from ckpt_cli.operations.log_paths import LOG, folder_name, state_folder
from ckpt_cli.savers.about import Place
from ckpt_cli.savers.contract import Saver

_MOST_LOGS = 64  # at most this many logs of other addresses are compared with the database
_FILES = ("sqlite", "dev")


class LogCandidates:
    """The logs of this user that may belong to a database.

    Args:
        saver: the database.
        deep: also give the logs of all other addresses; otherwise only those that are likely to belong to it.
    """

    def __init__(self, saver: Saver, *, deep: bool) -> None:
        self._saver, self._deep = saver, deep
        self._state = state_folder()
        self._entries: list[Entry] = []
        self._place: Place | None = None
        self._own_folders: dict[str, None] = {}
        if os.path.isdir(self._state):  # noqa: PTH112 - False where this user may not look
            address = saver.identity
            self._entries = Index(self._state).entries()
            here = [entry.folder for entry in self._entries if entry.address == address]
            self._own_folders = dict.fromkeys([*here, folder_name(address)])

    @property
    def place(self) -> Place:
        """Where the database is."""
        if self._place is None:
            self._place = self._saver.place()
        return self._place

    def exist(self) -> bool:
        """Whether there is any such log."""
        return any(True for _ in self.own()) or any(True for _ in self.others())

    def own(self) -> Iterator[Path]:
        """The existing logs of this address."""
        return self._existing(self._own_folders)

    def others(self) -> Iterator[Path]:
        """The existing logs of other addresses, the likeliest first."""
        kind = _kind(self._saver.identity) if self._entries else ""
        others = [
            entry for entry in self._entries if entry.folder not in self._own_folders and _kind(entry.address) == kind
        ]
        return self._existing(dict.fromkeys(self._likely_folders(others))) if others else iter(())

    def _existing(self, folders: Iterable[str]) -> Iterator[Path]:
        paths = (self._state / folder / LOG for folder in folders)
        return (path for path in paths if os.path.lexists(path))  # False where this user may not look

    def _likely_folders(self, entries: list[Entry]) -> Iterator[str]:
        """The folders of logs that may belong to this database, the likeliest first."""
        mark = self.place.mark
        yield from (entry.folder for entry in entries if mark and entry.mark == mark)
        rest = entries if self._deep else [entry for entry in entries if _is_missing_file(entry.address)]
        yield from list(dict.fromkeys(entry.folder for entry in rest))[:_MOST_LOGS]


def path_or_address(address: str) -> str:
    """The address as a person knows it: a file's path, a server's URL."""
    kind, _, path = address.partition(":")
    return path if kind in _FILES else address


def _kind(address: str) -> str:
    return address.partition(":")[0]


def _is_missing_file(address: str) -> bool:
    """Whether an address names a file that no longer exists."""
    kind, _, path = address.partition(":")
    return kind in _FILES and not os.path.exists(path)  # noqa: PTH110 - never raises, whatever the path is
