"""Columns that an application added to LangGraph's tables: only restored, with a removed row."""

from collections.abc import Collection, Mapping

from ckpt_cli.model import Row, Scalar


def restored(image: Row, now: Row | None, written: Collection[str], writable: Collection[str]) -> Row:
    """The row to write to restore an image; see `Saver.restored`.

    Args:
        image: a row as it was.
        now: the row that exists under the same key.
        written: the columns that ckpt writes.
        writable: the table's columns today, without generated ones.
    """
    columns = {name: value for name, value in image.items() if name in writable}
    if now is None:
        return columns
    return {**now, **{name: value for name, value in columns.items() if name in written}}


def assignments(before: Row, after: Row) -> Mapping[str, Scalar]:
    """The columns that an UPDATE sets: the columns that differ, or all columns if none differs.

    An UPDATE of only these fires no triggers on other columns, and needs no columns that ckpt can't set.
    """
    changed = {name: value for name, value in after.items() if name not in before or _differ(before[name], value)}
    return changed or after


def _differ(before: Scalar, after: Scalar) -> bool:
    return type(before) is not type(after) or before != after
