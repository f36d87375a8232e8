"""``ckpt grep``: search through history."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import ormsgpack
import pytest

from ckpt_cli.commands.grep import grep
from ckpt_cli.errors import NotFound, ThreadNotFound, UsageError
from ckpt_cli.history.search.search import Place
from ckpt_cli.output.json import rows
from ckpt_cli.session import Session
from ckpt_cli.views.grep import GrepView, Hit
from tests import golden
from tests.commands.asking import at, look
from tests.commands.stored import broken_channel, ruin, tear
from tests.commands.stored import database as stored
from tests.databases import KEYS
from tests.hostile import IDS

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


def asked(path: Path, *words: Any, **options: Any) -> tuple[GrepView, list[str]]:
    """The whole answer, and what was written to stderr."""

    def taken(session: Session) -> GrepView:
        view = grep(session, *words, **options)
        view.hits = list(view.hits)
        return view

    return look(path, taken)


def test_a_text_is_reported_once_with_its_first_checkpoint(database: Database) -> None:
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
    """``--first`` gives the earliest appearance, ``--last`` the one that stayed latest."""
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
        ("Kyoto", {"ns": ""}, True),
    ],
)
def test_options_narrow_the_search(pattern: str, options: dict[str, Any], found: bool, database: Database) -> None:
    """Case, plain text, channel, place, namespace, time."""
    assert bool(hits(database("real"), pattern, ["chat-linear"], **options)) is found


def test_numbers_dates_and_keys_are_searched_as_they_read(database: Database) -> None:
    """The text that is searched is the text that is shown; a key is marked as one."""
    path = database("real")
    for pattern, found in [
        ("9223372036854775813", "everything.bigint"),
        ("2024-02-29", "everything.date"),
        ("12345678-1234", "everything.uuid"),
        (r"a b/c\.txt", "everything.path"),
        ("dict_intkeys", "everything.dict_intkeys"),
    ]:
        found_here = {hit.path: hit.is_key for hit in hits(path, pattern, ["types-all"], places=[Place.STATE])}
        assert found_here.get(found) is (pattern == "dict_intkeys"), pattern


def test_secrets_are_never_found(database: Database) -> None:
    """They are masked when shown, so the answer doesn't reveal them either."""
    assert hits(database("real"), "s3cret|hunter2|\\*\\*", ["types-all"]) == []


def test_an_encrypted_database_is_searched_with_the_key(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, finding nothing would be a lie: exit code 5."""
    path = database("encrypted")
    view, said = asked(path, "how is Kyoto", ["chat-linear"])
    assert (view.hits, view.exit_code, all(one.locked for one in view.unreadable)) == ([], 5, True)
    assert view.unsearched == len(view.unreadable)
    everywhere, _ = asked(path, "how is Kyoto")
    assert len(everywhere.unreadable) == 1000 < everywhere.unsearched
    assert len(said) == 5 and "--key-env" in said[-1]
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS["encrypted"].decode())
    assert hits(path, "how is Kyoto", ["chat-linear"])


def test_what_cannot_be_searched_is_named_on_stderr(tmp_path: Path) -> None:
    """One bad channel hides nothing of the others."""
    view, said = asked(broken_channel(tmp_path), "fine|shape")
    assert [hit.match for hit in view.hits] == ["fine"]
    assert [one.problem for one in view.unreadable] == ["bad: not the shape of extension 5"]
    assert said == [f"not searched: t {IDS[0]}: bad: not the shape of extension 5"]
    assert view.exit_code == 0


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda body: body[: len(body) // 2], "the checkpoint is damaged: truncated @ $"),
        (lambda body: b"garbage", "a value of type int where an object should be"),
        (lambda body: body.replace(b"calm", b"\xffalm"), "mood: bad UTF-8"),
        (lambda body: b"", "truncated"),
    ],
)
def test_damage_is_named_also_if_the_pattern_can_not_match(
    harm: Callable[[bytes], bytes], problem: str, tmp_path: Path
) -> None:
    """A payload without the pattern's word isn't decoded, yet that it can be read to its end is seen to."""
    path = stored(tmp_path / "d.sqlite", "sick", "well", mood="calm", messages=["hello"])
    ruin(path, "sick", harm)
    view, said = asked(path, "Kyoto")
    assert [one.thread_id for one in view.unreadable] == ["sick"]
    assert problem in view.unreadable[0].problem
    assert (view.undecoded, view.exit_code, len(said)) == (3, 5, 1)  # two metadata and one checkpoint


def test_damage_in_a_message_is_named_with_its_path(tmp_path: Path) -> None:
    """An object that holds the pattern and can't be read is no silent miss."""
    bad = ormsgpack.Ext(5, ormsgpack.packb(["m", "Message", "Kyoto"])[:-2] + b"to")
    path = stored(tmp_path / "d.sqlite", messages=["hello", ormsgpack.Ext(5, ormsgpack.packb("Kyoto"))], other=[bad])
    view, _ = asked(path, "Kyoto")
    assert [one.problem.partition(":")[0] for one in view.unreadable] == ["messages[1]", "other[0]"]


def test_a_damaged_page_costs_no_other_hit(tmp_path: Path) -> None:
    """Readable hits are found, unreadable parts are named, and the exit code says that the file is damaged."""
    path = stored(tmp_path / "d.sqlite", "a", "b", "c", note="Kyoto", filler="x" * 20_000)
    tear(path, "b")
    view, said = asked(path, "Kyoto")
    assert [hit.thread_id for hit in view.hits] == ["a", "c"]
    assert [(one.thread_id, one.checkpoint_id) for one in view.unreadable] == [("b", IDS[0])]
    assert (view.exit_code, len(said)) == (3, 1)
    assert "damaged" in said[0]


def test_no_hit_is_success_without_exit_code(database: Database) -> None:
    """As in `ckpt diff`, ``--exit-code`` makes it 1."""
    path = database("real")
    assert at(path, grep, "nobody said this", ["chat-linear"]).exit_code == 0
    assert at(path, grep, "nobody said this", ["chat-linear"], exit_code=True).exit_code == 1
    assert at(path, grep, "Kyoto", ["chat-linear"], exit_code=True).exit_code == 0


def test_hits_stream_thread_by_thread(database: Database) -> None:
    """The first line is printed before the last thread is read."""
    session = Session(str(database("real")), clock=lambda: golden.NOW)
    view = grep(session, "Kyoto")
    hits = rows(view, None, reveal=False)
    line = next(iter(hits))
    assert json.loads(line)["match"] == "Kyoto"
    assert view.searched < 299
    assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_DFL, "the watch stays on while the reader does other things"
    closed = Thread(target=hits.close)  # type: ignore[attr-defined]
    closed.start()
    closed.join()
    session.close()


@pytest.mark.parametrize("pattern", ["a[b", "(", "*", "a{2,1}", ""])
def test_a_bad_pattern_is_a_usage_error(pattern: str, database: Database) -> None:
    """With the place where it goes wrong."""
    with pytest.raises(UsageError) as caught:
        at(database("real"), grep, pattern)
    assert caught.value.exit_code == 2


def test_an_unknown_thread_is_an_error(database: Database) -> None:
    """Before anything is searched."""
    with pytest.raises(ThreadNotFound):
        at(database("real"), grep, "x", ["chat-linear", "nobody"])


def test_threads_of_odd_names_are_searched(tmp_path: Path) -> None:
    """Names are never patterns or SQL."""
    names = ("a:b", "%", "_", "'; --", "用户", "x..y")
    path = stored(tmp_path / "odd.sqlite", *names, note="needle in here")
    assert {hit.thread_id for hit in hits(path, "needle")} == set(names)
    assert [hit.thread_id for hit in hits(path, "needle", ["%"])] == ["%"]


@pytest.mark.parametrize(
    ("threads", "options", "hint"),
    [
        (["chat-linear"], {"channel": ["mesages"]}, "did you mean messages?"),
        (None, {"channel": ["mesages"]}, "did you mean messages?"),
        (["subgraphs"], {"ns": "outer:nothing"}, ""),
        (["chat-linear"], {"ns": "nowhere"}, "there are no subgraphs: leave --ns out"),
    ],
)
def test_a_name_that_exists_nowhere_is_no_empty_answer(
    threads: list[str] | None, options: dict[str, Any], hint: str, database: Database
) -> None:
    """A channel or namespace that no thread has is an error; one without a hit gives an empty answer."""
    path = database("real")
    with pytest.raises(NotFound) as caught:
        hits(path, "nobody said this", threads, **options)
    assert caught.value.hint == hint
    assert hits(path, "nobody said this", ["chat-linear"], channel=["messages"]) == []


def test_a_namespace_is_named_by_its_beginning(database: Database) -> None:
    """All of a subgraph's calls are searched by the node's name."""
    path = database("real")
    every = hits(path, "in", ["subgraphs"], places=[Place.STATE])
    inner = hits(path, "in", ["subgraphs"], places=[Place.STATE], ns=every[-1].ns[:4])
    assert {hit.ns for hit in inner} == {hit.ns for hit in every if hit.ns.startswith(every[-1].ns[:4])} != {""}
