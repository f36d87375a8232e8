"""One look at a database of ``tests/data``, as a command takes it."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ckpt_cli.session import Session
from tests import golden

V = TypeVar("V")


def look(path: Path, command: Callable[[Session], V]) -> tuple[V, list[str]]:
    """The view that a command gives of a database, and what it told the person."""
    said: list[str] = []
    session = Session(str(path), clock=lambda: golden.NOW, say=said.append)
    try:
        return command(session), said
    finally:
        session.close()
