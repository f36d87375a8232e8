"""Which tests are slow: `-m "not slow"` leaves them out, so that the rest takes one or two minutes.

The marker follows from what a test is, so that nobody has to keep a list. Where none of these rules sees it, a test is
marked by hand (``@pytest.mark.slow``).
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from tests import shells
from tests.servers import processes

_FOLDERS = {"cross", "damage", "langgraph", "twins"}
"""Another LangGraph in a virtual environment, real agents, damage by chance."""

_SERVERS = {"postgres", "pooler", "mysql", "redis_server", "valkey_server", "mongo", "dynamo"}
"""The fixtures that start a server."""

_ENGINE = re.compile(r"(postgres|pooler|mysql|redis|valkey|mongo|dynamo)(\w*|, \w+)")
"""A parameter that names a server; the test gets the fixture by that name."""

_GENERATION = re.compile(r"(legacy|old)/.+|encrypted")
_USUAL = {"legacy/py-0.2.60", "legacy/py-1.2.22", "legacy/js-1.4.17"}
"""The generations of ``tests/data`` that are read in any case, besides the newest; the forty others are slow."""

_EXAMPLES = 100
"""How many examples of a property are quick; Hypothesis's default."""

_QUICK_PAGES = "tests.test_documents"
"""It runs whole processes and isn't slow all the same: everybody's changes show in the documents."""


def is_slow(item: pytest.Item) -> bool:
    """Whether one of the rules marks a test."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return (
        not _FOLDERS.isdisjoint(item.path.parts)
        or not _SERVERS.isdisjoint(getattr(item, "fixturenames", ()))
        or any(_is_slow_value(value) for value in values)
        or _is_of_a_kit(item)
        or "killed" in item.name
        or _examples(item) > _EXAMPLES
        or _starts_processes(item)
    )


def _is_slow_value(value: object) -> bool:
    if not isinstance(value, str) or value in _USUAL:
        return False
    return bool(_ENGINE.fullmatch(value) or _GENERATION.fullmatch(value))


def _is_of_a_kit(item: pytest.Item) -> bool:
    """Whether its class is one of ``tests/cross``, run on some database."""
    kind = getattr(item, "cls", None)
    return kind is not None and any(base.__module__.startswith("tests.cross.") for base in kind.__mro__)


def _examples(item: pytest.Item) -> int:
    """How many examples of a property are tried; 0 if it is none."""
    chosen = getattr(getattr(item, "function", None), "_hypothesis_internal_use_settings", None)
    return chosen.max_examples if chosen is not None else 0


def _starts_processes(item: pytest.Item) -> bool:
    """Whether the code of its module that a test can reach, fixtures included, names a process, a shell, a server
    or a real graph.
    """
    module = getattr(item, "module", None)
    if module is None or module.__name__ == _QUICK_PAGES:
        return False
    fixtures = item._fixtureinfo.name2fixturedefs.values()  # type: ignore[attr-defined]
    reached = [item.function, *(definition.func for definitions in fixtures for definition in definitions)]  # type: ignore[attr-defined]
    return any(_is_process(value) for value in _reachable(reached, module))


def _is_process(value: object) -> bool:
    if value is subprocess or value is processes.ServerProcess:
        return True
    home = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    if home == shells.__name__ or home.startswith("tests.graphs"):
        return True
    return home.startswith("tests.servers.") and home != processes.__name__


def _reachable(start: list[Callable[..., Any]], module: ModuleType) -> Iterator[object]:
    """What the names in some functions mean, and in the functions and classes of `module` that they lead to."""
    waiting: list[object] = list(start)
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if getattr(value, "__module__", "") != module.__name__:
            continue
        if isinstance(value, type):
            waiting += vars(value).values()
        elif isinstance(code := getattr(_unwrapped(value), "__code__", None), CodeType):
            waiting += [vars(module)[name] for name in _names(code) if name in vars(module)]


def _unwrapped(value: object) -> object:
    """The function below decorators."""
    while not isinstance(value, FunctionType) or hasattr(value, "__wrapped__"):
        inner = getattr(value, "__wrapped__", None)
        if inner is None:
            return value
        value = inner
    return value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
