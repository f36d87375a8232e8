"""Thread ids as they are stored: some programs store an id as a number, others as text."""

from typing import Any

from ckpt_cli.savers.mongodb import reading, records
from ckpt_cli.savers.mongodb.connection import Connection


class ThreadIds:
    """The stored ids of one connection's threads; those that are numbers are read once in a moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers: dict[str, Any] | None = None

    def forget(self) -> None:
        """Forget the numbers, because another moment begins."""
        self._numbers = None

    def stored(self, thread_id: str) -> Any:
        """The stored form of a thread id."""
        if not thread_id[-1:].isdecimal():
            return records.stored(thread_id)
        if self._numbers is None:
            numbers = self._connection.aggregate(self._connection.address.collection, reading.NUMBER_IDS)
            self._numbers = {str(one["_id"]): one["_id"] for one in numbers}
        return self._numbers[thread_id] if thread_id in self._numbers else records.stored(thread_id)
