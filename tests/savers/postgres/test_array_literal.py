"""Texts that the server reads back from an array literal as they were."""

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckpt_cli.savers.postgres.array_literal import array_literal
from tests.servers.postgres import PostgresServer

HARD = [
    "",
    " ",
    "NULL",
    "null",
    '"',
    "\\",
    '","',
    '\\"',
    "{",
    "}",
    "{}",
    "a,b",
    "\n",
    "\t",
    "\x7f",
    '"quoted"',
    "'",
    "%s",
]


def read_back(postgres: PostgresServer, literal: str) -> list[str]:
    with psycopg.connect(postgres.url("postgres")) as connection:
        ((texts,),) = connection.execute("SELECT %s::text[]", [literal]).fetchall()
        return list(texts)


@pytest.mark.parametrize("texts", [[], *([text] for text in HARD), HARD, HARD[::-1], ["a"] * 1000])
def test_hard_texts(postgres: PostgresServer, texts: list[str]) -> None:
    """Quotes, backslashes, braces, commas, and what looks like NULL or like an empty array."""
    literal = array_literal(texts)
    assert literal is not None
    assert read_back(postgres, literal) == texts


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(min_codepoint=1, max_codepoint=127))))
def test_any_ascii_text(postgres: PostgresServer, texts: list[str]) -> None:
    """Every text without NUL."""
    literal = array_literal(texts)
    assert literal is not None
    assert read_back(postgres, literal) == texts


@pytest.mark.parametrize("value", [None, 1, "é", "\x00", "\ud800"])
def test_what_the_driver_spells(value: str | int | None) -> None:
    """Other values are left to it, wherever they are among the texts."""
    assert array_literal(["a", value]) is array_literal([value, "a"]) is None
