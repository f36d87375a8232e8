"""A database that both the official saver and ckpt can open."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from ckpt_cli.app import run
from ckpt_cli.reading import Reader
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec


class Backend(NamedTuple):
    """An empty database with LangGraph's tables in it.

    Attributes:
        url: what ``--db`` gets.
        official: opens LangGraph's own saver on it; may be called again and again.
    """

    url: str
    official: Callable[[], AbstractContextManager[BaseCheckpointSaver[Any]]]

    def ckpt(self, *words: str, code: int = 0, capsys: pytest.CaptureFixture[str]) -> Any:
        """What a command prints as JSON; it must end with this exit code."""
        capsys.readouterr()
        ended = run([*words, "-d", self.url, "--json"])
        printed = capsys.readouterr()
        assert ended == code, printed.err
        return json.loads(printed.out)

    def saver(self) -> Saver:
        """The database as ckpt opens it, to be closed."""
        return open_database(self.url, lambda _: None)

    def reader(self) -> Reader:
        """A reader of it, whose saver is to be closed."""
        return Reader(self.saver(), Codec())


Fresh = Callable[[], Backend]
