"""Digests that stand for long values in the log's images of rows that were only added."""

from collections.abc import Mapping
from types import MappingProxyType

from ckpt_cli.model import RowChange
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.digests import LONG, Digest, digest_of, text_of

_LONG_KINDS = (str, bytes)
_NONE: Mapping[str, bytes] = MappingProxyType({})


def condensed(saver: Saver, change: RowChange, digests: Mapping[str, bytes] = _NONE) -> RowChange:
    """A change that adds a row, with digests in place of long values; another change as it is.

    To undo an added row, nothing but its key and the proof that it is unchanged is needed. Documents stay whole, as
    they are compared field by field.

    Args:
        saver: the database.
        change: the change.
        digests: the digests of some columns, as far as they are known.
    """
    if change.before is not None or change.after is None or not saver.has_flat_rows:
        return change
    if saver.written_columns(change.relation) is None:
        return change
    short = {**change.after}
    for name, value in change.after.items():
        if isinstance(value, _LONG_KINDS) and len(value) > LONG:
            short[name] = Digest(digests[name]) if name in digests else digest_of(text_of(value))
    return change._replace(after=short)
