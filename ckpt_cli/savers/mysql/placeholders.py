"""A placeholder that repeats the value before it; PyMySQL itself has only ``%s``."""

from collections.abc import Sequence
from functools import lru_cache

from ckpt_cli.model import Scalar

Parameters = Sequence[Scalar | list[Scalar]]

AGAIN = "%=s"
"""A placeholder that takes the same value as the ``%s`` before it (see `expand_repeats`)."""


def expand_repeats(sql: str, parameters: Parameters) -> tuple[str, list[Scalar | list[Scalar]]]:
    """A statement and its parameters as the driver takes them: each `AGAIN` becomes a ``%s`` with its own value."""
    repeats = _repeats(sql)
    if not any(repeats):
        return sql, list(parameters)
    values: list[Scalar | list[Scalar]] = []
    rest = iter(parameters)
    for is_repeat in repeats:
        values.append(values[-1] if is_repeat else next(rest))
    if left := [*rest]:
        raise ValueError(f"{len(left)} values too many for {sql!r}")
    return sql.replace(AGAIN, "%s"), values


@lru_cache(maxsize=64)
def _repeats(sql: str) -> list[bool]:
    """For each placeholder in a statement, whether it repeats the value before it."""
    pieces = sql.replace("%%", "").split("%")[1:]
    return [piece.startswith("=s") for piece in pieces]
