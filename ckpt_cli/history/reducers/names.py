"""The names by which a person names a reducer: long ones, and short ones such as ``last`` or ``operator.add``."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ckpt_cli.history.reducers.reducers import REDUCERS, Reducer

_SHORT = {
    "last": "last value",
    "messages": "message merge",
    "add_messages": "message merge",
    "add": "append",
    "operator.add": "append",
    "+": "append",
    "dict": "dict union",
    "dict-without-nulls": "dict union without nulls",
    "set": "set union",
    "new": "append if new",
    "any": "any value",
    "accumulate": "accumulating topic",
}


class NamedReducers(NamedTuple):
    """The parts of a graph that a person named, now or earlier: a database doesn't hold them.

    Attributes:
        reducers: channel to reducer.
        remembered: the channels whose reducer was named earlier, and remembered for this database.
        deferred: node to whether it was added with ``defer=True``.
    """

    reducers: Mapping[str, Reducer] = MappingProxyType({})
    remembered: Collection[str] = ()
    deferred: Mapping[str, bool] = MappingProxyType({})


NOTHING_NAMED = NamedReducers()
"""Every reducer must be learned."""


def named(name: str) -> Reducer | None:
    """The reducer with this long or short name; None if there is none."""
    full_name = _SHORT.get(name.strip().lower(), name.strip().lower())
    return next((reducer for reducer in REDUCERS if reducer.name == full_name), None)


def names() -> list[str]:
    """The names of all reducers."""
    return [reducer.name for reducer in REDUCERS]
