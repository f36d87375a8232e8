"""The word by which payloads are skipped must be in every payload that holds a match."""

import json
import re
import signal
import warnings

import ormsgpack
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ckpt_cli.errors import UsageError
from ckpt_cli.history.search.pattern import Needle
from ckpt_cli.history.search.search import Search
from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.jsonform import to_json
from tests.history.nested import VALUES


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("refund", "refund"),
        (r"order (refund)?ed \d+", "order"),
        (r"(?:late|early) parcel", "parcel"),
        ("(re)+fund", "fund"),
        ("a|b", ""),
        ("(?i)refund", "refund"),
        (r"\d{4}-\d\d", ""),
        ("40 EUR", "EUR"),
        ("true", ""),
        ("day", ""),
        ("退款", "退款"),
        (r"x(?=y)yz", "xyz"),
        (r"^refund\b order$", "refund"),
        ("(?P<who>colleague)(?P=who)", "colleague"),
    ],
)
def test_the_word_is_one_that_every_match_contains(pattern: str, word: str) -> None:
    """Alternatives, optional parts, and words that a number or a date may contain, are left out."""
    assert Needle(pattern).word == word


@pytest.mark.parametrize(("pattern", "word"), [("refund", "refund"), ("escalate", "calate"), ("kiss", ""), ("é", "")])
def test_letters_that_others_equal_when_case_is_ignored_are_left_out(pattern: str, word: str) -> None:
    """The Kelvin sign is a k, a long s is an s, a dotless i is an i."""
    assert Needle(pattern, ignore_case=True).word == word


def test_the_kelvin_sign_is_found() -> None:
    """A payload that holds it and no k is not skipped."""
    payload = Payload("msgpack", ormsgpack.packb({"t": "300 \u212a"}))
    needle = Needle("300 k", ignore_case=True)
    assert needle.may_hold(payload)
    assert needle.match("300 \u212a") is not None


TEXTS = st.text(st.sampled_from('refundok é\\"/12退\n'), max_size=12)


@given(VALUES, TEXTS, st.booleans(), st.booleans())
@settings(max_examples=400)
def test_no_payload_with_a_match_is_skipped(value: object, text: str, fixed: bool, folded: bool) -> None:
    """Every value in every encoding is searched if it has a match."""
    assume(text)
    try:
        needle = Needle(text, fixed=fixed, ignore_case=folded)
    except UsageError:
        assume(False)
    plain = [to_json(value), {"key": text}, text]
    for payload in (
        Payload("msgpack", ormsgpack.packb(plain)),
        Payload("json", json.dumps(plain).encode()),
        Payload("json", json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    ):
        matches = list(Search(needle).find(Codec().decode(payload)))
        assert needle.may_hold(payload) or not matches
        assert matches or not fixed


@given(st.text(st.sampled_from("ab(|)?*+[]{}\\d.^$"), max_size=8), st.text(st.sampled_from("abd"), max_size=8))
@settings(max_examples=500)
def test_a_match_is_what_the_regular_expression_finds(pattern: str, text: str) -> None:
    """The quick search for a plain word never hides one."""
    try:
        needle = Needle(pattern)
    except UsageError:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regex = re.compile(pattern)
    expected = next((m[0] for m in regex.finditer(text) if m[0]), None)
    match = needle.match(text)
    assert (match.text if match else None) == expected


def test_a_bad_pattern_is_shown_with_a_caret() -> None:
    """The caret is where it goes wrong."""
    with pytest.raises(UsageError) as caught:
        Needle("a[b")
    assert caught.value.candidates == ("a[b", " ^")


def test_a_match_is_shown_in_its_line() -> None:
    """With the text around it, cut, and the number of further matches."""
    match = Needle("fox").match("first line\nthe quick brown fox jumps\nand a fox")
    assert match is not None
    assert (match.before, match.text, match.after, match.more) == ("the quick brown ", "fox", " jumps", 1)
    long = Needle("fox").match("x" * 100 + "fox" + "y" * 200)
    assert long is not None
    assert (long.before, long.after) == ("…" + "x" * 40, "y" * 80 + "…")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", r"^(\w+\s?)*$", "(x+x+)+y|(a+)+b"])
def test_a_pattern_that_takes_endless_time_is_stopped(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search ends while the pattern is tried on one text; without the watch each letter would double the time."""
    monkeypatch.setattr("ckpt_cli.history.search.match_watch._TICK", 0.01)
    needle = Needle(pattern)
    with needle.watch.running(), pytest.raises(UsageError, match="s for one text of 41 characters"):
        needle.match("a" * 40 + "!")
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_many_texts_are_searched_however_long_they_take_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the time for one text counts."""
    monkeypatch.setattr("ckpt_cli.history.search.match_watch._TICK", 0.001)
    needle, texts = Needle("(a+)+b"), ["a" * 8 for _ in range(20_000)]
    with needle.watch.running():
        assert not any(map(needle.match, texts))
