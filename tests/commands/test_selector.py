"""The selector chooses the same threads in every command as `threads` lists for the same words."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.errors import ThreadNotFound, UsageError
from ckpt_cli.parameters.selector import SelectorOptions, parse_selector
from ckpt_cli.queries import selected_threads as queries
from ckpt_cli.queries.selected_threads import selected_threads, selected_with_notes
from ckpt_cli.session import Session
from ckpt_cli.typer_commands import wire
from ckpt_cli.views.threads import ThreadsView

WORDS = [
    [],
    ["--match", "chat*"],
    ["--status", "waiting"],
    ["--status", "failed,unfinished"],
    ["--status", "stuck", "--stuck-after", "0s"],
    ["--where", 'source == "update"'],
    ["--where", 'metadata.source == "loop" and step > 2'],
    ["--where", "step == 0", "--any"],
    ["--since", "2026-01-01"],
    ["--until", "2001-01-01"],
    ["--match", "e", "--status", "done", "--where", "len(messages) > 0"],
]


def _chosen(path: Path, words: Sequence[str], threads: list[str] | None = None) -> list[tuple[str, str]]:
    """The ids and revisions that a command with the selector's options selects."""
    found: list[tuple[str, str]] = []

    def probe(session: Session, chosen: SelectorOptions) -> ThreadsView:
        selection = parse_selector(session, chosen, threads)
        ids = session.read(lambda reader: [one.thread_id for one in selected_threads(reader, selection)])
        assert session.read(lambda reader: selected_with_notes(reader, selection)[0]) == ids
        found.extend((one, selection.revision(one)) for one in ids)
        return ThreadsView([])

    wire("probe", probe).main([*words, "-d", str(path)], standalone_mode=False)
    return found


def _listed(path: Path, words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert run(["threads", *words, "-d", str(path), "--json", "--limit", "0"]) == 0
    return [thread["thread_id"] for thread in json.loads(capsys.readouterr().out)["threads"]]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_as_threads_lists(path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """In the same order."""
    assert [one for one, _ in _chosen(path, words)] == _listed(path, words, capsys)


def _type(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_grep_searches_them(path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The times of `grep` choose checkpoints, all other options its threads."""
    every_thread = [one for one in words if not one.startswith(("2001", "2026", "--since", "--until"))]
    capsys.readouterr()
    assert run(["grep", ".", *every_thread, "--count", "-d", str(path), "--json"]) == 0
    found = [hit["thread_id"] for hit in json.loads(capsys.readouterr().out)["hits"]]
    assert found == _listed(path, every_thread, capsys)


def test_listed_by_name(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`threads --stdin` lists the named threads in its own order, narrowed by conditions; `grep` in the named order."""
    everything = _listed(path, [], capsys)
    some = everything[3:0:-1]
    for words in ([], ["--status", "done"], ["--match", some[0]], ["--since", "2001-01-01"]):
        wanted = [one for one in _listed(path, words, capsys) if one in some]
        _type(monkeypatch, "\n".join([*some, some[0]]))
        assert _listed(path, [*words, "--stdin"], capsys) == wanted
    _type(monkeypatch, "\n".join(some))
    assert run(["grep", ".", "--stdin", "--count", "-d", str(path), "--json"]) == 0
    assert [hit["thread_id"] for hit in json.loads(capsys.readouterr().out)["hits"]] == some
    _type(monkeypatch, "nobody")
    assert run(["threads", "--stdin", "-d", str(path)]) == 4
    _type(monkeypatch, f"{some[0]}\n{some[1]}")
    assert run(["threads", "--stdin", "-n", "1", "-d", str(path)]) == 0
    assert str(len(everything)) not in capsys.readouterr().err


@pytest.mark.parametrize("few", [0, 20])
def test_named(path: Path, few: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Named threads keep their order, once each; stdin may give revisions; conditions narrow the names."""
    monkeypatch.setattr(queries, "_FEW", few)
    first, second, *_ = sorted(_listed(path, [], capsys))
    _type(monkeypatch, f"{second}\tstep:1\r\n\n{first}\n{second}\n")
    assert _chosen(path, ["--stdin"]) == [(second, "step:1"), (first, "")]
    _type(monkeypatch, f"{second}\n")
    assert _chosen(path, [], [first, "-", first]) == [(first, ""), (second, "")]
    assert _chosen(path, ["--match", second], [first, second]) == [(second, "")]
    _type(monkeypatch, "")
    assert _chosen(path, ["--stdin"]) == []
    with pytest.raises(ThreadNotFound):
        _chosen(path, [], [first, "nobody"])


@pytest.mark.parametrize("text", ["a\tstep:1\na\tstep:2\n", "a\tb\tc\n", "\tstep:1\n"])
def test_bad_lines(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two revisions of a thread, three columns, and a revision without a thread are refused."""
    _type(monkeypatch, text)
    with pytest.raises(UsageError, match="stdin"):
        _chosen(path, ["--stdin"])


@pytest.mark.parametrize(
    "words",
    [
        ["rollback", "--stdin", "--at", "step:1"],
        ["fork", "--stdin", "--at", "step:1"],
        ["update", "--stdin", "--values", "{}"],
        ["edit", "--stdin", "--set", "x=1"],
        ["delete", "-"],
        ["prune", "--stdin", "--keep-last", "1"],
    ],
    ids=" ".join,
)
def test_a_change_that_nobody_can_confirm_reads_no_names(
    path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program in front of the pipe may run for long; with --yes or --dry-run its names are read."""
    _type(monkeypatch, "nobody")
    assert run([*words, "-d", str(path)]) == 7
    assert "stdin was not read" in capsys.readouterr().err
    for option in ("--yes", "--dry-run"):
        _type(monkeypatch, "nobody")
        assert run([*words, option, "-d", str(path)]) not in (0, 7)


def test_an_empty_match(path: Path) -> None:
    """An unset variable in a script selects nothing."""
    with pytest.raises(UsageError, match="--match is empty"):
        _chosen(path, ["--match", ""])
