"""LangGraph's keys for records, and patterns of keys for a scan; ids and namespaces may hold colons.

A key alone can't be parsed because of those colons. checkpoint-redis 0.5.2, ``base.py: _make_redis_checkpoint_key``,
``key_registry.py: make_write_keys_zset_key``.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from ckpt_cli.model import Ref, WriteKey
from ckpt_cli.savers.redis.address import Address
from ckpt_cli.savers.spelling import text_of

_NO_NS = "__empty__"
_NO_ID = "00000000-0000-0000-0000-000000000000"


class Keys:
    """Makes the names of one database's keys."""

    def __init__(self, address: Address) -> None:
        self.prefix, self.write_prefix = address.prefix, address.write_prefix

    def checkpoint(self, ref: Ref) -> str:
        """The key of a checkpoint's document."""
        return ":".join((self.prefix, safe_id(ref.thread_id), safe_ns(ref.ns), safe_id(ref.checkpoint_id)))

    def shallow(self, thread_id: str, ns: str) -> str:
        """The key of a namespace's only document in the shallow layout."""
        return ":".join((self.prefix, thread_id, ns))

    def latest(self, thread_id: str, ns: str) -> str:
        """The key of the pointer to the checkpoint that was written last."""
        return ":".join((f"{self.prefix}_latest", safe_id(thread_id), safe_ns(ns)))

    def write(self, name: WriteKey) -> str:
        """The key of a write's document."""
        ref = name.ref
        place = (safe_id(ref.thread_id), safe_ns(ref.ns), safe_id(ref.checkpoint_id))
        return ":".join((self.write_prefix, *place, name.task_id, str(name.idx)))

    def registry(self, ref: Ref) -> str:
        """The key of the sorted set that names a checkpoint's writes."""
        return ":".join(("write_keys_zset", safe_id(ref.thread_id), safe_ns(ref.ns), safe_id(ref.checkpoint_id)))

    def ref_of(self, key: str, fields: Mapping[str, Any], *, writes: bool = False) -> Ref | None:
        """The checkpoint that a document's key names, for a document with damaged fields; None if a part is missing.

        Ids and namespaces may hold colons, so each of the fields ``t``, ``n`` and ``i`` that fits the key helps to
        split the key. In a write's key more parts follow the checkpoint's id.
        """
        rest = key.removeprefix(self.start(None, writes=writes))
        if writes:
            rest = rest.rpartition(":")[0].rpartition(":")[0]
        thread_id, ns, own = (safe(from_(fields.get(name))) for name, safe, from_ in _FIELDS)
        before = rest.removesuffix(f":{own}") if rest.endswith(f":{own}") else rest.rpartition(":")[0]
        if before.startswith(f"{thread_id}:"):
            place = (thread_id, before[len(thread_id) + 1 :])
        elif before.endswith(f":{ns}"):
            place = (before.removesuffix(f":{ns}"), ns)
        else:
            place = before.partition(":")[::2]
        if not all(place) or len(rest) == len(before):
            return None
        return Ref(from_id(place[0]), from_ns(place[1]), from_id(rest[len(before) + 1 :]))

    def start(self, thread_id: str | None, *, writes: bool) -> str:
        """The start of a thread's (or all threads') document keys; keys of other threads may have the same start."""
        start = f"{self.write_prefix if writes else self.prefix}:"
        return start if thread_id is None else f"{start}{safe_id(thread_id)}:"

    def pattern(self, thread_id: str | None, *, writes: bool) -> str:
        """A scan's pattern for the documents of a thread or of all threads; documents of other threads may match."""
        return escape_pattern(self.start(thread_id, writes=writes)) + "*"


def escape_pattern(name: str) -> str:
    """A pattern that matches exactly this name."""
    return re.sub(r"([\\*?\[\]^])", r"\\\1", name)


def names_with_prefix(names: Sequence[str], start: str) -> Iterator[str]:
    """Those of the sorted names that begin with `start`."""
    first = bisect_left(names, start)
    return takewhile(lambda name: name.startswith(start), (names[at] for at in range(first, len(names))))


def safe_ns(ns: str) -> str:
    """A namespace as it is stored (``util.py: to_storage_safe_str``)."""
    return ns or _NO_NS


def safe_id(name: str) -> str:
    """An id as it is stored (``util.py: to_storage_safe_id``)."""
    return name or _NO_ID


def from_ns(stored: Any) -> str:
    """The namespace for its stored form (the root's may also be ""); other types become text by `text_of`."""
    name = from_text(stored)
    return "" if name == _NO_NS else name


def from_id(stored: Any) -> str:
    """The id for its stored form; other types become text by `text_of`."""
    name = from_text(stored)
    return "" if name == _NO_ID else name


def from_text(stored: Any) -> str:
    """A stored name as text; "" if missing; other types become text by `text_of`."""
    return stored if isinstance(stored, str) else "" if stored is None else text_of(stored)


_FIELDS = (("t", safe_id, from_id), ("n", safe_ns, from_ns), ("i", safe_id, from_id))
