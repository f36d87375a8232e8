"""Stores what several tasks wrote: together or, if that fails, one by one; each has its own error."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.langgraph.opened import Opened
from ckpt_cli.savers.agent_rows import TaskWrites
from ckpt_cli.savers.faults import LostWriting
from ckpt_cli.savers.paging import groups_of_few_bytes

Encode = Callable[[], TaskWrites]
Errors = list[Exception | None]


def store_tasks(opened: Opened, encodes: Sequence[Encode]) -> Errors:
    """Encode and store what tasks wrote, in this order, a few megabytes at a time.

    Returns:
        The error of each task whose writes aren't stored.
    """
    errors: Errors = [None] * len(encodes)

    def encoded() -> Iterator[tuple[tuple[int, TaskWrites], int]]:
        for number, encode in enumerate(encodes):
            try:
                task = encode()
            except Exception as error:
                errors[number] = error
            else:
                yield (number, task), sum(write.size for write in task.writes)

    for group in groups_of_few_bytes(encoded()):
        found = _store(opened, [task for _, task in group])
        for (number, _), error in zip(group, found, strict=True):
            errors[number] = error
    return errors


def _store(opened: Opened, tasks: Sequence[TaskWrites]) -> Errors:
    """Store tasks together or, if the server refused that, perhaps because of one of them, one by one."""
    error = _error_of(lambda: opened.put_tasks(tasks))
    if error is None or len(tasks) == 1:
        return [error] * len(tasks)
    if isinstance(error, DatabaseUnreachable | LostWriting):
        return [_copy(error) for _ in tasks]
    return [_error_of(lambda one=task: opened.put_tasks([one])) for task in tasks]  # type: ignore[misc]


def _error_of(store: Callable[[], None]) -> Exception | None:
    try:
        store()
    except Exception as error:
        return error
    return None


def _copy(error: Exception) -> Exception:
    """Another error that says the same: each is raised in a task of its own."""
    other = copy(error)
    other.__cause__ = error.__cause__
    return other
