"""Which checkpoint called which subgraph: namespaces, how they are nested, and one named by its beginning.

A namespace is a path of calls, joined by ``|``. Each call is ``node:TASK``, or ``node`` alone for a subgraph with a
memory of its own (``checkpointer=True``). The task started from a checkpoint of the outer namespace; ``parents`` in
metadata names that checkpoint.
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


def above(ns: str) -> str:
    """The namespace that called this one."""
    return ns.rpartition("|")[0]


def node(ns: str) -> str:
    """The node that is this subgraph."""
    return ns.rpartition("|")[2].partition(":")[0]


def task(ns: str) -> str | None:
    """The task that called this subgraph; None for a subgraph with a memory of its own."""
    return ns.rpartition("|")[2].partition(":")[2] or None


def levels(ns: str) -> list[str]:
    """The namespaces from the root down to this one.

    A part that is only a number belongs to the part before it: it numbers the subgraphs that one task called.
    """
    namespaces, path = [""], list[str]()
    for part in ns.split("|") if ns else ():
        path.append(part)
        if part.isdigit():
            namespaces.pop()
        namespaces.append("|".join(path))
    return namespaces


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


def _outermost(ns: str, other: str) -> str:
    """The subgraph called from `ns` that is the namespace `other`, or that `other` is inside of."""
    end = other.find("|", len(ns) + 1)
    return other if end < 0 else other[:end]


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
    for other in inside(members, ns):
        if other != (child := _outermost(ns, other)):
            deeper.setdefault(child, []).extend(members[other])
    for child in (other for other in inside(members, ns) if above(other) == ns):
        by_caller: dict[str | None, list[str]] = {}
        task_caller = callers.get(task(child) or "")
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
