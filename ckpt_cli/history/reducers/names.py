"""The names by which a person names a reducer: long ones, and short ones such as ``last`` or ``operator.add``."""

from ckpt_cli.history.reducers.reducers import REDUCERS, Reducer

_SHORT = {
    "last": "last value",
    "messages": "message merge",
    "add_messages": "message merge",
    "add": "append",
    "operator.add": "append",
    "+": "append",
    "dict": "dict union",
    "set": "set union",
    "any": "any value",
    "accumulate": "accumulating topic",
}


def named(name: str) -> Reducer | None:
    """The reducer with this long or short name; None if there is none."""
    full_name = _SHORT.get(name.strip().lower(), name.strip().lower())
    return next((reducer for reducer in REDUCERS if reducer.name == full_name), None)


def names() -> list[str]:
    """The names of all reducers."""
    return [reducer.name for reducer in REDUCERS]
