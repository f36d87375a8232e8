"""What a saver is tried with, and how a test sees all that it holds."""

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
    """All that a saver holds, read through the contract."""

    def look() -> tuple[list[Thread], list[Checkpoint], list[Write]]:
        threads = list(saver.threads())
        rows = [row for thread in threads for row in saver.rows(thread.thread_id)]
        writes = [found for thread in threads for found in saver.writes(thread.thread_id)]
        return threads, list(saver.checkpoints(row.ref for row in rows)), writes

    return saver.moment(look)


class Samples:
    """Records to try a saver with.

    A saver whose database keeps checkpoints in a shape of its own overrides `checkpoint`, `write`, `alike` and the
    samples.
    """

    odd_ids: ClassVar[list[str]] = ODD_IDS
    """Thread ids of which each is another; fewer where the engine itself takes some of them for one."""
    checkpoint_ids: ClassVar[list[str]] = ["10", "2", "1", "a", "B", "ä"]
    """The same of checkpoint ids, whose order is by their characters."""
    payloads: ClassVar[list[Payload]] = PAYLOADS
    """Write values that come back as they went in."""
    names_at_once: ClassVar[int] = 1203
    """How many checkpoints are asked for together: more than one statement takes."""
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
        """A record this database can hold; `payload` is its value, or one that tells where it belongs."""
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
        """A write this database can hold."""
        return write(thread_id, checkpoint_id, task_id, idx, ns=ns, channel=channel, path=path, payload=payload)

    def alike(self, stored: Checkpoint, given: Checkpoint) -> bool:
        """Whether a stored checkpoint is the one that was given, in all but its size."""
        return stored._replace(row=stored.row._replace(size=None)) == given
