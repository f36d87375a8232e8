"""Commands that compare values say that equal values of a redacted bundle may have been different."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run

WITHOUT_SALT = "some.ckpt is redacted without a salt: replaced values that are equal now may have been different"
OTHERS = "some.ckpt is redacted: replaced numbers, dates and some others that are equal now may have been different"
COMPARING = [
    ["log", "t"],
    ["tree", "t"],
    ["show", "t"],
    ["diff", "t"],
    ["blame", "t", "n"],
    ["blame", "t", "n", "--history"],
    ["blame", "t", "n", "--reverse"],
    ["blame", "t", "log", "--reverse", "--at", "@^"],
    ["verify", "t"],
    ["replay", "t", "--to", "@"],
    ["bisect", "t", "--good", "step:0", "--where", "len(log) > 1"],
    ["grep", "p"],
    ["get", "--each", "route", "--group"],
]
OTHER_LOOKS = [["get", "t", "route"], ["threads"], ["writes", "t"], ["graph", "t"]]


class State(TypedDict):
    route: str
    n: int
    log: Annotated[list[str], operator.add]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an agent's database, in which each step changes the channels."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SALT", "a salt that nobody guesses")
    builder: Any = StateGraph(State)
    for number, name in enumerate("abc", 1):
        builder.add_node(name, lambda _, n=number, node=name: {"route": f"to {node}", "n": n, "log": ["p"]})
    for before, after in ((START, "a"), ("a", "b"), ("b", "c")):
        builder.add_edge(before, after)
    with SqliteSaver.from_conn_string("agent.sqlite") as saver:
        builder.compile(saver).invoke({"route": "in", "n": 0}, {"configurable": {"thread_id": "t"}})
    return tmp_path


def export(*options: str, file: str = "some.ckpt") -> None:
    assert run(["export", "t", "-d", "agent.sqlite", "-o", file, *options]) == 0


@pytest.mark.parametrize(
    ("options", "remark"),
    [
        (["--redact", "route", "--redact", "n"], WITHOUT_SALT),
        (["--redact", "route", "--redact", "n", "--salt-env", "SALT"], OTHERS),
        (["--redact-pattern", "to [abc]"], WITHOUT_SALT),
        ([], ""),
    ],
)
def test_each_comparing_command_says_it_once(
    options: list[str], remark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The remark is on stderr, once, and only of a redacted bundle; what compares nothing doesn't have it."""
    export(*options)
    for words in COMPARING:
        capsys.readouterr()
        assert run([*words, "-d", "some.ckpt"]) == 0, words
        err = capsys.readouterr().err
        assert err.count("may have been different") == bool(remark) and remark in err, (words, err)
    for words in OTHER_LOOKS:
        assert run([*words, "-d", "some.ckpt"]) == 0, words
        assert "different" not in capsys.readouterr().err


def test_an_outline_keeps_texts_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """Different numbers of an outline may be equal, different texts never are; a redaction of a redaction adds up."""
    export("--only-structure")
    capsys.readouterr()
    assert run(["verify", "-d", "some.ckpt"]) == 0 and OTHERS in capsys.readouterr().err
    assert run(["export", "-d", "some.ckpt", "-o", "more.ckpt", "--redact", "n", "--salt-env", "SALT"]) == 0
    capsys.readouterr()
    assert run(["verify", "-d", "more.ckpt"]) == 0 and "more.ckpt is redacted without a salt" in capsys.readouterr().err


def test_diff_has_a_note_for_each_side(capsys: pytest.CaptureFixture[str]) -> None:
    """The notes of `diff` name the bundle that is redacted, also the other one."""
    export("--redact", "route")
    capsys.readouterr()
    assert run(["diff", "t", "-d", "agent.sqlite", "--other", "some.ckpt", "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert note.startswith(WITHOUT_SALT)
    export("--redact", "n", "--salt-env", "SALT", file="salted.ckpt")
    capsys.readouterr()
    assert run(["diff", "t", "-d", "salted.ckpt", "--other", "some.ckpt", "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert [note.split()[0] for note in notes] == ["salted.ckpt", "some.ckpt"]


@pytest.mark.parametrize("words", [[], ["--history"], ["--reverse"]])
def test_blame_has_a_note(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An answer of `blame`, whose author may be too early, has the remark in its JSON."""
    export("--redact", "route")
    capsys.readouterr()
    assert run(["blame", "t", "route", *words, "-d", "some.ckpt", "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert note.startswith(WITHOUT_SALT)


def test_a_folder_has_the_remark_of_its_bundles(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If the bundles of a folder were redacted in different ways, the remark is true of all."""
    folder = here / "folder"
    folder.mkdir()
    export(file="folder/plain.ckpt")
    capsys.readouterr()
    assert run(["log", "t", "-d", "folder"]) == 0 and not capsys.readouterr().err
    (folder / "plain.ckpt").unlink()
    export("--only-structure", file="folder/outline.ckpt")
    export("--redact", "route", file="folder/redacted.ckpt")
    capsys.readouterr()
    assert run(["log", "t", "-d", "folder"]) == 0
    assert "a bundle in folder is redacted without a salt: replaced values" in capsys.readouterr().err


@pytest.mark.parametrize("salt", [(), ("--salt-env", "SALT")], ids=["plain", "salted"])
def test_an_input_keeps_the_names_of_channels(salt: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Its keys are those of the writes that took it in, also before any checkpoint has the channels."""
    assert run(["export", "-d", "agent.sqlite", "-o", "outline.ckpt", "--only-structure", *salt]) == 0
    capsys.readouterr()
    [thread_id] = json.loads(_said(capsys, "threads", "-d", "outline.ckpt", "--query", "threads[].thread_id"))
    given = json.loads(_said(capsys, "get", thread_id, "__start__", "--at", "step:-1", "-d", "outline.ckpt"))
    assert given.keys() == {"route", "n"}
    assert "suspect" not in _said(capsys, "verify", thread_id, "--strict", "-d", "outline.ckpt")


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert run([*words]) == 0, capsys.readouterr()
    return capsys.readouterr().out
