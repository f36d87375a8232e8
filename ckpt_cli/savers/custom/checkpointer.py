"""Opens the checkpointer that an attribute leads to: calls functions, enters contexts, awaits."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.custom.importing import Target, import_attribute, importing_from, translate_errors
from ckpt_cli.savers.custom.loop import Loop

_STEPS = 5
"""The most steps from the attribute to the checkpointer; a function may return a function, for example."""

Leave = Callable[[], None]


class OpenCheckpointer(NamedTuple):
    """An open checkpointer.

    Attributes:
        loop: runs the checkpointer's async methods.
        is_async: whether the checkpointer was made on that loop; then its async methods must be called.
        leave: calls that leave the checkpointer's context managers, the last manager first.
    """

    saver: BaseCheckpointSaver[Any]
    loop: Loop
    is_async: bool
    leave: tuple[Leave, ...]


def open_checkpointer(target: Target, folders: Sequence[Path]) -> OpenCheckpointer:
    """Import the target and open its checkpointer.

    Raises:
        DatabaseUnreachable: the target's code raised an error, or leads to no checkpointer.
    """
    loop = Loop()
    try:
        with importing_from(folders):
            return _open_value(target, import_attribute(target), loop)
    except BaseException:
        loop.close()
        raise


def _open_value(target: Target, value: Any, loop: Loop) -> OpenCheckpointer:
    is_async, leave = False, list[Leave]()
    for _ in range(_STEPS):
        own = getattr(value, "checkpointer", None)
        value = own if isinstance(own, BaseCheckpointSaver) else value
        if isinstance(value, BaseCheckpointSaver):
            return OpenCheckpointer(value, loop, is_async or not _is_sync(value), tuple(leave))
        with translate_errors(target.text):
            if isinstance(value, AbstractAsyncContextManager):
                manager, is_async = value, True
                value = loop.run(_enter(manager))
                leave.append(lambda manager=manager: loop.run(_leave(manager)))  # type: ignore[misc]
            elif isinstance(value, AbstractContextManager):
                leave.append(lambda manager=value: manager.__exit__(None, None, None))  # type: ignore[misc]
                value = value.__enter__()
            elif inspect.isawaitable(value):
                value, is_async = loop.run(_await_value(value)), True
            elif callable(value):
                value = _call(target, value)
            else:
                break
    raise DatabaseUnreachable(f"{target} is {type(value).__name__}, not a BaseCheckpointSaver")


def _call(target: Target, make: Callable[..., Any]) -> Any:
    required = [name for name, p in inspect.signature(make).parameters.items() if _is_required(p)]
    if required:
        what = f"{target} needs the arguments {', '.join(required)}"
        raise DatabaseUnreachable(what, hint="name a checkpointer, or a function without arguments that makes one")
    if inspect.isasyncgenfunction(make):
        return asynccontextmanager(make)()
    return contextmanager(make)() if inspect.isgeneratorfunction(make) else make()


def _is_required(parameter: inspect.Parameter) -> bool:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and parameter.kind not in variadic


async def _enter(manager: AbstractAsyncContextManager[Any]) -> Any:
    return await manager.__aenter__()


async def _leave(manager: AbstractAsyncContextManager[Any]) -> None:
    await manager.__aexit__(None, None, None)


async def _await_value(value: Awaitable[Any]) -> Any:
    return await value


def _is_sync(saver: BaseCheckpointSaver[Any]) -> bool:
    """Whether the checkpointer's class defines sync methods."""
    return type(saver).get_tuple is not BaseCheckpointSaver.get_tuple
