"""`ChangeSpool`: row changes as the log will have them, in a file until they are applied."""

from collections.abc import Iterable, Iterator
from typing import Any

from ckpt_cli.errors import Refused
from ckpt_cli.model import Insertion, Row, RowChange
from ckpt_cli.operations.digests import condensed
from ckpt_cli.operations.entry_file import EntryFile
from ckpt_cli.operations.row_images import Packed, digest, pack_and_digest, unpack
from ckpt_cli.savers.contract import Saver

_SIZED = (str, bytes)
_MOST = 256 << 20  # bytes of long values that are kept; the rows of further threads are made twice


class ChangeSpool:
    """Keeps changes without long values, and recognizes the same changes when they are made again with them.

    Args:
        saver: the database that is changed.
    """

    def __init__(self, saver: Saver) -> None:
        self._saver = saver
        self._entries, self._values = EntryFile(), EntryFile()
        self._places: dict[str, int] = {}
        self._kept: dict[str, int] = {}
        self._left = _MOST

    def add(self, thread_id: str, insertions: Iterable[Insertion], *, keep: bool = False) -> Iterator[RowChange]:
        """Keep the changes of a thread, read one by one, and give each as the log will have it.

        Args:
            thread_id: the thread.
            insertions: the changes.
            keep: whether to keep long values, too, as far as there is room, so that `contents` has them. Rows that
                exist already must not be among these changes, and none may be needed.
        """
        self._places[thread_id] = self._entries.begin()
        place, left = self._values.begin(), self._left if keep else -1
        for one in insertions:
            change, size = one.change, _size(one.change.after)
            left -= size
            if left >= 0:
                self._values.add([change.relation, {**change.key}, {**(change.after or {})}], size)
            yield self._add(one)
        self._entries.end()
        if left >= 0:
            self._values.end()
            self._kept[thread_id], self._left = place, left
        else:
            self._values.cut(place)
            self._kept.pop(thread_id, None)

    def _add(self, one: Insertion) -> RowChange:
        change, image, digests = one
        written = condensed(self._saver, change, digests)
        logged = written if image is None else condensed(self._saver, change._replace(after=image), digests)
        (before, old), (after, new) = pack_and_digest(logged.before), pack_and_digest(logged.after)
        sent = None if logged is written else {**(written.after or {})}
        size = len(before or b"") + len(after or b"")
        self._entries.add([change.relation, {**change.key}, [before, after, old, new], sent], size)
        return logged

    def logged(self, thread_id: str) -> "Logged":
        """The changes of a thread for the log; they can be read several times."""
        return Logged(self, thread_id)

    def changes(self, thread_id: str) -> Iterator[RowChange]:
        """The changes of a thread as the log has them."""
        for relation, key, (before, after, _, _), _ in self.entries(thread_id):
            yield RowChange(relation, key, unpack(before), unpack(after))

    def contents(self, thread_id: str) -> Iterator[RowChange] | None:
        """The changes of a thread with long values; None if these weren't kept."""
        place = self._kept.get(thread_id)
        if place is None:
            return None
        return (RowChange(relation, key, None, row) for relation, key, row in self._values.read(place))

    def recognized(self, thread_id: str, changes: Iterable[RowChange]) -> Iterator[RowChange]:
        """The same changes, made again.

        Raises:
            Refused: they aren't the same.
        """
        entries = self.entries(thread_id)
        for change in changes:
            entry = next(entries, None)
            if entry is None or not self._is_entry(change, entry):
                raise _changed(thread_id)
            yield change
        if next(entries, None) is not None:
            raise _changed(thread_id)

    def _is_entry(self, change: RowChange, entry: list[Any]) -> bool:
        relation, key, images, sent = entry
        if (relation, key, images[2]) != (change.relation, change.key, digest(change.before)):
            return False
        now = condensed(self._saver, change).after
        return bool(images[3] == digest(now) if sent is None else sent == now)

    def entries(self, thread_id: str) -> Iterator[list[Any]]:
        """What the file has of a thread: relation, key, packed images with their digests; and, if it isn't the last
        image, the row as it is sent, condensed."""
        return self._entries.read(self._places[thread_id])


class Logged:
    """The changes of one thread, read from a spool each time anew."""

    def __init__(self, spool: ChangeSpool, thread_id: str) -> None:
        self._spool, self._thread_id = spool, thread_id

    def __iter__(self) -> Iterator[Packed]:
        return (Packed(relation, key, images) for relation, key, images, _ in self._spool.entries(self._thread_id))


def _size(row: Row | None) -> int:
    return sum([len(value) for value in (row or {}).values() if isinstance(value, _SIZED)])


def _changed(thread_id: str) -> Refused:
    return Refused(f"thread {thread_id!r} changed while the plan was applied", hint="run the command again")
