"""From what was named to an open checkpointer: functions are called, context managers entered, coroutines awaited."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.custom.importing import Named, explained, importable, imported
from ckpt_cli.savers.custom.loop import Loop

_STEPS = 5
"""A function may give a function that gives a context manager …"""

Leave = Callable[[], None]


class Entered(NamedTuple):
    """An open checkpointer.

    Attributes:
        loop: where its async methods run.
        is_async: it was made on that loop, so its async methods are the ones to call.
        leave: what to do at the end, the last first.
    """

    saver: BaseCheckpointSaver[Any]
    loop: Loop
    is_async: bool
    leave: tuple[Leave, ...]


def entered(target: Named, folders: Sequence[Path]) -> Entered:
    """Import and open what is named.

    Raises:
        DatabaseUnreachable: it failed, or leads to no checkpointer.
    """
    loop = Loop()
    try:
        with importable(folders):
            return _entered(target, imported(target), loop)
    except BaseException:
        loop.close()
        raise


def _entered(target: Named, value: Any, loop: Loop) -> Entered:
    is_async, leave = False, list[Leave]()
    for _ in range(_STEPS):
        kept = getattr(value, "checkpointer", None)
        value = kept if isinstance(kept, BaseCheckpointSaver) else value
        if isinstance(value, BaseCheckpointSaver):
            return Entered(value, loop, is_async or not _is_sync(value), tuple(leave))
        with explained(target.text):
            if isinstance(value, AbstractAsyncContextManager):
                manager, is_async = value, True
                value = loop.run(_enter(manager))
                leave.append(lambda manager=manager: loop.run(_leave(manager)))  # type: ignore[misc]
            elif isinstance(value, AbstractContextManager):
                leave.append(lambda manager=value: manager.__exit__(None, None, None))  # type: ignore[misc]
                value = value.__enter__()
            elif inspect.isawaitable(value):
                value, is_async = loop.run(_awaited(value)), True
            elif callable(value):
                value = _called(target, value)
            else:
                break
    raise DatabaseUnreachable(f"{target}: {type(value).__name__}, where a BaseCheckpointSaver should be")


def _called(target: Named, make: Callable[..., Any]) -> Any:
    needed = [name for name, p in inspect.signature(make).parameters.items() if _must_be_given(p)]
    if needed:
        what = f"{target} wants to be called with {', '.join(needed)}"
        raise DatabaseUnreachable(what, hint="name a checkpointer, or a function without arguments that makes one")
    if inspect.isasyncgenfunction(make):
        return asynccontextmanager(make)()
    return contextmanager(make)() if inspect.isgeneratorfunction(make) else make()


def _must_be_given(parameter: inspect.Parameter) -> bool:
    various = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and parameter.kind not in various


async def _enter(manager: AbstractAsyncContextManager[Any]) -> Any:
    return await manager.__aenter__()


async def _leave(manager: AbstractAsyncContextManager[Any]) -> None:
    await manager.__aexit__(None, None, None)


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _is_sync(saver: BaseCheckpointSaver[Any]) -> bool:
    """Whether it has sync methods of its own."""
    return type(saver).get_tuple is not BaseCheckpointSaver.get_tuple
