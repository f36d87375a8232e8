"""Names that are stored as something else than text are spelled as text, and converted back."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_cli.savers.spelling import raw_of, text_of

_LIKE = st.lists(st.sampled_from(["%", "=", "b'", "'", "\\x", "ff", "7", "null", ".5", "[", "é", "\udcff"]), max_size=8)
RAW: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.integers(), st.floats(allow_nan=False), st.binary(), st.text(), _LIKE.map("".join)
)


@given(RAW, RAW)
@settings(max_examples=500, deadline=None)
def test_names_are_turned_back_and_no_two_are_the_same(one: Any, other: Any) -> None:
    """Each name gives back the stored value with its type, and different values have different names."""
    for raw in (one, other):
        assert repr(raw_of(text_of(raw))) == repr(raw)
    assert (text_of(one) == text_of(other)) == (repr(one) == repr(other))


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_ordinary_names_are_themselves(text: str) -> None:
    """Only a text that looks exactly like a spelling is spelled."""
    assert text_of(text) == text or text_of(text) == f"%={text}" != text
    assert text_of("%") == "%" and text_of("b") == "b" and text_of("50%=7") == "50%=7"


def test_what_a_person_types() -> None:
    """The spellings that the documentation names."""
    named = {"%null": None, "%7": 7, "%1.5": 1.5, "b'a\\xff'": b"a\xff", "%=%7": "%7", "%07": "%07", "b'": "b'"}
    assert {name: raw_of(name) for name in named} == named
