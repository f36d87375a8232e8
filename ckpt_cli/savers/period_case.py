"""The SQL that says in which period a checkpoint id was made, for SQLite, Postgres and MySQL."""

from collections.abc import Sequence


def period_case(checkpoint_id: str, bounds: Sequence[str], mark: str) -> tuple[str, list[str]]:
    """An expression for `measures.period`, and its parameters; it compares an id with few of the bounds.

    Args:
        checkpoint_id: the expression for the id, which must compare by bytes.
        bounds: beginnings of ids, ascending.
        mark: the placeholder of a parameter.
    """
    parameters: list[str] = []

    def between(low: int, high: int) -> str:
        """The expression for an id that isn't below `low` bounds, and not above more than `high`."""
        if low == high:
            return str(low)
        middle = (low + high + 1) // 2
        parameters.append(bounds[middle - 1])
        above, below = between(middle, high), between(low, middle - 1)
        return f"CASE WHEN {checkpoint_id} >= {mark} THEN {above} ELSE {below} END"

    found = between(0, len(bounds))
    is_uuid6 = f"length({checkpoint_id}) = 36 AND substr({checkpoint_id}, 15, 1) = '6'"
    return f"CASE WHEN {is_uuid6} THEN {found} END", parameters
