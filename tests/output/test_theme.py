"""Signs, colours and status words are in one table, and renderers have none of their own."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.output.theme import ROLES, STYLES

RENDERERS = sorted((Path(__file__).parents[2] / "ckpt_cli" / "output" / "text").glob("*.py"))

_COLOURS = {word for style in STYLES.values() for word in style.split()}
_HEX = re.compile(r"#[0-9a-f]{3}(?:[0-9a-f]{3})?(?![0-9a-z])")


def breaches(source: str) -> Iterator[str]:
    """Each sign, colour, unknown style and table of styles in a renderer's source."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            text = node.value
            if not text.isascii():
                yield f"the sign {text!r}"
            if (text.strip() and {*text.split()} <= _COLOURS) or _HEX.search(text):
                yield f"the colour {text!r}"
        if isinstance(node, ast.Dict) and node.values and all(map(_is_style, node.values)):
            yield f"a table of styles: {ast.unparse(node)}"
        if isinstance(node, ast.List):
            named = [_style(one) for one in node.elts if _is_span(one)]
            if not {"", "muted", "bad"}.isdisjoint(named):
                yield from (f"the unknown style {name!r}" for name in named if name not in STYLES)


def _style(span: Any) -> Any:
    return span.elts[0].value


def _is_span(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant)


def _is_style(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in STYLES.keys() - {""}


@pytest.mark.parametrize("path", RENDERERS, ids=lambda path: path.stem)
def test_a_renderer_has_no_sign_and_no_colour_of_its_own(path: Path) -> None:
    """A renderer takes signs and colours from the theme, and names no style that isn't there."""
    assert list(breaches(path.read_text())) == []


@pytest.mark.parametrize(
    ("source", "breach"),
    [
        ('x = ("muted", "✓ ")', "the sign '✓ '"),
        ('x = f"{1} × {2}"', "the sign ' × '"),
        ('x = "bold red"', "the colour 'bold red'"),
        ('x = "fill:#dbeafe,stroke:#2563eb"', "the colour"),
        ('x = {"done": "good", "failed": "bad"}', "a table of styles"),
    ],
)
def test_a_breach_is_named(source: str, breach: str) -> None:
    """A sign, a colour and a table of styles are found."""
    [found] = breaches(source)
    assert breach in found


def test_docstrings_and_plain_words_are_no_breach() -> None:
    """A docstring may show signs; `f"#{ord(c)};"` is an entity, and "red" inside a sentence is a word."""
    assert list(breaches('def f():\n    """``a → b``."""\n    return f"#{1};", "a red door", {"error": "error"}')) == []


def test_a_speaker_has_a_style() -> None:
    """Each role of a conversation is a style."""
    assert set(ROLES) <= STYLES.keys()
