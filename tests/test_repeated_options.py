"""An option that takes one value and is given two: refused by every verb, before anything is read."""

import json
import re
import shlex
import sqlite3
from pathlib import Path
from typing import TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import VERBS, function_of, run
from ckpt_cli.typer_commands import wire

IDS = ["recruiting-1", "Travel-7", "old-recruiting", "it's [x] off", "other"]


class _State(TypedDict):
    text: str


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a thread for each of `IDS`."""
    made = tmp_path / "agents.sqlite"
    connection = sqlite3.connect(made, check_same_thread=False)
    builder = StateGraph(_State).add_node("say", lambda _: {"text": "said"}).add_edge(START, "say")
    graph = builder.compile(checkpointer=SqliteSaver(connection))
    for thread_id in IDS:
        graph.invoke({"text": "hi"}, {"configurable": {"thread_id": thread_id}})
    connection.close()
    return made


def _single_options(verb: str) -> list[str]:
    """The options of a verb that take one value, as its parser knows them; the first name of each."""
    command = wire(verb, function_of(verb), reads=VERBS[verb].reads)
    parser = command.make_parser(command.make_context(verb, [], resilient_parsing=True))
    options = [*parser._short_opt.values(), *parser._long_opt.values()]
    return sorted({option.obj.opts[0] for option in options if option.action == "store"})


@pytest.mark.parametrize("verb", VERBS)
def test_two_values_are_refused(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By each option that takes one value; the same value twice is parsed."""
    options = _single_options(verb)
    assert "--color" in options
    for option in options:
        assert run([verb, option, "one", f"{option}=two"]) == 2
        said = capsys.readouterr().err
        assert f"{option} takes one value, and two different ones are given" in said and "leave one of them out" in said
        run([verb, option, "one", option, "one", "--no-such-option"])
        assert "no such option: --no-such-option" in capsys.readouterr().err


def test_nothing_is_removed_by_the_last_of_two_patterns(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change that named two patterns took the last one and left the threads of the first."""
    words = ["--match", "recruiting", "-m", "travel", "--yes", "-d", str(path)]
    bundle = path.parent / "all.ckpt"
    assert run(["export", *words, "--remove", "-o", str(bundle)]) == 2
    assert run(["delete", *words]) == 2
    assert not bundle.exists()
    capsys.readouterr()
    assert _listed(path, [], capsys) == sorted(IDS)


@pytest.mark.parametrize("first", ["recruiting", "TRAVEL", "it's", "[x]", "rec*", "*uiting", "*rec*"])
@pytest.mark.parametrize("second", ["travel", "Tr*", "*7", "*[x]", "r?c*"])
def test_the_hint_selects_the_threads_of_both(
    first: str, second: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ``--where`` of the hint, pasted; a glob that no function says has no such hint."""
    both = {one for pattern in (first, second) for one in _listed(path, ["--match", pattern], capsys)}
    assert run(["threads", "--match", first, "--match", second, "-d", str(path)]) == 2
    hint = capsys.readouterr().err.split("\nhint: leave one of them out")[1]
    if pasted := re.search("(--where .*) takes the threads of both", hint):
        assert _listed(path, shlex.split(pasted[1]), capsys) == sorted(both)
    else:
        assert second in ("*[x]", "r?c*") and hint == ", or run the command once with each\n"


def test_two_filters_can_be_joined(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The hint has both expressions in one, for threads that fit both and for those that fit either."""
    tests = ['contains(thread_id, "recruiting")', 'startswith(thread_id, "old")']
    assert run(["threads", "--where", tests[0], "-w", tests[1], "-d", str(path)]) == 2
    both, either = re.search("join them: --where ('.*'), or ('.*')\n", capsys.readouterr().err).groups()  # type: ignore[union-attr]
    assert _listed(path, ["--where", *shlex.split(both)], capsys) == ["old-recruiting"]
    assert _listed(path, ["--where", *shlex.split(either)], capsys) == ["old-recruiting", "recruiting-1"]


def test_what_may_be_repeated_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options with several values, flags, and a typed value that overrides the environment's."""
    monkeypatch.setenv("CKPT_DB", "elsewhere.sqlite")
    words = ["--status", "done", "--status", "failed", "--json", "--json", "-d", str(path)]
    assert run(["threads", *words]) == 0


def _listed(path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run(["threads", *words, "-d", str(path), "--json", "--limit", "0"]) == 0
    return sorted(thread["thread_id"] for thread in json.loads(capsys.readouterr().out)["threads"])
