"""The hash by which MySQL's keys find a namespace."""

import hashlib
import re

_SPELLED_HASH = re.compile(r"%md5:([0-9a-f]{32})")
"""The name of a namespace if only its hash is known."""


def namespace_hash(ns: str) -> bytes:
    """The hash of a namespace as LangGraph's own saver stores it (checkpoint-mysql 3.0, ``base.py: MIGRATIONS``).

    For a name that `MySQLEngine.namespace` spelled from a hash, this returns the hash in the name.
    """
    if spelled := _SPELLED_HASH.fullmatch(ns):
        return bytes.fromhex(spelled[1])
    return hashlib.md5(ns.encode(), usedforsecurity=False).digest()
