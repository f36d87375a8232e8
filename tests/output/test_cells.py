"""Text is measured as a terminal shows it."""

import pytest
import rich.cells
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.output.cells import cell_len, fit, flow, line_len, pad, truncate, wrap
from ckpt_cli.output.clean import clean
from ckpt_cli.output.line import plain

FAMILY = "👩‍👩‍👧"

_TEXT = st.text(alphabet=st.sampled_from("ab c中文\u0301\u200d👩👧🏽️\n\x1b"), max_size=40)


@pytest.mark.parametrize(
    ("text", "cells"), [("", 0), ("abc", 3), ("中文", 4), ("e\u0301", 1), (FAMILY, 2), ("\x1b", 1)]
)
def test_cells_of_text(text: str, cells: int) -> None:
    """Wide characters take two cells, accents none, an escape character the one it is shown in."""
    assert cell_len(text) == cells


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x2FFF), max_size=6))
def test_what_needs_no_table_is_as_wide_as_the_table_says(text: str) -> None:
    """The short cut for Latin letters and ckpt's own marks gives what the terminal library gives."""
    assert cell_len(text) == rich.cells.cell_len(clean(text))


@given(_TEXT, st.integers(0, 12))
def test_truncated_text_fits(text: str, cells: int) -> None:
    """A truncated text is never wider than the limit, and a padded text is exactly as wide."""
    assert cell_len(truncate(text, cells)) <= cells
    assert cell_len(pad(text, cells)) == cells


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("hello", 5, "hello"),
        ("hello!", 5, "hell…"),
        ("中文字符", 5, "中文…"),
        ("中文字符", 4, "中…"),
        (FAMILY * 3, 5, FAMILY * 2 + "…"),
        ("e\u0301" * 5, 3, "e\u0301e\u0301…"),
        ("x" * 10**6, 3, "xx…"),
        ("hello", 0, ""),
    ],
)
def test_what_is_left_out_is_marked(text: str, cells: int, shown: str) -> None:
    """A cut never splits a character that is made of several, and is shown by an ellipsis."""
    assert truncate(text, cells) == shown


def test_numbers_are_padded_on_the_left() -> None:
    """Numbers are aligned to the right of their column."""
    assert pad("7", 3, right=True) == "  7"


@pytest.mark.parametrize(
    ("text", "cells", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one\ntwo", 7, ["one", "two"]),
        ("", 7, [""]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("中文字符", 5, ["中文", "字符"]),
        ("a  b", 2, ["a", "b"]),
    ],
)
def test_wrapping(text: str, cells: int, lines: list[str]) -> None:
    """Lines break at spaces if there are any, and a text's own newlines are kept."""
    assert list(wrap(text, cells)) == lines


@given(_TEXT, st.integers(2, 12))
def test_wrapped_lines_fit_and_lose_nothing(text: str, cells: int) -> None:
    """Every line fits, and all that isn't space is still there."""
    lines = list(wrap(text, cells))
    assert all(cell_len(line) <= cells for line in lines)
    shown = "".join(lines).replace(" ", "")
    assert shown == text.replace("\n", "").replace("\x1b", "␛").replace(" ", "")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("hint: `ckpt undo 12` first", ["hint:", "`ckpt undo 12`", "first"]),
        ("in /a/long/path, that", ["in", "/a/long/path,", "that"]),
        ("  a line\nand `one", ["  a line", "and `one"]),
        ("", [""]),
    ],
)
def test_flowing(text: str, lines: list[str]) -> None:
    """Lines break at blanks only; a longer word or a command in backticks is not broken."""
    assert list(flow(text, 8)) == lines


@given(_TEXT, st.integers(2, 12))
def test_no_word_is_broken(text: str, cells: int) -> None:
    """The lines have the words of the text, in their order."""
    assert " ".join(flow(text, cells)).split() == clean(text.replace("\n", " ")).split()


@given(st.lists(st.tuples(st.sampled_from(["", "id"]), _TEXT), max_size=5), st.integers(0, 12))
def test_styled_lines_fit(line: list[tuple[str, str]], cells: int) -> None:
    """A styled line is cut as a whole, and one that fits is left alone."""
    fitted = fit(line, cells)
    assert line_len(fitted) <= cells
    if line_len(line) <= cells:
        assert plain(fitted) == plain(line)


def test_nothing_is_cut_in_a_pipe() -> None:
    """Where there is no width there is no limit."""
    line = [("", "x" * 500)]
    assert fit(line, None) == line
