"""Filters and pipelines over LangGraph's unique indexes (thread, namespace, id downwards, then task and position)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from ckpt_cli.model import Ref, Thread
from ckpt_cli.savers.mongodb.records import name_of, stored, thread_name, thread_of

Document = dict[str, Any]

SKELETON = ("checkpoint_ns", "checkpoint_id", "parent_checkpoint_id")
WRITE = ("checkpoint_ns", "checkpoint_id", "task_id", "task_path", "idx", "channel", "type")
DOWNWARDS = {"thread_id": 1, "checkpoint_ns": 1, "checkpoint_id": -1}
"""The order of the index, so that nothing is sorted."""
UPWARDS = {"checkpoint_id": 1}
"""Within one namespace the index read backwards."""

HEADS: list[Document] = [
    {"$sort": DOWNWARDS},
    {
        "$group": {
            "_id": "$thread_id",
            "checkpoint_ns": {"$first": "$checkpoint_ns"},
            "checkpoint_id": {"$first": "$checkpoint_id"},
        }
    },
    {"$project": {"checkpoint_ns": 1, "checkpoint_id": 1, "rooted": {"$eq": ["$checkpoint_ns", ""]}}},
    {"$sort": {"rooted": 1, "checkpoint_id": -1, "_id": 1}},
]
"""Each thread's first entry in the index, which a server skips to; threads without a root first, then newest first."""

TOTALS: list[Document] = [
    {"$sort": DOWNWARDS},
    {
        "$group": {
            "_id": "$thread_id",
            "count": {"$sum": 1},
            "oldest": {"$min": "$checkpoint_id"},
            "newest": {"$max": "$checkpoint_id"},
        }
    },
    {
        "$group": {
            "_id": None,
            "threads": {"$sum": 1},
            "count": {"$sum": "$count"},
            "oldest": {"$min": "$oldest"},
            "newest": {"$max": "$newest"},
        }
    },
]

NUMBER_IDS: list[Document] = [
    {"$match": {"thread_id": {"$type": "number"}}},
    {"$group": {"_id": "$thread_id"}},
]
"""Thread ids that were stored as numbers: a part of the index by itself."""


def spaces(where: Document) -> list[Document]:
    """The namespaces of some threads with the highest id of each."""
    named = {"thread_id": "$thread_id", "checkpoint_ns": "$checkpoint_ns"}
    heads = {"$group": {"_id": named, "checkpoint_id": {"$first": "$checkpoint_id"}}}
    return [{"$match": where}, {"$sort": DOWNWARDS}, heads]


def rows(where: Document, sort: Mapping[str, int], *, limit: int = 0, sizes: bool) -> list[Document]:
    """The skeleton of checkpoints, with the size of each where the server can measure it without sending it."""
    shown: Document = {"_id": 0, "thread_id": 1, **dict.fromkeys(SKELETON, 1)}
    if sizes:
        shown["size"] = {"$binarySize": "$checkpoint"}
    return [{"$match": where}, {"$sort": {**sort}}, *([{"$limit": limit}] if limit else []), {"$project": shown}]


def writes(where: Document, sort: Mapping[str, int], values: int | None, *, sizes: bool) -> list[Document]:
    """Pending writes; a value longer than `values` bytes is left out, where the server can measure it."""
    shown: Document = {"_id": 0, "thread_id": 1, **dict.fromkeys(WRITE, 1)}
    size = {"$binarySize": "$value"}
    if values is None or not sizes:
        shown["value"] = 1
    else:
        shown["size"] = size
        if values > 0:
            shown["value"] = {"$cond": [{"$lte": [size, values]}, "$value", None]}
    return [{"$match": where}, {"$sort": {**sort}}, {"$project": shown}]


def named(refs: Iterable[Ref], thread_ids: Mapping[str, Any]) -> Document:
    """A filter for some checkpoints of any thread; `thread_ids` has those that aren't stored as text."""
    clauses = [
        {
            "thread_id": thread_ids.get(thread_id, thread_id),
            "checkpoint_ns": stored(ns),
            "checkpoint_id": ids(stored(ref[2]) for ref in some),
        }
        for (thread_id, ns), some in groupby(sorted(set(refs)), key=lambda ref: ref[:2])
    ]
    return clauses[0] if len(clauses) == 1 else {"$or": clauses}


def ids(some: Iterable[Any]) -> Any:
    """One id, or any of some; such as are stored as no text come before it."""
    asked = [*some]
    texts = sorted({one for one in asked if isinstance(one, str)})
    found = [one for at, one in enumerate(asked) if not isinstance(one, str) and one not in asked[:at]] + texts
    return found[0] if len(found) == 1 else {"$in": found}


def ascending(found: Iterable[Document]) -> Iterator[Document]:
    """Documents that come by namespace upwards and by id downwards, upwards by both; holds one namespace at a time."""
    for _, some in groupby(found, key=lambda document: (document.get("thread_id"), document.get("checkpoint_ns"))):
        yield from reversed([*some])


def by_checkpoint(found: Iterable[Any]) -> Iterator[Any]:
    """Writes that come checkpoint by checkpoint, each one's in canonical order."""
    for _, some in groupby(found, key=lambda write: write.ref):
        yield from sorted(some, key=lambda write: write.order)


def ends(find: Callable[..., Iterable[Document]], limit: int) -> list[Ref]:
    """The first and the last checkpoints of the index; `find` takes columns, an order and a limit."""
    columns = ("thread_id", "checkpoint_ns", "checkpoint_id")
    orders = (DOWNWARDS, {name: -way for name, way in DOWNWARDS.items()})
    found = (one for order in orders for one in find(columns, order, limit // 2))
    names = ((thread_of(one), *(name_of(one.get(name)) for name in columns[1:])) for one in found)
    return list(dict.fromkeys(Ref(*name) for name in names))


def headed(raw: Any, ns: str, head: Any) -> Thread:
    """A thread by its id and its head's as they are stored."""
    name = thread_name(raw)
    return Thread(name, Ref(name, ns, name_of(head)))


def heads(found: Iterable[Document]) -> Iterator[Thread]:
    """Threads with their heads, of what `spaces` finds: in the root namespace, or the highest id of any."""
    best: dict[str, tuple[bool, str, str]] = {}
    for one in found:
        thread_id, ns = thread_of(one["_id"]), name_of(one["_id"].get("checkpoint_ns"))
        head = (ns == "", name_of(one.get("checkpoint_id")), ns)
        best[thread_id] = max(best.get(thread_id, head), head)
    yield from (Thread(name, Ref(name, ns, head)) for name, (_, head, ns) in best.items())


def head_id(thread: Thread) -> str:
    """What threads are sorted by."""
    return thread.head.checkpoint_id
