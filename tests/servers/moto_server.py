"""Moto's server, which finds a partition by its key: by itself it sorts the whole table for every query.

python -m tests.servers.moto_server -H 127.0.0.1 -p PORT
"""

import threading
from typing import Any

from moto.dynamodb.models.table import Table
from moto.server import main


class _Asked(threading.local):
    """The partition that this thread's query is about."""

    key: Any = None


_asked = _Asked()
_query, _all_items = Table.query, Table.all_items


def query(self: Any, hash_key: Any, *words: Any, **named: Any) -> Any:
    """Only of the table itself: tables of the saver have no indexes."""
    _asked.key = hash_key
    try:
        return _query(self, hash_key, *words, **named)
    finally:
        _asked.key = None


def all_items(self: Any) -> Any:
    if _asked.key is None:
        return _all_items(self)
    return sorted(self.items.get(_asked.key, {}).values(), key=lambda item: item.range_key)


if __name__ == "__main__":
    Table.query, Table.all_items = query, all_items
    main()
