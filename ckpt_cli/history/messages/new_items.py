"""`NewItems`: what the lists of a state have that those of the state before don't begin with."""

from collections.abc import Iterable
from typing import Any


class NewItems:
    """Compares the states of a line one by one, so that a list that only grows is gone through once.

    Items are compared by identity: a list that begins as the one decoded before has its items (`serde.growing_list`).
    """

    def __init__(self) -> None:
        self._lists: dict[int, list[Any]] = {}  # by the identity of the first item

    def of(self, values: Iterable[Any]) -> list[Any]:
        """The values of the next state, each list without its known beginning."""
        every = list(values)
        new = [self._new(value) for value in every]
        self._lists = {id(value[0]): value for value in every if type(value) is list and value}
        return new

    def _new(self, value: Any) -> Any:
        if type(value) is not list or not value:
            return value
        known = self._lists.get(id(value[0]), [])
        pairs = enumerate(zip(value, known, strict=False))
        return value[next((at for at, (one, other) in pairs if one is not other), min(len(value), len(known))) :]
