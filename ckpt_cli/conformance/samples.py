"""The records with which savers are tested (odd ids, payloads), and a function that reads everything."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.model import NULL, Checkpoint, Payload, Thread, Write
from ckpt_cli.savers.contract import Saver

Make = Callable[[Iterable[Checkpoint | Write]], Saver]

ODD_IDS = [
    "a@b",
    "@",
    "x:y/z",
    " spaced ",
    "spaced",
    "a|b#c",
    "中文",
    "🙂",
    "it's",
    'say "hi"',
    "100%",
    "100_",
    "1000",
    "%",
    "_",
    "*",
    "A",
    "a",
    "7",
    "07",
    "line\nbreak",
    "\\back",
    "'; DROP TABLE checkpoints; --",
]

PAYLOADS = [
    Payload("msgpack", b"\x81\xa1a\x01"),
    Payload("json", '{"ä": "中文"}'.encode()),
    NULL,
    Payload("bytes", bytes(range(256))),
    Payload("msgpack+aes", b"\x00" * 32),
    Payload("json", b"\xff\xfe not UTF-8 \x00"),
    Payload("some other tag", b"\r\n"),
    Payload("msgpack", b"long" * 5000),
]


def everything(saver: Saver) -> tuple[list[Thread], list[Checkpoint], list[Write]]:
    """All threads, checkpoints and writes that a saver holds, read in one moment."""

    def read() -> tuple[list[Thread], list[Checkpoint], list[Write]]:
        threads = list(saver.threads())
        rows = [row for thread in threads for row in saver.rows(thread.thread_id)]
        writes = [write for thread in threads for write in saver.writes(thread.thread_id)]
        return threads, list(saver.checkpoints(row.ref for row in rows)), writes

    return saver.moment(read)


class Samples:
    """Records for the tests.

    If a database can't hold arbitrary payloads or ids, the tests of its saver override `checkpoint`, `write`, `alike`
    and the samples.
    """

    odd_ids: ClassVar[list[str]] = ODD_IDS
    """Thread ids that are all different. Override them with fewer if the engine treats some of them as equal."""
    checkpoint_ids: ClassVar[list[str]] = ["10", "2", "1", "a", "B", "ä"]
    """Checkpoint ids that are all different; they sort by their characters."""
    payloads: ClassVar[list[Payload]] = PAYLOADS
    """Values of writes that must be read exactly as they were written."""
    names_at_once: ClassVar[int] = 1203
    """How many checkpoints to read at once: more than fit in one statement."""
    metadata: ClassVar[Payload] = Payload("json", '{"step": -1, "n": "ä\\u0000"}'.encode())

    def checkpoint(
        self,
        thread_id: str,
        checkpoint_id: str,
        *,
        ns: str = "",
        parent_id: str | None = None,
        payload: Payload | None = None,
        metadata: Payload | None = None,
    ) -> Checkpoint:
        """A checkpoint that this database can hold; without a `payload`, its value contains its own name."""
        return checkpoint(thread_id, checkpoint_id, ns=ns, parent_id=parent_id, body=payload, metadata=metadata)

    def write(
        self,
        thread_id: str,
        checkpoint_id: str,
        task_id: str = "task",
        idx: int = 0,
        *,
        ns: str = "",
        channel: str = "messages",
        path: str = "",
        payload: Payload | None = None,
    ) -> Write:
        """A write that this database can hold."""
        return write(thread_id, checkpoint_id, task_id, idx, ns=ns, channel=channel, path=path, payload=payload)

    def alike(self, stored: Checkpoint, original: Checkpoint) -> bool:
        """Whether a checkpoint that was read equals the written checkpoint, except for the size."""
        return stored._replace(row=stored.row._replace(size=None)) == original
