"""What a JSON column can't hold is found wherever it is in a header, and however it is spelled."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from ckpt_cli.savers.sql.headers import storage_problem

_TEXTS = st.text(st.sampled_from("aä\\u0d\0\ud800\udc00\U0001f600"), max_size=6)
_VALUES = st.recursive(
    _TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner), max_leaves=6
)


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


@given(_VALUES, st.booleans())
@example(["\\u0000", "\U0001f600"], True)
@example({"\ud800": 1}, False)
@example("a\0b", True)
def test_problems_are_found(value: Any, ascii_only: bool) -> None:
    """There is a problem exactly where a text has U+0000 or half a surrogate pair; MySQL's columns hold the former."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    texts = _texts(json.loads(text))  # two halves that come together in JSON are one character
    halves = any(not text.isascii() and text.encode("utf-8", "replace") != _whole(text) for text in texts)
    assert bool(storage_problem(text, nul=True)) == halves
    assert bool(storage_problem(text)) == (halves or any("\0" in text for text in texts))


def _whole(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
