"""`ChangedThreads`: the threads and namespaces that an operation changed, a few by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

MOST_NAMED = 10
"""How many namespaces a view names; it counts all of them."""


class ChangedNamespace(NamedTuple):
    """A namespace of a thread, with the number of its checkpoints and writes that an operation changed."""

    thread_id: str
    ns: str
    records: int


@dataclass(frozen=True, slots=True)
class ChangedThreads:
    """The threads and namespaces that an operation changed.

    Attributes:
        threads: the number of threads.
        namespaces: the number of namespaces in all these threads; the root graph of a thread is one too.
        named: the first of these namespaces, by thread id and namespace; at most `MOST_NAMED`.
    """

    threads: int
    namespaces: int
    named: tuple[ChangedNamespace, ...]


def changed_threads(counts: Mapping[tuple[str, str], int]) -> ChangedThreads:
    """The threads and namespaces of a count of records by (thread id, namespace)."""
    first = sorted(counts)[:MOST_NAMED]
    named = tuple(ChangedNamespace(*place, counts[place]) for place in first)
    return ChangedThreads(len({thread_id for thread_id, _ in counts}), len(counts), named)
