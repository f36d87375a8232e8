"""The lines about a plan's rows, for people and for ``--dry-run --json``; many of them are kept in a file."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO
from weakref import finalize

from ckpt_cli.model import Row, RowChange, WriteKey
from ckpt_cli.operations.side_effects import kind_of
from ckpt_cli.savers.contract import Saver
from ckpt_cli.views.base import Rows
from ckpt_cli.views.plan import RowLine

_IN_MEMORY = 2000  # further lines are written to a file without a name, which ends with the process


class RowLines(Rows):
    """The lines of one plan; they can be read several times, and take the same memory however many there are."""

    def __init__(self, lines: Iterable[RowLine]) -> None:
        rest = iter(lines)
        self._first = list(islice(rest, _IN_MEMORY))
        self._length = len(self._first)
        self._file = self._write(rest) if self._length == _IN_MEMORY else None

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[RowLine]:
        yield from self._first
        position = 0
        while self._file is not None:
            self._file.seek(position)  # several readers may take turns
            some = list(islice(iter(self._file.readline, ""), _IN_MEMORY))
            if not some:
                return
            position = self._file.tell()
            yield from (RowLine(*json.loads(line)) for line in some)

    def _write(self, lines: Iterable[RowLine]) -> IO[str]:
        from tempfile import TemporaryFile

        file = TemporaryFile("w+", encoding="ascii")  # noqa: SIM115 - it lives as long as the lines
        finalize(self, file.close)
        for one in lines:
            file.write(json.dumps([getattr(one, name) for name in RowLine.__slots__]) + "\n")
            self._length += 1
        return file


def row_lines(saver: Saver, changes: Iterable[RowChange]) -> Iterator[RowLine]:
    """One line for each row change."""
    for change in changes:
        name = saver.record_of(change.relation, change.key)
        ref = name.ref if isinstance(name, WriteKey) else name
        task, idx = (name.task_id, name.idx) if isinstance(name, WriteKey) else (None, None)
        thread_id, ns, checkpoint_id = (ref.thread_id, ref.ns, ref.checkpoint_id) if ref else (None, None, None)
        sizes = _size(change.before), _size(change.after)
        yield RowLine(kind_of(change), change.relation, thread_id, ns, checkpoint_id, task, idx, *sizes)


def _size(row: Row | None) -> int:
    return sum(len(value) for value in (row or {}).values() if isinstance(value, bytes | str))
