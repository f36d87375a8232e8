"""Differences between long texts, word by word."""

import random

from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.history.diff.word_diff import ADDED, REMOVED, SAME, words

TEXTS = st.text(st.sampled_from("ab .\n线"), max_size=60)


@given(TEXTS, TEXTS)
def test_the_pieces_make_both_texts(before: str, after: str) -> None:
    """Kept and removed pieces make the older text, kept and added ones the newer."""
    pieces = words(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != ADDED) == before
    assert "".join(piece.text for piece in pieces if piece.kind != REMOVED) == after


def test_changed_words_stand_alone() -> None:
    """Words are never cut in the middle, and neighbouring changes are one piece."""
    assert words("I will refund order 1043", "I will escalate order 1044") == [
        (SAME, "I will "),
        (REMOVED, "refund"),
        (ADDED, "escalate"),
        (SAME, " order "),
        (REMOVED, "1043"),
        (ADDED, "1044"),
    ]
    assert words("a b c d e", "a x y d e")[1:3] == [(REMOVED, "b c"), (ADDED, "x y")]


def test_chinese_is_compared_by_the_character() -> None:
    """It has no blanks between words."""
    assert words("退款四十元", "退款五十元") == [(SAME, "退款"), (REMOVED, "四"), (ADDED, "五"), (SAME, "十元")]


def test_texts_with_little_in_common_are_replaced() -> None:
    """Islands of one word make a difference harder to read, not easier."""
    assert words("the cat sat on a mat", "wholly unlike a thing before") == [
        (REMOVED, "the cat sat on a mat"),
        (ADDED, "wholly unlike a thing before"),
    ]


def test_a_change_in_a_long_text_is_found() -> None:
    """Equal ends cost almost nothing."""
    long = "word " * 200_000
    pieces = words(f"{long}old {long}", f"{long}new {long}")
    assert [(piece.kind, piece.text) for piece in pieces[1:-1]] == [(REMOVED, "old"), (ADDED, "new")]


def test_texts_too_long_to_match_are_compared_by_the_line() -> None:
    """If even lines are too many, the whole text is one change."""
    dice = random.Random(1)
    lines = [" ".join(dice.choice("abcdef") for _ in range(40)) for _ in range(100)]
    changed = [*lines[:20], "x", *lines[21:60], "y", *lines[61:]]
    pieces = words("\n".join(lines), "\n".join(changed))
    assert [piece.text.strip() for piece in pieces if piece.kind == ADDED] == ["x", "y"]
