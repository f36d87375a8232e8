"""`ThreadBytes`: what a thread's checkpoints and writes take in the database, whichever of them stay."""

from collections.abc import Callable

from ckpt_cli.model import Checkpoint, Ref
from ckpt_cli.reading import Reader


class ThreadBytes:
    """The stored bytes of one thread; a value that several checkpoints share counts once."""

    def __init__(self, reader: Reader, thread_id: str) -> None:
        own, self._values, self._uses = reader.saver.stored_sizes(thread_id)
        self._own = {ref: size or 0 for ref, size in own.items()}
        unknown = [ref for ref, size in own.items() if size is None]
        for stored in reader.saver.checkpoints(unknown):
            self._own[stored.row.ref] = payload_bytes(stored)
        for write in reader.saver.writes(thread_id, values=0):
            self._own[write.ref] = self._own.get(write.ref, 0) + write.size

    def without(self, goes: Callable[[Ref], bool]) -> int:
        """What is left without the checkpoints that go, and the writes stored on them."""
        left = [ref for ref in self._own if not goes(ref)]
        values = {value for ref in left for value in self._uses.get(ref, ())}
        return sum(self._own[ref] for ref in left) + sum(self._values.get(one, 0) for one in values)

    def everything(self) -> int:
        """What the whole thread takes."""
        return self.without(lambda _: False)


def payload_bytes(stored: Checkpoint) -> int:
    """The bytes of a checkpoint's payloads."""
    payloads = (stored.body, stored.metadata, *(stored.channels or {}).values())
    return sum(len(payload.data) for payload in payloads)
