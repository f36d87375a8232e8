"""Filters and pipelines on LangGraph's unique indexes (thread, namespace, id descending, then task and index)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from ckpt_cli.model import Ref, Thread
from ckpt_cli.savers.about import Totals
from ckpt_cli.savers.mongodb.records import name_of, stored, thread_name, thread_of

Document = dict[str, Any]

SKELETON = ("checkpoint_ns", "checkpoint_id", "parent_checkpoint_id")
WRITE = ("checkpoint_ns", "checkpoint_id", "task_id", "task_path", "idx", "channel", "type")
DESCENDING = {"thread_id": 1, "checkpoint_ns": 1, "checkpoint_id": -1}
"""The order of the index, in which the server needn't sort."""
ASCENDING = {"checkpoint_id": 1}
"""The order of ids in one namespace; the server reads the index backwards for it."""

HEADS: list[Document] = [
    {"$sort": DESCENDING},
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
"""Each thread's first entry in the index; the server skips from thread to thread.

Threads without a root namespace come first. Then the order is by checkpoint id, highest first.
"""

TOTALS: list[Document] = [
    {"$sort": DESCENDING},
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
"""Thread ids that are stored as numbers; the index has them in one place."""


def totals_of(checkpoints: Document | None, writes: int) -> Totals:
    """The totals of a database: from the document that `TOTALS` gives, and the number of writes."""
    if checkpoints is None:
        return Totals(0, 0, writes)
    ends = (None if checkpoints.get(end) is None else name_of(checkpoints[end]) for end in ("oldest", "newest"))
    return Totals(checkpoints["threads"], checkpoints["count"], writes, *ends)


def namespaces_with_heads(where: Document) -> list[Document]:
    """A pipeline for the namespaces of threads, each with its highest id."""
    names = {"thread_id": "$thread_id", "checkpoint_ns": "$checkpoint_ns"}
    heads = {"$group": {"_id": names, "checkpoint_id": {"$first": "$checkpoint_id"}}}
    return [{"$match": where}, {"$sort": DESCENDING}, heads]


def rows(where: Document, sort: Mapping[str, int], *, limit: int = 0, sizes: bool) -> list[Document]:
    """A pipeline for skeleton rows; if `sizes`, with the size of each body. Not every server can compute sizes."""
    columns: Document = {"_id": 0, "thread_id": 1, **dict.fromkeys(SKELETON, 1)}
    if sizes:
        columns["size"] = {"$binarySize": "$checkpoint"}
    return [{"$match": where}, {"$sort": {**sort}}, *([{"$limit": limit}] if limit else []), {"$project": columns}]


def writes(where: Document, sort: Mapping[str, int], values: int | None, *, sizes: bool) -> list[Document]:
    """A pipeline for pending writes; if `sizes`, values longer than `values` bytes are left out."""
    columns: Document = {"_id": 0, "thread_id": 1, **dict.fromkeys(WRITE, 1)}
    size = {"$binarySize": "$value"}
    if values is None or not sizes:
        columns["value"] = 1
    else:
        columns["size"] = size
        if values > 0:
            columns["value"] = {"$cond": [{"$lte": [size, values]}, "$value", None]}
    return [{"$match": where}, {"$sort": {**sort}}, {"$project": columns}]


def filter_for(refs: Iterable[Ref], thread_ids: Mapping[str, Any]) -> Document:
    """A filter for checkpoints of any threads; `thread_ids` gives the stored form of thread ids."""
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
    """A filter for one id or several; ids that aren't text come first."""
    values = [*some]
    texts = sorted({one for one in values if isinstance(one, str)})
    unique = [one for at, one in enumerate(values) if not isinstance(one, str) and one not in values[:at]] + texts
    return unique[0] if len(unique) == 1 else {"$in": unique}


def ascending(documents: Iterable[Document]) -> Iterator[Document]:
    """Documents in the order of the index, reordered by ascending id; holds one namespace in memory at a time."""
    for _, some in groupby(documents, key=lambda document: (document.get("thread_id"), document.get("checkpoint_ns"))):
        yield from reversed([*some])


def by_checkpoint(writes: Iterable[Any]) -> Iterator[Any]:
    """Writes that arrive checkpoint by checkpoint, sorted into canonical order within each checkpoint."""
    for _, some in groupby(writes, key=lambda write: write.ref):
        yield from sorted(some, key=lambda write: write.order)


def ends(find: Callable[..., Iterable[Document]], limit: int) -> list[Ref]:
    """The first and the last checkpoints of the index; `find` takes columns, an order and a limit."""
    columns = ("thread_id", "checkpoint_ns", "checkpoint_id")
    orders = (DESCENDING, {name: -direction for name, direction in DESCENDING.items()})
    documents = (one for order in orders for one in find(columns, order, limit // 2))
    names = ((thread_of(one), *(name_of(one.get(name)) for name in columns[1:])) for one in documents)
    return list(dict.fromkeys(Ref(*name) for name in names))


def thread_with_head(raw: Any, ns: str, head: Any) -> Thread:
    """The thread for a stored thread id and its head's stored id."""
    name = thread_name(raw)
    return Thread(name, Ref(name, ns, name_of(head)))


def threads_with_heads(documents: Iterable[Document]) -> Iterator[Thread]:
    """Threads with heads, from the documents that the pipeline `namespaces_with_heads` gives.

    A head is the highest checkpoint id of the root namespace or, without one, of all namespaces.
    """
    heads: dict[str, tuple[bool, str, str]] = {}
    for one in documents:
        thread_id, ns = thread_of(one["_id"]), name_of(one["_id"].get("checkpoint_ns"))
        head = (ns == "", name_of(one.get("checkpoint_id")), ns)
        heads[thread_id] = max(heads.get(thread_id, head), head)
    yield from (Thread(name, Ref(name, ns, head)) for name, (_, head, ns) in heads.items())


def head_id(thread: Thread) -> str:
    """The sort key of threads: the head's id."""
    return thread.head.checkpoint_id
