"""``ckpt get``: one value, for scripts."""

import csv
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands.get import get
from ckpt_cli.errors import ChannelNotFound, PathNotFound, PayloadCorrupt, UsageError
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Page
from ckpt_cli.output.text.get import render
from tests import golden
from tests.commands.asking import at
from tests.commands.stored import broken_channel

Database = Callable[[str], Path]


def text_of(path: Path, *words: str, width: int | None = None, **options: str) -> str:
    """What is printed."""
    return "\n".join(map(clean_line, render(at(path, get, *words, **options), Page(width, golden.NOW))))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("topic", "weather"),
        ("turn", "9"),
        ("messages[-1].content", "The tool said: Delhi: 21C, clear"),
        ("messages[28].tool_calls[0].args", '{\n  "city": "Delhi",\n  "units": "C"\n}'),
        ("messages[0].response_metadata", "{}"),
    ],
)
def test_text_is_printed_as_it_is_and_structures_as_json(path: str, text: str, database: Database) -> None:
    """So that a shell can use either."""
    assert text_of(database("real"), "chat-linear", path) == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("everything.nul", "a\x00b"),
        ("everything.secret", "**********"),
        ("everything.none", "null"),
        ("everything.true", "true"),
        ("everything.send.arg.i", "1"),
        ("everything.namedtuple.right", "r"),
    ],
)
def test_every_type_has_a_plain_text(path: str, text: str, database: Database) -> None:
    """Types that read naturally do; secrets are masked."""
    assert text_of(database("real"), "types-all", path) == text


def test_a_terminal_is_not_driven_by_the_value(database: Database) -> None:
    """A pipe gets it to the letter."""
    path = database("real")
    assert "\x00" not in text_of(path, "types-all", "everything.nul", width=80)


def test_another_checkpoint_is_named_with_at(database: Database) -> None:
    """A revision as everywhere."""
    assert text_of(database("real"), "chat-linear", "turn", at="step:3") == "0"


def test_a_delta_channel_has_a_value_where_none_is_stored(database: Database) -> None:
    """It is rebuilt."""
    assert text_of(database("real"), "delta", "log[-1]") == "two-5"


@pytest.mark.parametrize(
    ("path", "error", "code"),
    [
        ("topik", ChannelNotFound, 4),
        ("messages[99]", PathNotFound, 4),
        ("messages[0].contents", PathNotFound, 4),
        ("messages[", UsageError, 2),
    ],
)
def test_an_unknown_name_is_an_error(path: str, error: type[PathNotFound], code: int, database: Database) -> None:
    """Nothing is printed for it."""
    with pytest.raises(error) as caught:
        at(database("real"), get, "chat-linear", path)
    assert caught.value.exit_code == code


def test_what_cannot_be_decoded_is_exit_code_5(tmp_path: Path) -> None:
    """The rest of the state can be had."""
    path = broken_channel(tmp_path)
    assert text_of(path, "t", "good") == "fine"
    with pytest.raises(PayloadCorrupt) as caught:
        at(path, get, "t", "bad")
    assert caught.value.exit_code == 5


def test_a_whole_process_prints_nothing_but_the_value(database: Database) -> None:
    """And what it prints as JSON is JSON."""
    command = [sys.executable, "-m", "ckpt_cli", "get", "-d", str(database("real")), "chat-linear", "messages"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=os.environ, check=True)
    assert (len(json.loads(done.stdout)), done.stderr) == (31, "")


def test_a_query_is_of_the_value(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """``--query`` applies to the value, not to the fields around it in ``--json``."""
    words = ["get", "chat-linear", "messages", "-d", str(database("real"))]
    assert run([*words, "--query", "[0].content"]) == 0
    assert json.loads(capsys.readouterr().out) == "You are a scripted bot."


def test_a_namespace_by_its_beginning(database: Database) -> None:
    """The beginning of one namespace is enough; the beginning of several is ambiguous."""
    path = database("real")
    assert at(path, get, "subgraphs", "n", ns="child:afe").ns == "child:afeff8d5-25fd-4d3e-c929-9e5e8fc15d04"
    with pytest.raises(UsageError, match="begins 2 namespaces"):
        at(path, get, "subgraphs", "n", ns="child")


@pytest.mark.parametrize(
    ("path", "hint"), [("step:1", "--at step:1"), ("@^", "--at '@^'"), ("zzz", "there are messages")]
)
def test_a_wrong_first_word_has_a_way_out(path: str, hint: str, database: Callable[[str], Path]) -> None:
    """A revision belongs behind --at; else the user's channels are named, not the graph's own."""
    with pytest.raises(ChannelNotFound) as caught:
        at(database("real"), get, "chat-linear", path)
    assert hint in caught.value.hint
    assert "branch:to" not in caught.value.hint


def _each(path: Path | str, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["get", "--each", *words, "-d", str(path), "--jsonl"]) in (0, 4, 5)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


EACH_ON = [
    *(("sqlite", name) for name in ("real", "hitl", "legacy/py-1.2.22", "legacy/py-0.2.60", "legacy/js-1.4.17")),
    *(("postgres", name) for name in ("pg", "pg-shallow")),
    ("mysql", "mysql"),
]


@pytest.mark.parametrize(("kind", "name"), EACH_ON)
@pytest.mark.parametrize("value_path", ["messages[-1].content", "log", "n"])
def test_each_is_what_get_prints_of_each_thread(
    kind: str,
    name: str,
    value_path: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A row for each thread whose `get` finds the path, with that value, on the same checkpoint; delta channels too."""
    server = None if kind == "sqlite" else request.getfixturevalue(kind)
    path = request.getfixturevalue("database")(name) if server is None else server.url(server.loaded(name))
    rows = {row["thread_id"]: row for row in _each(path, capsys, value_path)}
    assert run(["threads", "-d", str(path), "--limit", "0", "--json"]) == 0
    threads = [one["thread_id"] for one in json.loads(capsys.readouterr().out)["threads"] if not one["ns"]]
    for thread in threads[-40:]:
        code = run(["get", "-d", str(path), "--json", "--", thread, value_path])
        out = capsys.readouterr().out
        assert (code in (0, 5)) == (thread in rows), thread
        if code == 0:
            one = json.loads(out)
            assert (rows[thread]["checkpoint_id"], rows[thread]["value"]) == (one["checkpoint_id"], one["value"])


def test_each_of_chosen_threads(
    database: Callable[[str], Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The selector chooses; a revision on stdin names the checkpoint; --group counts; --csv has a heading."""
    path = database("real")
    few = _each(path, capsys, "messages[0].content", "--match", "chat-*")
    assert few and all(row["thread_id"].startswith("chat-") for row in few)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"chat-linear\tstep:0\n")))
    (first,) = _each(path, capsys, "messages", "--stdin")
    assert run(["get", "chat-linear", "messages", "--at", "step:0", "-d", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == first["value"]
    groups = _each(path, capsys, "messages[0].content", "--group")
    every = [row["value"] for row in _each(path, capsys, "messages[0].content")]
    assert [(row["value"], row["threads"]) for row in groups] == Counter(every).most_common()
    assert run(["get", "--each", "messages[0].content", "--match", "chat-linear", "--csv", "-d", str(path)]) == 0
    heading, row = csv.reader(io.StringIO(capsys.readouterr().out))
    assert heading[:3] == ["thread_id", "checkpoint_id", "value"] and row[0] == "chat-linear"


@pytest.mark.parametrize("words", [["--each", "n", "t"], ["t", "n", "--group"], ["t"], ["t", "n", "--match", "x"]])
def test_options_of_many_threads_and_of_one(words: list[str], database: Callable[[str], Path]) -> None:
    """--each takes no thread, and what belongs to it is refused without it."""
    assert run(["get", *words, "-d", str(database("real"))]) == 2
