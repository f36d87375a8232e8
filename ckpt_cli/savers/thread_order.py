"""`newest_first`: threads in the order of their heads."""

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import chain

from ckpt_cli.model import Ref, Thread


def newest_first(
    heads: Iterable[tuple[str, str | None]], rootless: Callable[[list[str]], list[Thread]]
) -> Iterator[Thread]:
    """The threads, the highest head id first; none is held back that has a root namespace.

    Args:
        heads: thread ids with the highest checkpoint id of the root namespace. Those without one, whose id is None,
            come first.
        rootless: gives the threads with these ids, which have no root namespace, the highest head id first.
    """
    new, rest, ids = tuple.__new__, iter(heads), list[str]()  # the tuples' own `__new__` would be one of Python's
    first = next(rest, None)
    while first is not None and first[1] is None:
        ids.append(first[0])
        first = next(rest, None)
    without = rootless(ids) if ids else []
    if first is None:
        yield from without
        return
    named = chain([first], rest)
    with_root = (new(Thread, (thread_id, new(Ref, (thread_id, "", head or "")))) for thread_id, head in named)
    yield from merge(without, with_root, key=head_id, reverse=True) if without else with_root


def head_id(thread: Thread) -> str:
    """The id of a thread's head, which sorts by time."""
    return thread.head.checkpoint_id
