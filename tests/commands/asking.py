"""Runs a verb's function on a database, as the app does, at a pinned moment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ckpt_cli.session import Session
from tests import golden


def at(path: Path, verb: Callable[..., Any], *words: Any, **options: Any) -> Any:
    """What a verb's function returns; its iterators are taken while the database is open."""
    session = Session(str(path), clock=lambda: golden.NOW)
    try:
        view = verb(session, *words, **options)
        if view.rows_field:
            setattr(view, view.rows_field, list(getattr(view, view.rows_field)))
    finally:
        session.close()
    return view
