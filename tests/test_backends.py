"""The tables of databases in `docs/databases.md` are complete, and their URLs mean what they say."""

import re

import pytest

from ckpt_cli.savers import registry
from tests.backends_table import DATABASES, promised

SCHEMES = dict(re.findall(r"^\| `(\w+)` \| .*?`(\w+)://", DATABASES, re.MULTILINE))


def test_every_backend_is_documented() -> None:
    """Both tables list every backend that a URL, a path or a name can open."""
    known = {backend.module for backend in registry.SCHEMES.values()} | {"sqlite", "dev", "bundle", "custom"}
    assert promised().keys() == known
    assert set(re.findall(r"^\| `(\w+)` \| ", DATABASES, re.MULTILINE)) >= known


@pytest.mark.parametrize("kind", sorted(SCHEMES.keys() - {"sqlite"}))
def test_the_example_is_of_its_kind(kind: str) -> None:
    """An example URL opens with the module of its row, for which the row names the extra."""
    found = registry.SCHEMES[SCHEMES[kind]]
    assert found.module == kind
    (row,) = re.findall(rf"^\| `{kind}` \| .*://.*$", DATABASES, re.MULTILINE)
    assert f"`langgraph-ckpt[{found.extra}]`" in row
