"""No document and no docstring or comment of the package uses phrases that a stranger has to read twice.

The project once had a vocabulary of its own: "told" meant *shown*, "stands" meant *is*, "wants" meant *needs*. Each
phrase below has a plainer one beside it. The tests' own docstrings and comments are held to the same list.
"""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ckpt_cli"
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *sorted((ROOT / "docs").glob("*.md")),
]

PHRASES = {
    r"(is|are|was|were|be|been|being|isn't|aren't|wasn't) told": "says, shows, reports",
    r"told (of|from|by)|tells? of": "says, shows; distinguished from; known by",
    r"stands? (there|again|beside|in|on|at|under|still|half|inline|already)": "is, exists, is again as it was",
    r"what stands|as it stands|stood": "what is there, as it is, was",
    r"wants (an?|no|its|to be)": "needs",
    r"let go": "closed, released, dropped",
    r"hears? (of|from|that|the)": "gets, receives",
    r"for want of": "because there is no",
    r"comes? of (it|that|this|them)": "results from it",
    r"who reads": "the reader",
    r"of which it": "turn the clause round",
    r"what there is": "name it",
    r"knows? of": "knows, has",
    r"(is|are|was|were) of (one|the|an?|another)": "belongs to, has",
    r"hold that": "check that",
}
"""What isn't written, and what to write."""

_ANY = re.compile(rf"\b({'|'.join(PHRASES)})\b".replace(" ", r"\s+"), re.IGNORECASE)


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file that are for readers, each with its line: a page, or docstrings and comments."""
    if path.suffix == ".md":
        yield 1, path.read_text("utf-8")
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def places(path: Path) -> Iterator[str]:
    """Where a file uses one of the phrases."""
    for line, text in sentences(path):
        for match in _ANY.finditer(text):
            at = line + text[: match.start()].count("\n")
            yield f"{path.relative_to(ROOT)}:{at}: {match[0]!r}"


TESTS = sorted(path.name for path in (ROOT / "tests").iterdir() if path.suffix == ".py" or path.is_dir())
PARTS = sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")})


@pytest.mark.parametrize("part", PARTS)
def test_docstrings_and_comments_are_plain(part: str) -> None:
    """Each part of the package, in plain words."""
    paths = [PACKAGE / part] if part.endswith(".py") else sorted((PACKAGE / part).rglob("*.py"))
    assert [place for path in paths for place in places(path)] == []


@pytest.mark.parametrize("part", TESTS)
def test_the_sentences_of_tests_are_plain(part: str) -> None:
    """Each folder and file of tests, in plain words; this file has the phrases themselves."""
    path = ROOT / "tests" / part
    paths = [path] if path.is_file() else sorted(path.rglob("*.py"))
    assert [place for path in paths if path.name != "test_language.py" for place in places(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_documents_are_plain(page: Path) -> None:
    """What is for users and for developers, what the program prints in the examples too."""
    assert list(places(page)) == []


def test_a_phrase_is_found() -> None:
    """Across the end of a line too."""
    assert _ANY.search("what a person is\n    told") and not _ANY.search("a sign stands for a node")
