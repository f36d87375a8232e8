"""The commands that `edit` suggests are such as aren't refused in the generation of the thread."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.app import run

Database = Callable[[str], Path]
OLD = ["py-0.2.28", "py-0.2.76", "py-0.3.34", "js-0.2.41", "js-1.4.17"]
NEW = ["py-0.5.4", "py-1.2.22"]


@pytest.mark.parametrize("name", [*OLD, *NEW])
def test_what_finished_is_kept_by_a_commit_only_where_steps_can_be_made(
    name: str, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """`replay --commit` refuses threads of langgraph before 0.5 and of LangGraph.js, so no hint of theirs names it."""
    thread = ["err", "-d", str(database(f"legacy/{name}"))]
    assert run(["edit", *thread, "--set", 'x=["q"]']) == 7
    hint = capsys.readouterr().err
    assert "--rerun lets" in hint
    assert run(["replay", *thread, "--commit", "--dry-run"]) == (0 if name in NEW else 6)
    assert ("--commit" in hint) == (name in NEW)
    capsys.readouterr()
    assert run(["edit", *thread, "--rerun", "--set", "branch:to:bad=1"]) == 2
    assert ("ckpt update" in capsys.readouterr().err) == (name in NEW)


@pytest.mark.parametrize("name", [*OLD, *NEW])
def test_an_edit_of_the_input_is_suggested_only_where_it_is_possible(
    name: str, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """The input of a LangGraph.js thread can't be edited; in all others the suggested command works."""
    path = database(f"legacy/{name}")
    assert run(["edit", "err", "step:-1", "-d", str(path), "--set", 'x=["q"]', "--yes"]) == 0
    said = capsys.readouterr().out
    assert "the next run first applies the input, which has x too" in said
    assert ("after this edit" in said) == name.startswith("py")
    if name.startswith("py"):
        words = shlex.split(said.partition("after this edit, `ckpt ")[2].partition("`")[0].replace("PATH", "x"))
        words[-1] = words[-1].replace("JSON", '["z"]')
        assert run([*words, "-d", str(path), "--dry-run"]) == 0


@pytest.mark.parametrize("name", ["py-0.2.28", "py-0.3.21", "py-0.3.34", "js-1.4.17", *NEW])
def test_an_edit_of_a_send_is_suggested_only_where_it_is_possible(
    name: str, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before langgraph 0.5 and in LangGraph.js `edit --task` refuses a Send, so no plan suggests it."""
    place = ["-d", str(database(f"legacy/{name}"))]
    assert run(["edit", "send-suspended", "--set", "items=[]", *place, "--yes"]) == 0
    said = capsys.readouterr().out
    assert "work (3 tasks) run with the arguments of their Sends, each of which stays as it is" in said
    assert ("`ckpt edit send-suspended @ --task 'work[1]' --set PATH=JSON` changes one" in said) == (name in NEW)
    code = run(["edit", "send-suspended", "@", "--task", "work[1]", "--set", "i=7", *place, "--dry-run"])
    assert code == (0 if name in NEW else 6)
