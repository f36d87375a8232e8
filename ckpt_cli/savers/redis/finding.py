"""Which documents there are of which threads, whatever finds them: the index of the server, or a scan of its keys."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ckpt_cli.model import CheckpointRow, Ref, WriteKey
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.keys import Keys, from_id, from_ns, from_text, safe_ns
from ckpt_cli.savers.spelling import index_of, text_of


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
        """The fields of writes but for their values, each with its ``key`` and `WriteKey` as ``name``.

        There may be some of other ids, too.
        """

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
    "ts": "$.checkpoint_ts",
    "w": "$.has_writes",
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


def documents(
    connection: Connection, keys: Iterable[str], fields: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The fields of the documents at these keys, with the types that they have there."""
    listed = [*keys]
    answers = connection.read(("JSON.GET", key, *fields.values()) for key in listed)
    for key, answer in zip(listed, answers, strict=True):
        document = json.loads(answer) if isinstance(answer, bytes) else {}
        if document:
            yield key, {name: (document[path] or [None])[0] for name, path in fields.items()}


def found(key: str, fields: dict[str, Any], keys: Keys, *, by_key: bool) -> Found | None:
    """Return a document by its fields; None for a stub without an id, which ``JSON.MERGE`` leaves on a missing key.

    checkpoint-redis 0.0.x keeps under ``checkpoint_id`` the id of the parent, and the checkpoint's own only inside.

    Args:
        key: where the document is.
        fields: those of `CHECKPOINT`, with the types that they have in the document.
        keys: how this database names its keys.
        by_key: whether a document whose fields contradict its key is named by the key. True where keys are scanned;
            False where the index finds documents by their fields.
    """
    if fields.get("w") is not None and all(fields.get(name) is None for name in ("t", "i", "own")):
        return None
    if not by_key and fields.get("t") is None:
        fields = {**fields, "t": text_of(None)}
    stored, own, parent = from_id(fields.get("i")), fields.get("own"), from_id(fields.get("p"))
    ref = Ref(from_id(fields.get("t")), from_ns(fields.get("n")), stored)
    if fields.get("ts") is None and isinstance(own, str) and own != stored:
        return Found(key, ref._replace(checkpoint_id=own), stored or None)
    if keys.checkpoint(ref) == key or key in (keys.shallow(*ref[:2]), keys.shallow(ref.thread_id, safe_ns(ref.ns))):
        return Found(key, ref, parent or None)
    if not by_key:
        return Found(key, ref, parent or None)
    named = keys.ref_of(key, fields)
    return None if named is None else Found(key, named, parent or None)


def write_key(fields: Mapping[str, Any], keys: Keys, *, by_key: bool) -> WriteKey:
    """The name of a write by its document's fields; see `found`."""
    if not by_key and fields.get("t") is None:
        fields = {**fields, "t": text_of(None)}
    task_id, idx = from_text(fields.get("task")), _index(fields.get("idx"))
    place = (from_id(fields.get("t")), from_ns(fields.get("n")), from_id(fields.get("i")))
    name = WriteKey(Ref(*place), task_id, idx)
    key = str(fields["key"])
    if not by_key or keys.write(name) == key:
        return name
    ref = keys.ref_of(key, fields, writes=True)
    before, _, last = key.rpartition(":")
    return name if ref is None else WriteKey(ref, before.rpartition(":")[2], _index(last))


def _index(stored: Any) -> int | str:
    """A position, which the server's index and keys hold as text."""
    if isinstance(stored, str):
        return int(stored) if _INTEGER.fullmatch(stored) else stored
    return index_of(stored)


_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
