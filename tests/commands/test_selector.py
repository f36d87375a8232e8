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


def test_an_empty_match(path: Path) -> None:
    """An unset variable in a script selects nothing."""
    with pytest.raises(UsageError, match="--match is empty"):
        _chosen(path, ["--match", ""])
