"""Task ids, task paths and ids of interrupts in each release, recomputed: which node a task is.

A task's path names the task's node (checkpoint-sqlite 3.1.2 and newer store the path). In a database without paths, the
task's id still shows the node. The id is a hash over the checkpoint's id, the node's namespace, the step, the node and
its triggers, so any possible node can be checked. Releases compute the hash in different ways (``pregel/_algo.py:
prepare_single_task``, and ``pregel/algo.ts`` of LangGraph.js). The hashes of two releases are never equal by chance.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations
from typing import NamedTuple
from uuid import UUID, uuid5

from ckpt_cli.values.langgraph_values import Interrupt

PULL = "__pregel_pull"
PUSH = "__pregel_push"

_SEND_PATH = rf"~{PUSH}, (\d{{10}})(?:, .*)?"
_HANDLER_END = ", node_error_handler, 0000000000"
_MANY = 5  # for a node with more triggers, only the likely sets of triggers are tried
_SIBLINGS = 8  # positions in the list of tasks that are tried; langgraph 0.1 and 0.2.3 hashed the position
_UPDATES = 16  # updates of one superstep whose ids are computed


@lru_cache(maxsize=1000)
def pulled(task_path: str) -> str | None:
    """The node of a task that an edge started; None for Sends, calls, error handlers and rows without a path."""
    head = f"~{PULL}, "
    if not task_path.startswith(head) or handled(task_path) is not None:
        return None
    return task_path[len(head) :]


@lru_cache(maxsize=1000)
def sent(task_path: str) -> int | None:
    """The index of the Send that started a task; None for a task that no Send started, an error handler too."""
    match = re.fullmatch(_SEND_PATH, task_path) if task_path.startswith(f"~{PUSH}, ") else None
    return int(match[1]) if match and handled(task_path) is None else None


def pull_path(node: str) -> str:
    """The path of the task that an edge, or the input, starts."""
    return f"~{PULL}, {node}"


def push_path(index: int) -> str:
    """The path of the task that a Send starts, by the index of the Send in its step."""
    return f"~{PUSH}, {index:010d}"


def handled(task_path: str) -> str | None:
    """The path of the failed task that an error handler's task handles; None for tasks of other kinds."""
    return task_path.removesuffix(_HANDLER_END) if task_path.endswith(_HANDLER_END) else None


def handler_path(failed_path: str | None) -> str | None:
    """The path of the error handler's task, from that of the failed task; None if that isn't known."""
    return None if failed_path is None else failed_path + _HANDLER_END


def handler_names(failed_node: str) -> tuple[str, str]:
    """The nodes that may handle an error of a node: its own error handler, and the graph's default one.

    LangGraph gives these names to the nodes (1.2 ``graph/state.py: add_node``, ``_DEFAULT_ERROR_HANDLER_NODE``).
    """
    return f"__error_handler__{failed_node}", "__default_error_handler__"


def is_handler_name(node: str) -> bool:
    """Whether LangGraph gave this name to the node of an error handler; see `handler_names`."""
    own, default = handler_names("")
    return node == default or node.startswith(own)


@lru_cache(maxsize=1000)
def caller(task_path: str) -> str | None:
    """The entrypoint that called this task (functional API), None for tasks of other kinds."""
    head = f"~{PUSH}, ~{PULL}, "
    match = re.match(rf"{head}(.+?), \d{{10}}(?:, \d{{10}})?$", task_path) if task_path.startswith(head) else None
    return match[1] if match else None


@lru_cache(maxsize=1000)  # asked of each write, and the paths of a graph come again
def is_called(task_path: str) -> bool:
    """Whether another task called this one, a ``@task`` function: an entrypoint, any node, a Send's task, a call."""
    return caller(task_path) is not None or split_call(task_path) is not None


def calling_path(task_path: str) -> str | None:
    """The path of the task that called this one; None for a task that none called."""
    if (split := split_call(task_path)) is not None:
        return split[0]
    entrypoint = caller(task_path)
    return None if entrypoint is None else pull_path(entrypoint)


def callers(task_path: str) -> list[str]:
    """The paths of the tasks that called each other down to this one, the last one first."""
    paths, path = list[str](), calling_path(task_path)
    while path is not None:
        paths.append(path)
        path = calling_path(path)
    return paths


class Place(NamedTuple):
    """Where tasks start: what all task ids of one checkpoint have in common.

    Attributes:
        step: the step in which the tasks run: the checkpoint's own step plus one.
        javascript: whether the ids that LangGraph.js would compute are tried first.
    """

    checkpoint_id: str
    ns: str
    step: int
    v: int
    javascript: bool = False

    def pull(self, node: str, triggers: Sequence[str]) -> Iterator[str]:
        """The ids that the task of `node` may have in the different releases, the most likely one first."""
        yield from self._recipes(node, PULL, list(triggers))
        if self.v < 2:
            for place in range(_SIBLINGS):
                yield from self._described(node, triggers, place)

    def push(self, node: str, index: int) -> Iterator[str]:
        """The ids that the task of one Send may have in the different releases, the most likely one first."""
        yield from self._recipes(node, PUSH, str(index))
        if self.v < 2:
            yield from self._described(node, ["__pregel_tasks"], index)

    def _recipes(self, node: str, kind: str, rest: list[str] | str) -> Iterator[str]:
        if self.javascript:
            yield self._javascript(node, kind, rest)
        parts = [rest] if isinstance(rest, str) else rest
        yield self._hashed(node, kind, *parts)
        if self.v == 2:  # written by langgraph-checkpoint 2.1, also below a langgraph that never heard of v 2
            yield self._replace(v=1)._hashed(node, kind, *parts)
        if self.v < 2 and not self.javascript:  # in v 1 the versions alone don't always show who wrote it
            yield self._javascript(node, kind, rest)

    def handlers(self, failed_node: str, failed_id: str) -> Iterator[tuple[str, str]]:
        """The ids that the task of an error handler may have, each with the handler's node.

        The handler runs in the namespace of the failed task (langgraph 1.2.22 ``pregel/_algo.py:
        prepare_node_error_handler_task``, called with the config of that task).
        """
        for node in handler_names(failed_node):
            inside = f"{self.inside(failed_node)}:{failed_id}|{node}"
            yield self._hashed_inside(inside, node, PUSH, "node_error_handler", failed_id), node

    def call(self, caller: str, name: str, caller_path: str, number: int) -> str:
        """The id of the call of a ``@task`` function (1.2 ``prepare_push_task_functional``).

        Args:
            caller: the calling task, ``node:task id``.
            name: the name of the function.
            caller_path: the path of the calling task.
            number: the number of the call among the caller's, from 0.
        """
        return self._replace(ns=self.inside(caller))._hashed(name, PUSH, caller_path, str(number))

    @property
    def synthetic_beginnings(self) -> tuple[str, str]:
        """How the ids begin that belong to no task; see `synthetic`."""
        return f"{self.step:08d}-", "ffffffff-"

    def synthetic(self, task_id: str) -> bool:
        """Whether this id belongs to no task: with ``durability="exit"``, the writes of delta channels get such ids."""
        return task_id.startswith(self.synthetic_beginnings)

    def inside(self, node: str) -> str:
        """The namespace of a node, without the id of its task."""
        return f"{self.ns}|{node}" if self.ns else node

    def _hashed(self, node: str, *parts: str) -> str:
        return self._hashed_inside(self.inside(node), node, *parts)

    def _hashed_inside(self, inside: str, node: str, *parts: str) -> str:
        data = UUID(self.checkpoint_id).bytes + "".join((inside, str(self.step), node, *parts)).encode()
        if self.v > 1:
            from xxhash import xxh3_128_hexdigest

            digits = xxh3_128_hexdigest(data)
        else:
            from hashlib import sha1

            digits = sha1(data, usedforsecurity=False).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"

    def _javascript(self, node: str, kind: str, rest: list[str] | str) -> str:
        return self._uuid5([self.inside(node), str(self.step), node, kind, rest], compact=True)

    def _described(self, node: str, triggers: Sequence[str], place: int) -> Iterator[str]:
        """The ids of releases before 0.2.28, which hash the task's metadata.

        Since 0.2.0 (and in LangGraph.js 0.2.3) these releases hash the namespace too.
        """
        metadata = {
            "langgraph_step": self.step,
            "langgraph_node": node,
            "langgraph_triggers": list(triggers),
            "langgraph_task_idx": place,
        }
        yield self._uuid5([self.inside(node), metadata], compact=self.javascript)
        yield self._uuid5([self.inside(node), metadata], compact=not self.javascript)
        yield self._uuid5(metadata, compact=False)

    def _uuid5(self, described: object, *, compact: bool) -> str:
        separators = (",", ":") if compact else (", ", ": ")
        text = json.dumps(described, separators=separators, ensure_ascii=not compact)
        return str(uuid5(UUID(self.checkpoint_id), text))


def trigger_sets(triggers: Iterable[str], fired: Iterable[str] = ()) -> Iterator[tuple[str, ...]]:
    """The sets of triggers that a task id may be computed from, the likely ones first.

    Since langgraph 0.3.19 an id is computed from all triggers of the node. In older releases and in JavaScript, it is
    computed only from the triggers that fired. A join that was never written to leaves no trace in its checkpoint, so
    smaller sets are tried too.
    """
    every, likely = sorted(set(triggers) | set(fired)), tuple(sorted(set(fired)))
    first = [tuple(every), likely]
    sizes = range(len(every), -1, -1) if len(every) <= _MANY else (1,)
    return iter(dict.fromkeys(chain(first, *(combinations(every, size) for size in sizes))))


def interrupt_id(task_ns: str) -> str:
    """The id of a task's interrupt, by its namespace ``node:task id`` (langgraph 1.2 ``Interrupt.from_ns``)."""
    from xxhash import xxh3_128_hexdigest

    digits: str = xxh3_128_hexdigest(task_ns.encode())
    return digits


def question_ids(task_ns: str, answers: int) -> list[str]:
    """The ids that the questions of a task with so many answers may have, by its namespace ``node:task id``.

    Since langgraph 1.2.20, the id of a later question contains the number of earlier answers.
    """
    return [interrupt_id(task_ns), *(interrupt_id(f"{task_ns}|{number}") for number in range(1, answers + 1))]


def by_owner(calls: Iterable[str]) -> dict[str, str]:
    """Task id to the node that the first of these calls names; a call is ``node:task id``, a part of a namespace."""
    nodes: dict[str, str] = {}
    for call in calls:
        node, _, owner = call.rpartition(":")
        if node:
            nodes.setdefault(owner, node)
    return nodes


def with_id(interrupt: Interrupt) -> Interrupt:
    """The interrupt with its id. langgraph stores the id since 0.6; before, `ns` gave the id (0.4 ``types.py``)."""
    if interrupt.id is not None or not interrupt.ns:
        return interrupt
    return interrupt._replace(id=interrupt_id("|".join(interrupt.ns)))


@lru_cache(maxsize=100)  # the writes of a checkpoint come together
def update_ids(checkpoint_id: str) -> frozenset[str]:
    """The ids of the first updates of a superstep, under which ``update_state`` records writes as no due node.

    1.2.24 ``pregel/main.py: _update_task_id``; before, all updates of a superstep had the first of these ids.
    """
    names = ("__interrupt__", *(f"__interrupt__:{number}" for number in range(1, _UPDATES)))
    return frozenset(str(uuid5(UUID(checkpoint_id), name)) for name in names)


def split_call(task_path: str) -> tuple[str, int] | None:
    """The path of the caller, and the number of the call among the caller's; None if no task called this one."""
    match = re.fullmatch(rf"~{PUSH}, (~.+), (\d{{10}}), 0000000001", task_path)
    return (match[1], int(match[2])) if match else None


class PossibleIds:
    """Task ids with their nodes, computed only as far as somebody looks for an id, and each only once."""

    def __init__(self, ids: Iterator[tuple[str, str]]) -> None:
        self._rest = ids
        self._nodes: dict[str, str] = {}

    def find(self, task_id: str) -> str | None:
        """The node of the task with this id; None if none of the ids is equal."""
        while task_id not in self._nodes:
            task_id_of_node = next(self._rest, None)
            if task_id_of_node is None:
                return None
            self._nodes.setdefault(*task_id_of_node)
        return self._nodes[task_id]
