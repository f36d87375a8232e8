"""Which documents there are of which threads, whatever finds them: the index of the server, or a scan of its keys."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.savers.redis.keys import from_id, from_ns


class Found(NamedTuple):
    """A checkpoint's document, by its own fields.

    Attributes:
        key: of the document.
        parent_id: None for a root, and where the layout keeps no parents.
    """

    key: str
    ref: Ref
    parent_id: str | None

    @property
    def row(self) -> CheckpointRow:
        """The skeleton."""
        return CheckpointRow(*self.ref, self.parent_id)


class Finder(ABC):
    """What every way of finding documents gives; `thread_ids` None is all of them."""

    @abstractmethod
    def spaces(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        """How many checkpoints each thread has in each namespace."""

    @abstractmethod
    def checkpoints(self, thread_ids: Collection[str] | None) -> list[Found]:
        """The documents of checkpoints, in no order."""

    @abstractmethod
    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """The fields of writes but for their values, each with its ``key``; maybe of more than those ids."""

    @abstractmethod
    def newest(self, thread_id: str, ns: str, limit: int) -> list[Found]:
        """The highest ids of a namespace, in no order, and maybe others of it."""

    @abstractmethod
    def count_writes(self) -> int:
        """How many writes there are."""


CHECKPOINT = {
    "t": "$.thread_id",
    "n": "$.checkpoint_ns",
    "i": "$.checkpoint_id",
    "p": "$.parent_checkpoint_id",
    "own": "$.checkpoint.id",
}
"""The fields of a checkpoint's document that name it and its parent."""

WRITE = {
    "t": "$.thread_id",
    "n": "$.checkpoint_ns",
    "i": "$.checkpoint_id",
    "task": "$.task_id",
    "path": "$.task_path",
    "idx": "$.idx",
    "channel": "$.channel",
    "type": "$.type",
}
"""The fields of a write's document but for its value."""


def found(key: str, fields: dict[str, Any]) -> Found | None:
    """A document by its fields; None for a stub without an id, which ``JSON.MERGE`` leaves on a key that isn't there.

    checkpoint-redis 0.0.x keeps under ``checkpoint_id`` the id of the parent, and the checkpoint's own only inside.
    """
    if fields.get("t") is None or fields.get("i") is None:
        return None
    stored, own = from_id(fields["i"]), fields.get("own")
    misnamed = own is not None and own != stored
    checkpoint_id = str(own) if misnamed else stored
    parent = stored if misnamed else from_id(fields.get("p"))
    return Found(key, Ref(from_id(fields["t"]), from_ns(fields.get("n")), checkpoint_id), parent or None)
