"""Sorts any number of threads in little memory: beyond some thousands, sorted runs wait in a file."""

import json
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple
from weakref import finalize

from ckpt_cli.model import Ref, Thread

_IN_MEMORY = 5000  # threads; more are sorted in a file without a name, which ends with the process

Entry = tuple[int | str, int, Thread]
"""A thread behind what it is sorted by: its key, and its position among threads with equal keys."""


class SortedThreads(NamedTuple):
    """Threads in their order, which can be taken once, and their number."""

    threads: Iterator[Thread]
    number: int


def sort_threads(keyed: Iterable[tuple[int | str, Thread]], *, reverse: bool = False) -> SortedThreads:
    """The threads, ascending by their keys; equal keys leave them in the given order. `reverse` turns all of it round.

    All threads are taken before this returns.
    """
    rest = ((key, position, thread) for position, (key, thread) in enumerate(keyed))
    first = _next_run(rest, reverse)
    if len(first) < _IN_MEMORY:
        return SortedThreads((thread for _, _, thread in first), len(first))
    runs = _Runs()
    run = first
    while run:
        runs.add(run)
        run = _next_run(rest, reverse)
    return SortedThreads(runs.merged(reverse), runs.count)


def _next_run(rest: Iterator[Entry], reverse: bool) -> list[Entry]:
    return sorted(islice(rest, _IN_MEMORY), key=lambda entry: entry[:2], reverse=reverse)


class _Runs:
    """Sorted runs in one file, a line of JSON for each thread."""

    def __init__(self) -> None:
        from tempfile import TemporaryFile

        self._file = TemporaryFile("w+b")  # noqa: SIM115 - it lives as long as the threads are taken
        finalize(self, self._file.close)
        self._ends = [0]
        self.count = 0

    def add(self, run: list[Entry]) -> None:
        """Write a run to the end of the file."""
        for key, position, thread in run:
            self._file.write(json.dumps([key, position, thread.thread_id, *thread.head[1:]]).encode() + b"\n")
        self._ends.append(self._file.tell())
        self.count += len(run)

    def merged(self, reverse: bool) -> Iterator[Thread]:
        """The threads of all runs in one order."""
        runs = [self._read(start, end) for start, end in zip(self._ends, self._ends[1:], strict=False)]
        for _, _, thread_id, ns, checkpoint_id in merge(*runs, reverse=reverse):
            yield Thread(thread_id, Ref(thread_id, ns, checkpoint_id))

    def _read(self, start: int, end: int) -> Iterator[list[Any]]:
        while start < end:
            self._file.seek(start)
            line = self._file.readline()
            start = self._file.tell()
            yield json.loads(line)
