"""`array_literal`: texts as one array in Postgres' spelling; the driver would spell each by itself.

Source: Postgres 15, 8.15.6 "Array Input and Output Syntax". Everything is quoted, so ``NULL`` is a text too.
"""

from collections.abc import Sequence

from ckpt_cli.model import Scalar

_BETWEEN = '","'


def array_literal(values: Sequence[Scalar]) -> str | None:
    """The array of these texts; None if one of them isn't plain ASCII text without NUL."""
    texts = [value for value in values if type(value) is str]
    if len(texts) < len(values):
        return None
    joined = _BETWEEN.join(texts)
    if not joined.isascii() or "\x00" in joined:
        return None
    if "\\" in joined or joined.count('"') > 2 * (len(texts) - 1):
        joined = _BETWEEN.join(text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return f'{{"{joined}"}}' if texts else "{}"
