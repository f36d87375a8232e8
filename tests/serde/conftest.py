"""An audit hook that notes what a payload might make Python do."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_HARMLESS = ("object.__", "sys._getframe", "builtins.id", "array.", "gc.")
_armed: list[list[tuple[str, Any]]] = []


def _note(event: str, args: tuple[Any, ...]) -> None:
    if _armed and not event.startswith(_HARMLESS):
        _armed[-1].append((event, args))


sys.addaudithook(_note)

_OURS = (
    "ormsgpack",
    "pickletools",
    "Crypto.Cipher.AES",
    "ckpt_cli.serde.inert",
    "ckpt_cli.serde.lcjson_rescue",
    "ckpt_cli.serde.msgpack_write",
    "ckpt_cli.serde.lcjson_write",
)


@contextmanager
def _watch() -> Iterator[list[tuple[str, Any]]]:
    for module in _OURS:
        importlib.import_module(module)
    events: list[tuple[str, Any]] = []
    _armed.append(events)
    try:
        yield events
    finally:
        _armed.remove(events)


@pytest.fixture
def watch() -> Callable[[], Any]:
    """A context in which every import, open, exec, compile, system call and such is noted; ckpt's own are done."""
    return _watch
