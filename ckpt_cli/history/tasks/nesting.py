"""Which checkpoint called which subgraph: namespaces, how they are nested, and one named by its beginning.

A namespace is a path of calls, joined by ``|``. Each call is ``node:TASK``, or ``node`` alone for a subgraph with a
memory of its own (``checkpointer=True``). The task started from a checkpoint of the outer namespace; ``parents`` in
metadata names that checkpoint. Two kinds of parts are no graphs: a number, for the second and later subgraphs that one
task called, and a ``@task`` that called the subgraph (langgraph 1.2 ``pregel/_loop.py`` and ``pregel/_algo.py:
prepare_push_task_functional``).
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from ckpt_cli.errors import NotFound, UsageError

_LISTED = 12


class Call(NamedTuple):
    """A subgraph as one checkpoint called it.

    Attributes:
        caller: the checkpoint in the outer namespace; None if it isn't known.
        checkpoint_ids: the subgraph's checkpoints from this call, ascending.
        nested: the number of checkpoints in the subgraphs that it called itself.
    """

    ns: str
    caller: str | None
    checkpoint_ids: tuple[str, ...]
    nested: int = 0


def callers(ns: str) -> list[str]:
    """The nodes, and the ``@task`` functions, that called each other down to this subgraph."""
    parts = ns.split("|") if ns else []
    return [part.partition(":")[0] for place, part in enumerate(parts) if not (place and part.isdigit())]


def node(ns: str) -> str:
    """The node, or the ``@task``, that called this subgraph; of a subgraph that was compiled as a node, that node."""
    return callers(ns)[-1] if ns else ""


def levels(ns: str) -> list[str]:
    """The namespaces from the root down to this one.

    A part that is only a number belongs to the part before it: it numbers the subgraphs that one task called.
    """
    namespaces, path = [""], list[str]()
    for part in ns.split("|") if ns else ():
        path.append(part)
        if part.isdigit() and len(path) > 1:
            namespaces.pop()
        namespaces.append("|".join(path))
    return namespaces


def outer_graph(ns: str, namespaces: Sequence[str]) -> str:
    """The graph in which this subgraph was called: the nearest one around it that has checkpoints.

    `namespaces` are all of the thread, sorted.
    """
    return next((outer for outer in levels(ns)[-2:0:-1] if _has(namespaces, outer)), "")


def graphs_around(ns: str, parents: Mapping[str, str], namespaces: Sequence[str]) -> list[str]:
    """The graphs around a subgraph, from the root down; perhaps one that is stored nowhere (``checkpointer=False``).

    `namespaces` are all of the thread, sorted. `parents`, in a checkpoint's metadata, names each graph around it. The
    namespace alone doesn't for a subgraph with its own memory: ``outer|inner`` is called in ``outer:TASK``. For a
    ``@task`` that called it, which is no graph, `parents` repeats the checkpoint of the graph around the task.
    """
    by_depth = {len(callers(outer)): outer for outer in (*levels(ns)[:-1], *parents)}
    around, seen = list[str](), set[str]()
    for depth, outer in sorted(by_depth.items()):
        caller_id = parents.get(outer)
        is_known = caller_id is not None or not outer or _has(namespaces, outer)
        if depth < len(callers(ns)) and is_known and caller_id not in seen:
            around.append(outer)
            seen |= {caller_id} if caller_id is not None else set()
    return around


def path(ns: str) -> str:
    """The namespace without task ids and numbers, as it begins the namespaces of own memories inside it.

    langgraph 1.2 ``_internal/_config.py: recast_checkpoint_ns``.
    """
    return "|".join(callers(ns))


def calling_node(ns: str, outer: str) -> str:
    """The node of a graph around a subgraph whose task called it, perhaps in a ``@task``."""
    return callers(ns)[len(callers(outer))]


def calling_tasks(ns: str, outer: str) -> list[str]:
    """The ids of the task of a graph around a subgraph that called it, and of the ``@task`` calls down to it.

    Empty for a subgraph with its own memory.
    """
    if outer and not ns.startswith(f"{outer}|"):
        return []
    parts = ns[len(outer) :].removeprefix("|").split("|")
    return [task_id for _, _, task_id in (part.partition(":") for part in parts) if task_id]


def earlier_calls(ns: str, namespaces: Collection[str]) -> list[str]:
    """The calls that the same task made before this one and that are stored: ``n:TASK|2`` was its third."""
    first, _, number = ns.rpartition("|")
    if not first or not number.isdecimal():
        return []
    numbers = [
        rest for one in namespaces if one.startswith(f"{first}|") and (rest := one[len(first) + 1 :]).isdecimal()
    ]
    earlier = sorted((one for one in numbers if _size(one) < _size(number)), key=_size)
    return [*([first] if first in namespaces else ()), *(f"{first}|{one}" for one in earlier)]


def _size(number: str) -> tuple[int, str]:
    """A sort key of numbers without leading zeros: they may be names of nodes with any number of digits."""
    return len(number), number


def of_task(namespaces: Sequence[str], ns: str, called_node: str, task_id: str) -> list[str]:
    """The subgraphs that a task of a graph called, itself or in a ``@task``, with those inside them.

    `namespaces` are all of the thread, sorted.
    """
    start = f"{ns}|{called_node}:{task_id}".removeprefix("|")
    return [*([start] if _has(namespaces, start) else ()), *inside_sorted(namespaces, start)]


def _has(namespaces: Sequence[str], ns: str) -> bool:
    place = bisect_left(namespaces, ns)
    return namespaces[place : place + 1] == [ns]


def caller_task(ns: str) -> str:
    """The id of the task that called this subgraph, also of a numbered one; "" for one with a memory of its own."""
    outer = levels(ns)[-2]
    return ns[len(outer) :].removeprefix("|").partition("|")[0].partition(":")[2]


def inside(namespaces: Iterable[str], ns: str) -> list[str]:
    """The namespaces of all subgraphs inside this one, at any depth."""
    return [other for other in namespaces if other != ns and (not ns or other.startswith(f"{ns}|"))]


def inside_sorted(namespaces: Sequence[str], ns: str) -> Sequence[str]:
    """Like `inside`, for sorted namespaces: the subgraphs inside `ns` follow each other, so no others are looked at."""
    if not ns:
        return namespaces[bisect_right(namespaces, "") :]
    after = chr(ord("|") + 1)
    return namespaces[bisect_left(namespaces, f"{ns}|") : bisect_left(namespaces, f"{ns}{after}")]


def reached(namespaces: Sequence[str], ns: str) -> Sequence[str]:
    """Like `inside_sorted`, with the subgraphs that have their own memory and are called inside a subgraph with none.

    The namespaces of these don't begin with that of their caller: ``outer|inner`` is called in ``outer:TASK``.
    """
    own = inside_sorted(namespaces, ns)
    return own if path(ns) == ns else sorted({*own, *inside_sorted(namespaces, path(ns))} - {ns})


def below(other: str, ns: str) -> str:
    """The calls from a graph down to a subgraph that it reached."""
    around = ns if not ns or other.startswith(f"{ns}|") else path(ns)
    return other[len(around) :].removeprefix("|")


def named(namespaces: Collection[str], text: str) -> str:
    """The namespace named `text`, else the only one that begins with `text`; subgraphs inside a match don't count.

    Raises:
        NotFound: no namespace begins with `text`.
        UsageError: several namespaces begin with `text`.
    """
    if text in namespaces:
        return text
    matching = [ns for ns in namespaces if ns.startswith(text.rstrip("…"))]
    known = set(matching)
    outer = [ns for ns in matching if known.isdisjoint(accumulate(ns.split("|")[:-1], "{}|{}".format))]
    if len(outer) == 1:
        return outer[0]
    if matching:
        raise UsageError(f"{text!r} begins {len(outer)} namespaces", candidates=outer[:_LISTED])
    raise NotFound(f"no namespace {text!r}", candidates=[ns for ns in namespaces if ns][:_LISTED])


def called_from(ns: str, namespaces: Collection[str]) -> dict[str, None]:
    """The subgraphs that tasks of this graph called, without those that were called in them; in the same order."""
    own = {other: levels(other) for other in inside(namespaces, ns)}
    return dict.fromkeys(other for other, path in own.items() if ns in path and own.keys().isdisjoint(path[:-1]))


def calls(
    ns: str,
    members: Mapping[str, tuple[str, ...]],
    callers: Mapping[str, str],
    parents: Mapping[tuple[str, str], str],
) -> list[Call]:
    """The subgraphs called from checkpoints of a namespace, in the order of their first checkpoints.

    Args:
        ns: the namespace.
        members: the checkpoint ids of each namespace.
        callers: task id to the checkpoint that the task started from.
        parents: (namespace, checkpoint id) to the checkpoint of `ns` that the metadata names, where it was read.
    """
    result: list[Call] = []
    deeper: dict[str, list[str]] = {}
    children = called_from(ns, members)
    for other in inside(members, ns):
        if other not in children:
            around = next((outer for outer in levels(other) if outer in children), None)
            if around is not None:  # else another subgraph that the caller of this one called
                deeper.setdefault(around, []).extend(members[other])
    for child in children:
        by_caller: dict[str | None, list[str]] = {}
        task_caller = callers.get(caller_task(child))
        for checkpoint_id in members[child]:
            caller = task_caller or parents.get((child, checkpoint_id))
            by_caller.setdefault(caller, []).append(checkpoint_id)
        nested = _by_call(deeper.get(child, ()), [own[0] for own in by_caller.values()])
        result += [Call(child, caller, tuple(own), nested[own[0]]) for caller, own in by_caller.items()]
    return sorted(result, key=lambda call: call.checkpoint_ids[0])


def _by_call(checkpoint_ids: Iterable[str], starts: Iterable[str]) -> Counter[str]:
    """How many of these checkpoints were made after each start, and before the next one."""
    ordered = sorted(starts)
    return Counter(ordered[max(bisect_right(ordered, one) - 1, 0)] for one in checkpoint_ids)
