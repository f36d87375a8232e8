"""One look at a database, as a command takes it, at a pinned moment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ckpt_cli.session import Session
from tests import golden

V = TypeVar("V")


def look(path: Path, command: Callable[[Session], V]) -> tuple[V, list[str]]:
    """The view that a command returns, and what it wrote to stderr."""
    said: list[str] = []
    session = Session(str(path), clock=lambda: golden.NOW, say=said.append)
    try:
        return command(session), said
    finally:
        session.close()


def at(path: Path, verb: Callable[..., Any], *words: Any, **options: Any) -> Any:
    """What a verb's function returns; its iterators are taken while the database is open."""

    def taken(session: Session) -> Any:
        view = verb(session, *words, **options)
        if view.rows_field:
            setattr(view, view.rows_field, list(getattr(view, view.rows_field)))
        return view

    return look(path, taken)[0]
