"""Metadata or a checkpoint that can't be read: marked, counted where a filter asks, refused where it is needed."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.savers.url import open_database
from tests.damage.kinds import talk
from tests.damage.looking import ask
from tests.savers.tables import Tables, tables

BAD = {
    "sqlite": {"metadata": ("x'ff'", "x'5b5d'", "'\"text\"'"), "checkpoint": ("x'ff'", "x'90'", "''")},
    "postgres": {"metadata": ("'[]'", "'7'", "'\"text\"'"), "checkpoint": ("'[]'", "'7'", "'\"text\"'")},
}
CHANGES = (
    ("fork", "{thread}", "@"),
    ("fork", "{thread}", "@", "--to", "elsewhere"),
    ("rollback", "{thread}", "@"),
    ("update", "{thread}", "--values", '{"log": ["x"]}', "--as-node", "write"),
    ("edit", "{thread}", "--set", "n=1"),
    ("replay", "{thread}", "--commit"),
)
RESUME = ("resume", "{thread}", "--value", '"yes"')


class Place(NamedTuple):
    """A database with three threads."""

    tables: Tables

    @property
    def url(self) -> str:
        """What ``--db`` gets."""
        return self.tables.url

    def damage(self, column: str, value: str, *threads: str) -> None:
        """Give the heads of some threads a value that can't be read, as SQL spells it."""
        heads = "SELECT max(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id"
        where = f"checkpoint_id IN ({heads}) AND thread_id IN ({', '.join(map(repr, threads))})"
        self.tables.run(f"UPDATE checkpoints SET {column} = {value} WHERE {where}")


@pytest.fixture(params=BAD)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Each engine, with threads of the official saver."""
    found = tables(request.param, request, tmp_path)
    official = SqliteSaver if found.engine == "sqlite" else PostgresSaver
    with official.from_conn_string(found.url) as saver:
        talk(saver)
    yield Place(found)


@pytest.mark.parametrize("bad", range(3))
def test_unreadable_metadata_is_marked(bad: int, place: Place) -> None:
    """In the list and at the checkpoint, as text and as JSON; the state is shown all the same."""
    place.damage("metadata", BAD[place.tables.engine]["metadata"][bad], "chat")
    answer = ask(place.url, "threads", "--json")
    listed = {thread["thread_id"]: thread["metadata_problem"] for thread in json.loads(answer.out)["threads"]}
    assert (answer.code, bool(listed["chat"]), listed["ask"], listed["sub"]) == (0, True, None, None)
    assert f"1 thread of those shown has unreadable metadata: {listed['chat']}" in answer.err
    shown = ask(place.url, "show", "chat")
    assert f"⚠ can't be read: {listed['chat']}" in shown.out and "so hello" in shown.out
    reply = json.loads(ask(place.url, "show", "chat", "--json").out)
    assert (reply["metadata_problem"], reply["metadata"], reply["problem"]) == (
        listed["chat"],
        {},
        None,
    )


def test_a_filter_says_what_it_could_not_read(place: Place) -> None:
    """A thread whose metadata can't be read may be one of those selected: it is counted and named before a deletion."""
    place.damage("metadata", BAD[place.tables.engine]["metadata"][0], "chat", "ask")
    for words in (["step >= 0"], ["user != 'nobody'", "--any"]):
        answer = ask(place.url, "threads", "--where", *words, "--json")
        reply, left = json.loads(answer.out), 1 if "--any" in words else 2
        assert reply["unread_metadata"] == left
        assert (
            f"the metadata of {left} thread{'s' if left > 1 else ''} can't be read, so --where may have" in answer.err
        )
        plan = ask(place.url, "delete", "--where", *words, "--dry-run")
        assert plan.code == 0 and "can't be read, so --where may have missed some" in plan.out
    nobody = ask(place.url, "delete", "--where", "step == 99", "--yes")
    assert nobody.code == 4 and "the metadata of 2 threads can't be read" in nobody.err
    listed = json.loads(ask(place.url, "threads", "--json").out)["threads"]
    assert {thread["thread_id"] for thread in listed} == {"chat", "ask", "sub"}


@pytest.mark.parametrize("column", ["metadata", "checkpoint"])
@pytest.mark.parametrize("bad", range(3))
def test_changes_that_need_it_refuse(column: str, bad: int, place: Place) -> None:
    """Exit code 5, a plain sentence and nothing written; commands that don't need the metadata work."""
    place.damage(column, BAD[place.tables.engine][column][bad], "ask")
    before = _counts(place.url)
    for words in (*CHANGES, *([RESUME] if column == "checkpoint" else [])):
        answer = ask(place.url, *(word.replace("{thread}", "ask") for word in words), "--yes")
        assert answer.code == 5, (words, answer)
        assert "be read" in answer.err or "decoded" in answer.err, (words, answer.err)
        assert "bug" not in answer.err
    assert _counts(place.url) == before
    if column == "metadata":
        answer = ask(place.url, *(word.replace("{thread}", "ask") for word in RESUME), "--yes")
        assert answer.code == 0, answer.err


def _counts(url: str) -> tuple[int, int]:
    with closing(open_database(url, lambda _: None)) as saver:
        totals = saver.totals()
        return totals.checkpoints, totals.writes
