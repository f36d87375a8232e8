"""`ChangeSpool`: row changes as the log will have them, in a file until they are applied."""

import json
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from tempfile import SpooledTemporaryFile
from typing import Any
from weakref import finalize

from ckpt_cli.errors import Refused
from ckpt_cli.model import Insertion, RowChange
from ckpt_cli.operations.digests import condensed
from ckpt_cli.operations.row_images import Packed, digest, key_text, pack, parse_key, unpack
from ckpt_cli.savers.contract import Saver

_IN_MEMORY = 4_000_000  # bytes; more are written to the disk


class ChangeSpool:
    """Keeps changes without long values, and recognizes the same changes when they are made again with them.

    Args:
        saver: the database that is changed.
    """

    def __init__(self, saver: Saver) -> None:
        self._saver = saver
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it lives as long as this
        self._places: dict[str, int] = {}
        finalize(self, self._file.close)

    def add(self, thread_id: str, insertions: Iterable[Insertion]) -> Iterator[RowChange]:
        """Keep the changes of a thread, read one by one, and give each as the log will have it."""
        self._file.seek(0, 2)
        self._places[thread_id] = self._file.tell()
        for change, image in insertions:
            written = condensed(self._saver, change)
            logged = written if image is None else condensed(self._saver, change._replace(after=image))
            images = pack(logged.before), pack(logged.after), digest(logged.before), digest(logged.after)
            words = [one and one.hex() for one in images]
            self._file.write(
                json.dumps([change.relation, key_text(change.key), words, _mark(written)]).encode() + b"\n"
            )
            yield logged
        self._file.write(b"\n")

    def logged(self, thread_id: str) -> "Logged":
        """The changes of a thread for the log; they can be read several times."""
        return Logged(self, thread_id)

    def changes(self, thread_id: str) -> Iterator[RowChange]:
        """The changes of a thread as the log has them."""
        for one in self.logged(thread_id):
            before, after = one.images[:2]
            yield RowChange(one.relation, one.key, unpack(before), unpack(after))

    def recognized(self, thread_id: str, changes: Iterable[RowChange]) -> Iterator[RowChange]:
        """The same changes, made again.

        Raises:
            Refused: they aren't the same.
        """
        lines = self.lines(thread_id)
        for change in changes:
            line = next(lines, None)
            if line is None or line[3] != _mark(condensed(self._saver, change)):
                raise _changed(thread_id)
            yield change
        if next(lines, None) is not None:
            raise _changed(thread_id)

    def lines(self, thread_id: str) -> Iterator[list[Any]]:
        """What the file has of a thread: relation, key, images, mark."""
        position = self._places[thread_id]
        while True:
            self._file.seek(position)  # several readers may take turns
            line = self._file.readline()
            if line == b"\n":
                return
            position = self._file.tell()
            yield json.loads(line)


class Logged:
    """The changes of one thread, read from a spool each time anew."""

    def __init__(self, spool: ChangeSpool, thread_id: str) -> None:
        self._spool, self._thread_id = spool, thread_id

    def __iter__(self) -> Iterator[Packed]:
        for relation, key, words, _ in self._spool.lines(self._thread_id):
            images = [None if one is None else bytes.fromhex(one) for one in words]
            yield Packed(relation, parse_key(key), images)


def _mark(change: RowChange) -> str:
    """What two changes have in common only if they are the same."""
    rows = [row and sorted(row.items()) for row in (change.key, change.before, change.after)]
    return blake2b(repr([change.relation, *rows]).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _changed(thread_id: str) -> Refused:
    return Refused(f"thread {thread_id!r} changed while the plan was applied", hint="run the command again")
