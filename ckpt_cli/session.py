"""What a command is handed: the database, opened at first use, and the clock; it knows neither terminal nor engine."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ckpt_cli.errors import UsageError
from ckpt_cli.reading import Reader
from ckpt_cli.serde.codec import Codec

T = TypeVar("T")

KEY_ENV = "LANGGRAPH_AES_KEY"
"""Where LangGraph itself looks for the key (langgraph-checkpoint 4.3, ``serde/encrypted.py``)."""


@dataclass
class Session:
    """One invocation: where the database is and how to see into it.

    Attributes:
        database: what ``--db`` or ``$CKPT_DB`` said; None looks for the one database in the current folder.
        key_env: name of the environment variable that holds the AES key; one that a person named must have it.
        say: tells the person something on stderr.
    """

    database: str | None
    key_env: str = KEY_ENV
    clock: Callable[[], float] = time.time
    say: Callable[[str], None] = lambda _: None
    _reader: Reader | None = field(default=None, repr=False)

    @property
    def reader(self) -> Reader:
        """The open database."""
        if self._reader is None:
            from ckpt_cli.savers.url import open_saver

            self._reader = Reader(open_saver(self.database, self.say), Codec(self._key()), self.clock)
        return self._reader

    def look(self, run: Callable[[Reader], T]) -> T:
        """Run something that only reads, in one moment of the database."""
        reader = self.reader
        return reader.moment(lambda: run(reader))

    def close(self) -> None:
        """Let go of the database."""
        if self._reader is not None:
            self._reader.saver.close()
            self._reader = None

    def _key(self) -> bytes | None:
        text = os.environ.get(self.key_env)
        if not text:
            if self.key_env != KEY_ENV:
                raise UsageError(f"there is no key in ${self.key_env}")
            return None
        key = text.encode()
        if len(key) not in (16, 24, 32):
            raise UsageError(
                f"the key in ${self.key_env} has {len(key)} bytes", hint="an AES key has 16, 24 or 32 bytes (UTF-8)"
            )
        return key
