"""Nothing out of a database drives a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.output.clean import clean, hostile

_OBEYED = {"Cc", "Cs", "Zl", "Zp"}
_BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text())
def test_nothing_hostile_is_left(text: str) -> None:
    """No control, surrogate, line separator or direction override comes through, whatever is around it."""
    shown = clean(text)
    assert not [char for char in shown if unicodedata.category(char) in _OBEYED or char in _BIDI]
    assert clean(shown) == shown


@pytest.mark.parametrize("text", ["plain", "中文 👩‍👩‍👧 e\u0301", "שלום", "naïve “quotes” — …", "می\u200cخواهم"])
def test_honest_text_is_left_alone(text: str) -> None:
    """Text of any script, joiners of emoji and Persian included, is printed as it is."""
    assert clean(text) is text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\r\nb\tc", "a␍⏎b⇥c"),
        ("\x00\x07\x08", "␀␇␈"),
        ("\x7f\x9b31m", "\\x7f\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud83d", "\\ud83d"),
        ("a é\n\x1f~", "a é⏎␟~"),
    ],
)
def test_controls_are_shown_as_what_they_are(text: str, shown: str) -> None:
    """A visible sign shows which control character was there."""
    assert clean(text) == shown


_ZERO_WIDTH = set("\u200b\u2060\u2061\u2062\u2063\u2064\u2065\ufeff\ufff9\ufffa\ufffb")


def test_exactly_these_are_hostile() -> None:
    """Of all characters those are taken that terminals obey or that have no width of their own, and no other."""
    everything = "".join(map(chr, range(0x110000)))
    meant = {char for char in everything if unicodedata.category(char) in _OBEYED} | _BIDI | _ZERO_WIDTH
    assert set(hostile().findall(everything)) == meant
    assert not [char for char in meant if char.isprintable()], "the quick look at a text would miss it"
    assert set(hostile(but="\n\t").findall(everything)) == meant - {"\n", "\t"}


@given(st.text(st.sampled_from("a é~\u00a0\u2014\n\x1b\u202e")))
def test_text_beside_a_control_character_is_unchanged(text: str) -> None:
    """A control changes itself alone: blanks and letters around it are printed as they are."""
    assert clean(text) == "".join(clean(char) for char in text)
