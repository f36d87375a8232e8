"""LangGraph's names for keys, made from records and never taken apart: ids and namespaces hold colons themselves.

checkpoint-redis 0.5.2, ``base.py: _make_redis_checkpoint_key``, ``key_registry.py: make_write_keys_zset_key``.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from ckpt_cli.model import Ref, WriteKey
from ckpt_cli.savers.redis.address import Address

_NO_NS = "__empty__"
_NO_ID = "00000000-0000-0000-0000-000000000000"


class Keys:
    """The names of one database's keys."""

    def __init__(self, address: Address) -> None:
        self.prefix, self.write_prefix = address.prefix, address.write_prefix

    def checkpoint(self, ref: Ref) -> str:
        """A checkpoint's document."""
        return ":".join((self.prefix, safe_id(ref.thread_id), safe_ns(ref.ns), safe_id(ref.checkpoint_id)))

    def shallow(self, thread_id: str, ns: str) -> str:
        """The only document of a namespace in the shallow layout."""
        return ":".join((self.prefix, thread_id, ns))

    def latest(self, thread_id: str, ns: str) -> str:
        """The pointer to the checkpoint that was written last."""
        return ":".join((f"{self.prefix}_latest", safe_id(thread_id), safe_ns(ns)))

    def write(self, name: WriteKey) -> str:
        """A write's document."""
        ref = name.ref
        place = (safe_id(ref.thread_id), safe_ns(ref.ns), safe_id(ref.checkpoint_id))
        return ":".join((self.write_prefix, *place, name.task_id, str(name.idx)))

    def registry(self, ref: Ref) -> str:
        """The sorted set that names the writes of a checkpoint."""
        return ":".join(("write_keys_zset", safe_id(ref.thread_id), safe_ns(ref.ns), safe_id(ref.checkpoint_id)))

    def start(self, thread_id: str | None, *, writes: bool) -> str:
        """How the documents of a thread (and maybe some of others) begin, or those of all."""
        start = f"{self.write_prefix if writes else self.prefix}:"
        return start if thread_id is None else f"{start}{safe_id(thread_id)}:"

    def pattern(self, thread_id: str | None, *, writes: bool) -> str:
        """What a scan looks for: the documents of a thread (and maybe some of others), or of all."""
        return globbed(self.start(thread_id, writes=writes)) + "*"


def globbed(name: str) -> str:
    """A name that a pattern matches as it is."""
    return re.sub(r"([\\*?\[\]^])", r"\\\1", name)


def begun(names: Sequence[str], start: str) -> Iterator[str]:
    """Those of some sorted names that begin so."""
    first = bisect_left(names, start)
    return takewhile(lambda name: name.startswith(start), (names[at] for at in range(first, len(names))))


def safe_ns(ns: str) -> str:
    """A namespace as it is stored (``util.py: to_storage_safe_str``)."""
    return ns or _NO_NS


def safe_id(name: str) -> str:
    """An id as it is stored (``util.py: to_storage_safe_id``)."""
    return name or _NO_ID


def from_ns(stored: Any) -> str:
    """A namespace of its stored form, which the root's isn't always."""
    told = "" if stored is None else str(stored)
    return "" if told == _NO_NS else told


def from_id(stored: Any) -> str:
    """An id of its stored form."""
    told = "" if stored is None else str(stored)
    return "" if told == _NO_ID else told
