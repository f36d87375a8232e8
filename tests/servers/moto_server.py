"""Moto's server, made quick: by itself it sorts the whole table for every query and copies it for each transaction.

python -m tests.servers.moto_server -H 127.0.0.1 -p PORT
"""

import threading
from copy import copy as shallow
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


def kept(self: Any, _: Any) -> Any:
    """The part of a table that a rollback needs: which items it has. Items are put and deleted, never changed."""
    copy = shallow(self)
    copy.items = type(self.items)(self.items.default_factory, {key: dict(part) for key, part in self.items.items()})
    return copy


if __name__ == "__main__":
    Table.query, Table.all_items, Table.__deepcopy__ = query, all_items, kept
    main()
