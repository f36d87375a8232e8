"""`StoredValues`, for ``--where``: a channel without a stored value makes a record undecided."""

from collections.abc import Iterable, Mapping
from typing import Any


class Undecided(Exception):
    """The record has the name, but no value of it is stored, so the record can't be decided; the text is the name."""


class StoredValues(dict[str, Any]):
    """The values of a state by channel; to look for one that exists and isn't stored raises `Undecided`."""

    def __init__(self, values: Mapping[str, Any], unstored: Iterable[str]) -> None:
        super().__init__(values)
        self.unstored = frozenset(unstored)

    def __missing__(self, channel: str) -> Any:
        """The error for a channel that has no value here."""
        raise Undecided(channel) if channel in self.unstored else KeyError(channel)

    def __contains__(self, channel: object) -> bool:
        """Whether the state has a channel."""
        return channel in self.unstored or super().__contains__(channel)
