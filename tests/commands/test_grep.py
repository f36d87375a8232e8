"""``ckpt grep``: search through history."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.commands.grep import grep
from ckpt_cli.errors import KeyMissing, PayloadCorrupt, ThreadNotFound, UsageError
from ckpt_cli.history.search import Place
from ckpt_cli.output.json import rows
from ckpt_cli.views.grep import Hit
from tests import golden
from tests.commands.asking import at
from tests.commands.stored import broken_channel
from tests.commands.stored import database as stored
from tests.databases import KEYS

Database = Callable[[str], Path]

LOOKS = {
    "state": ("real", ("Kyoto", ["chat-linear"]), {}),
    "all-threads": ("real", ("Kyoto",), {}),
    "writes": ("real", ("boom",), {}),
    "count": ("real", ("Kyoto",), {"count": True}),
    "nothing": ("real", ("nobody said this",), {}),
    "metadata": ("real", ("小明",), {}),
    "long-text": ("real", ("文本", ["线程-测试-😀"]), {}),
    "js": ("js", ("你好",), {}),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name: str, database: Database) -> None:
    """Hits in state, writes and metadata on every kind of output."""
    source, words, options = LOOKS[name]
    golden.check(f"grep/{name}", at(database(source), grep, *words, **options))


def hits(path: Path, *words: Any, **options: Any) -> list[Hit]:
    """What is found."""
    return list(at(path, grep, *words, **options).hits)


def test_a_text_is_told_once_from_where_it_appeared(database: Database) -> None:
    """With the last checkpoint that holds it and how many do; input and writes that became state are not repeated."""
    (hit,) = hits(database("real"), "how is Kyoto", ["chat-linear"])
    assert (hit.place, hit.path, hit.first.step, hit.last.step, hit.present) == (
        "state",
        "messages[10].content",
        14,
        42,
        True,
    )
    assert hit.checkpoints == 29


def test_a_text_that_was_removed_has_a_last_checkpoint(database: Database) -> None:
    """The first question was taken out by the last update."""
    (hit,) = hits(
        database("real"), "Question number 0: how", ["chat-linear"], channel=["messages"], places=[Place.STATE]
    )[:1]
    assert (hit.present, hit.last.step) == (False, 41)


def test_first_and_last_are_one_hit_a_thread(database: Database) -> None:
    """The earliest appearance, and what was there latest."""
    path = database("real")
    all_hits = hits(path, "Oslo", ["chat-linear"])
    assert hits(path, "Oslo", ["chat-linear"], first=True) == [min(all_hits, key=lambda h: h.first.checkpoint_id)]
    assert hits(path, "Oslo", ["chat-linear"], last=True)[0].present


@pytest.mark.parametrize(
    ("pattern", "options", "found"),
    [
        ("KYOTO", {}, False),
        ("KYOTO", {"ignore_case": True}, True),
        ("K.oto", {"fixed": True}, False),
        (r"K\woto:? \d\dC", {}, True),
        ("Kyoto", {"channel": ["topic"]}, False),
        ("Kyoto", {"places": [Place.METADATA]}, False),
        ("Kyoto", {"places": [Place.WRITES]}, True),
        ("Kyoto", {"since": "2026-01-01"}, False),
        ("Kyoto", {"ns": "nowhere"}, False),
    ],
)
def test_options_narrow_the_search(pattern: str, options: dict[str, Any], found: bool, database: Database) -> None:
    """Case, plain text, channel, place, namespace, time."""
    assert bool(hits(database("real"), pattern, ["chat-linear"], **options)) is found


def test_numbers_dates_and_keys_are_searched_as_they_read(database: Database) -> None:
    """What stands on the screen is what is searched."""
    path = database("real")
    for pattern, found in [
        ("9223372036854775813", "everything.bigint"),
        ("2024-02-29", "everything.date"),
        ("12345678-1234", "everything.uuid"),
        (r"a b/c\.txt", "everything.path"),
        ("dict_intkeys", "everything.dict_intkeys"),
    ]:
        assert found in [hit.path for hit in hits(path, pattern, ["types-all"], places=[Place.STATE])], pattern


def test_secrets_are_never_found(database: Database) -> None:
    """They are masked on the screen, so they can't be told from the answer either."""
    assert hits(database("real"), "s3cret|hunter2|\\*\\*", ["types-all"]) == []


def test_an_encrypted_database_is_searched_with_the_key(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, finding nothing would be a lie: exit code 5."""
    path = database("encrypted")
    with pytest.raises(PayloadCorrupt) as caught:
        at(path, grep, "how is Kyoto", ["chat-linear"])
    assert caught.value.exit_code == 5
    assert isinstance(caught.value, KeyMissing)
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS["encrypted"].decode())
    assert hits(path, "how is Kyoto", ["chat-linear"])


def test_what_cannot_be_searched_is_told_beside_the_hits(tmp_path: Path) -> None:
    """One bad channel hides nothing of the others."""
    view = at(broken_channel(tmp_path), grep, "fine|shape")
    assert [hit.match for hit in view.hits] == ["fine"]
    assert [one.problem[:4] for one in view.unreadable] == ["bad:"]


def test_nothing_found_is_success_unless_asked_for(database: Database) -> None:
    """As in `ckpt diff`, an exit code of 1 is asked for."""
    path = database("real")
    assert at(path, grep, "nobody said this", ["chat-linear"]).exit_code == 0
    assert at(path, grep, "nobody said this", ["chat-linear"], exit_code=True).exit_code == 1
    assert at(path, grep, "Kyoto", ["chat-linear"], exit_code=True).exit_code == 0


def test_hits_stream_thread_by_thread(database: Database) -> None:
    """The first line is there before the last thread was looked at."""
    from ckpt_cli.session import Session

    session = Session(str(database("real")), clock=lambda: golden.NOW)
    view = grep(session, "Kyoto")
    line = next(iter(rows(view, None, reveal=False)))
    session.close()
    assert json.loads(line)["match"] == "Kyoto"
    assert view.searched < 299


@pytest.mark.parametrize("pattern", ["a[b", "(", "*", "a{2,1}", ""])
def test_a_bad_pattern_is_a_usage_error(pattern: str, database: Database) -> None:
    """With the place where it goes wrong."""
    with pytest.raises(UsageError) as caught:
        at(database("real"), grep, pattern)
    assert caught.value.exit_code == 2


def test_an_unknown_thread_is_said(database: Database) -> None:
    """Before anything is searched."""
    with pytest.raises(ThreadNotFound):
        at(database("real"), grep, "x", ["chat-linear", "nobody"])


def test_threads_of_odd_names_are_searched(tmp_path: Path) -> None:
    """Names are never patterns or SQL."""
    names = ("a:b", "%", "_", "'; --", "用户", "x..y")
    path = stored(tmp_path / "odd.sqlite", *names, note="needle in here")
    assert {hit.thread_id for hit in hits(path, "needle")} == set(names)
    assert [hit.thread_id for hit in hits(path, "needle", ["%"])] == ["%"]
