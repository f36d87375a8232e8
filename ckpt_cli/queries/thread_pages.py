"""Long lists of threads, read and printed page by page, so that memory doesn't grow with the list."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import IO, TYPE_CHECKING
from weakref import finalize

from ckpt_cli.model import Ref, Thread
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session

if TYPE_CHECKING:
    from ckpt_cli.views.threads import ThreadsView, ThreadView

_AT_ONCE = 500  # threads that are read in one moment
_IN_MEMORY = 5000  # the heads of further threads are kept in a file without a name, which ends with the process


class Heads:
    """The threads of a list with their heads, as one moment had them; they can be read several times."""

    def __init__(self, threads: Iterable[Thread]) -> None:
        rest = iter(threads)
        self._first = list(islice(rest, _IN_MEMORY))
        self._count = len(self._first)
        self._file = self._write(rest) if self._count == _IN_MEMORY else None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Thread]:
        new = tuple.__new__  # the tuples' own `__new__` would be a function of Python's
        yield from self._first
        if self._file is not None:
            self._file.seek(0)
            for page in map(json.loads, self._file):
                yield from (new(Thread, (head[0], new(Ref, head))) for head in page)

    def _write(self, threads: Iterable[Thread]) -> IO[str]:
        from tempfile import TemporaryFile

        file = TemporaryFile("w+", encoding="ascii")  # noqa: SIM115 - it lives as long as the list
        finalize(self, file.close)
        for page in pages(threads, _AT_ONCE):
            file.write(json.dumps([thread.head for thread in page]) + "\n")
            self._count += len(page)
        return file


def stream(
    session: Session,
    view: "ThreadsView",
    wanted: Callable[[Reader], Iterable[Thread]],
    listed: "Callable[[Reader, Iterable[Thread]], ThreadsView]",
) -> "Iterator[ThreadView]":
    """The threads of a long list. Each page is one moment; a thread that was deleted meanwhile is left out.

    `wanted` gives the threads of the list in their order, and `listed` the view of some of them. The counts of `view`
    are right when all threads were taken.
    """
    heads = session.read(lambda reader: Heads(wanted(reader)))
    for page in pages(heads, _AT_ONCE):
        part = session.read(_on(listed, page))
        view.add(part)
        yield from part.threads


def _on(
    listed: "Callable[[Reader, Iterable[Thread]], ThreadsView]", page: list[Thread]
) -> "Callable[[Reader], ThreadsView]":
    return lambda reader: listed(reader, page)
