"""`ThreadBytes`: what a thread's checkpoints and writes take in the database, whichever of them stay."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ckpt_cli.model import Checkpoint, Ref
from ckpt_cli.reading import Reader

_MARK = 8  # what `true` under a name takes in JSONB beside the name (PostgreSQL 17, ``utils/jsonb.h``: two JEntry)


class Growth(NamedTuple):
    """What a changed checkpoint takes more than now.

    Attributes:
        own: bytes of the checkpoint alone.
        values: namespace, channel and version of each value that other checkpoints may share, with its new size.
    """

    own: int = 0
    values: tuple[tuple[tuple[str, str, str], int], ...] = ()


class ThreadBytes:
    """The stored bytes of one thread; a value that several checkpoints share counts once."""

    def __init__(self, reader: Reader, thread_id: str) -> None:
        own, self._values, self._uses = reader.saver.stored_sizes(thread_id)
        self._own = {ref: size or 0 for ref, size in own.items()}
        self._marks = reader.saver.form.marks_snapshots
        self._read = frozenset(ref for ref, size in own.items() if size is None)
        self._foresees = reader.saver.foresees_sizes
        for stored in reader.saver.checkpoints(self._read):
            self._own[stored.row.ref] = payload_bytes(stored)
        for write in reader.saver.writes(thread_id, values=0):
            self._own[write.ref] = self._own.get(write.ref, 0) + write.size

    def without(self, goes: Callable[[Ref], bool]) -> int:
        """What is left without the checkpoints that go, and the writes stored on them."""
        left = [ref for ref in self._own if not goes(ref)]
        values = {value for ref in left for value in self._uses.get(ref, ())}
        return sum(self._own[ref] for ref in left) + sum(self._values.get(one, 0) for one in values)

    def growth(self, stored: Checkpoint, changed: Checkpoint) -> Growth:
        """What a checkpoint takes more, by the saver's own measure, once snapshots are stored in it."""
        ref = stored.row.ref
        if ref in self._read:
            return Growth(payload_bytes(changed) - payload_bytes(stored))
        if stored.channels is None:
            return Growth(len(changed.body.data) - len(stored.body.data))
        payloads, names = changed.channels or {}, {value[1]: value for value in self._uses.get(ref, ())}
        new = [channel for channel, payload in payloads.items() if payload != stored.channels.get(channel)]
        own = sum(len(channel.encode("utf-8", "surrogatepass")) + _MARK for channel in new) if self._marks else 0
        return Growth(own, tuple((names[one], len(payloads[one].data)) for one in new if one in names))

    def sum_growths(self, growths: Iterable[Growth]) -> int:
        """What these changed checkpoints take more together; a value that several share counts once."""
        chosen = [*growths]
        values = dict(value for growth in chosen for value in growth.values)
        more = sum(size - self._values.get(value, 0) for value, size in values.items())
        return sum(growth.own for growth in chosen) + more

    def foresees(self, refs: Iterable[Ref]) -> bool:
        """Whether the saver will say exactly as many bytes of these checkpoints as `growth` does now."""
        return self._foresees or self._read.issuperset(refs)

    def everything(self) -> int:
        """What the whole thread takes."""
        return self.without(lambda _: False)


def payload_bytes(stored: Checkpoint) -> int:
    """The bytes of a checkpoint's payloads."""
    payloads = (stored.body, stored.metadata, *(stored.channels or {}).values())
    return sum(len(payload.data) for payload in payloads)
