"""The names of tasks as people read them: ``summarise [3/5]``, ``summarise ×2``, ``summarise [1, 4 of 5]``."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ckpt_cli.history.tasks.snapshot import Task

_TIMES = "×"
_INSIDE = " › "
_NUMBERS = 6  # at most this many tasks of a node are named by their numbers


class _Numbered(Protocol):
    """The place of a Send among the Sends of the step to the same node."""

    @property
    def number(self) -> int: ...

    @property
    def of(self) -> int: ...


def numbered(node: str, send: _Numbered | None) -> str:
    """``summarise [3/5]``: the node of a task, with the number of its Send if several called the node."""
    return node if send is None or send.of < 2 else f"{node} [{send.number}/{send.of}]"


def nested(name: str, inside: Iterable[str]) -> str:
    """``refund_desk › load``: a task, then the nodes inside its subgraph down to the one that is meant."""
    return _INSIDE.join([name, *inside])


def counted(names: Iterable[str]) -> str:
    """``summarise ×2, audit``: each name once, with how often it is there."""
    return ", ".join(f"{name} {_TIMES}{count}" if count > 1 else name for name, count in Counter(iter(names)).items())


def task_names(tasks: Iterable[Task], remark: Callable[[Task], str] | None = None) -> list[str]:
    """Each node once, with the numbers of its tasks' Sends, or the number of tasks: ``work (2 tasks)``.

    A `remark` about a task stands behind the node; tasks with different remarks are named apart.
    """
    groups: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.node or "a task", f" ({remark(task)})" if remark else ""), []).append(task)
    return [f"{_group(node, some)}{about}" for (node, about), some in groups.items()]


def _group(node: str, tasks: Sequence[Task]) -> str:
    sends = [task.packet for task in tasks if task.packet is not None]
    count, total = len(tasks), sends[0].of if sends else 0
    if len(sends) < count or count == total:
        return f"{node} ({count} tasks)" if count > 1 else node
    if count == 1:
        return numbered(node, sends[0])
    if count <= _NUMBERS:
        return f"{node} [{', '.join(str(send.number) for send in sends)} of {total}]"
    return f"{node} ({count} of {total} tasks)"
