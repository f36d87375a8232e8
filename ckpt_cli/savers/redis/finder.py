"""What `Index` and `Scan` have in common: the documents of threads, and the names in their fields.

`Index` asks the server's index, `Scan` scans the server's keys.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ckpt_cli.model import CheckpointRow, Ref, WriteKey
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.keys import Keys, from_id, from_ns, from_text, safe_ns
from ckpt_cli.savers.spelling import index_of, text_of


class CheckpointDocument(NamedTuple):
    """The key of a checkpoint's document, and the names in its fields.

    Attributes:
        key: the document's key.
        parent_id: None for a root, and in layouts that keep no parents.
    """

    key: str
    ref: Ref
    parent_id: str | None

    @property
    def row(self) -> CheckpointRow:
        """The skeleton row."""
        return CheckpointRow(*self.ref, self.parent_id)


class Finder(ABC):
    """Finds the documents of some threads; `thread_ids` None means all threads."""

    @abstractmethod
    def spaces(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        """How many checkpoints each thread has in each namespace."""

    @abstractmethod
    def checkpoints(self, thread_ids: Collection[str] | None) -> list[CheckpointDocument]:
        """The documents of checkpoints, unordered."""

    @abstractmethod
    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """The fields of writes, without their values; each write has its ``key``, and its `WriteKey` as ``name``.

        `ids` are checkpoint ids. The answer may contain writes of other checkpoints.
        """

    @abstractmethod
    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointDocument]:
        """A namespace's documents with the highest ids, unordered; the answer may contain more of that namespace."""

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
"""The fields of a checkpoint's document that name it and its parent, each with its path in the JSON."""

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
"""The fields of a write's document except its value, each with its path in the JSON."""


def read_fields(
    connection: Connection, keys: Iterable[str], fields: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read fields of the documents at these keys, with the types that the values have in the documents."""
    all_keys = [*keys]
    answers = connection.read(("JSON.GET", key, *fields.values()) for key in all_keys)
    for key, answer in zip(all_keys, answers, strict=True):
        document = json.loads(answer) if isinstance(answer, bytes) else {}
        if document:
            yield key, {name: (document[path] or [None])[0] for name, path in fields.items()}


def name_document(key: str, fields: dict[str, Any], keys: Keys, *, by_key: bool) -> CheckpointDocument | None:
    """The names in a document's fields; None if no checkpoint is named, neither by the fields nor by the key.

    A document without any id is a stub that ``JSON.MERGE`` made on a missing key. checkpoint-redis 0.0.x stores the
    parent's id in ``checkpoint_id``, and the checkpoint's own id only inside the checkpoint object.

    Args:
        key: the document's key.
        fields: the fields of `CHECKPOINT`, with the types that they have in the document.
        keys: makes the names of this database's keys.
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
        return CheckpointDocument(key, ref._replace(checkpoint_id=own), stored or None)
    if keys.checkpoint(ref) == key or key in (keys.shallow(*ref[:2]), keys.shallow(ref.thread_id, safe_ns(ref.ns))):
        return CheckpointDocument(key, ref, parent or None)
    if not by_key:
        return CheckpointDocument(key, ref, parent or None)
    ref_by_key = keys.ref_of(key, fields)
    return None if ref_by_key is None else CheckpointDocument(key, ref_by_key, parent or None)


def write_key(fields: Mapping[str, Any], keys: Keys, *, by_key: bool) -> WriteKey:
    """The name of a write from its document's fields; `by_key` as in `name_document`."""
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
    """The position of a write in its task; the server's index and the keys hold the position as text."""
    if isinstance(stored, str):
        return int(stored) if _INTEGER.fullmatch(stored) else stored
    return index_of(stored)


_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
