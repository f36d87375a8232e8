"""``ckpt bisect``: the first bad checkpoint, against a linear search; commands, skips, errors."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.app import run
from ckpt_cli.commands.bisect import bisect
from ckpt_cli.commands.get import get
from ckpt_cli.commands.log import log
from ckpt_cli.errors import CkptError, Failed, UsageError
from ckpt_cli.history.lineage.bisection import Bisection, Verdict, doubling
from tests import golden
from tests.commands.asking import at, look

THREAD = "chat-linear"
Database = Callable[[str], Path]


@given(
    st.lists(st.sampled_from([Verdict.GOOD, Verdict.SKIP]), max_size=40),
    st.lists(st.sampled_from([Verdict.BAD, Verdict.SKIP]), max_size=40),
)
def test_it_finds_what_a_linear_search_finds(before: list[Verdict], after: list[Verdict]) -> None:
    """The first bad place; where skipped ones come right before it, these too, and no others."""
    line = [Verdict.GOOD, *before, *after, Verdict.BAD]
    bisection = Bisection(0, len(line) - 1)
    tested = list(bisection.run(lambda place: line[place]))
    first = line.index(Verdict.BAD)
    last_good = max(place for place, verdict in enumerate(line) if verdict is Verdict.GOOD)
    assert bisection.candidates == list(range(last_good + 1, first + 1))
    if Verdict.SKIP not in line:
        assert len(tested) <= len(line).bit_length()


def test_a_thousand_checkpoints_take_ten_tests() -> None:
    """Wherever the first bad one is."""
    for first in range(1, 1025):
        bisection = Bisection(0, 1024)
        tested = list(bisection.run(lambda place, first=first: Verdict.BAD if place >= first else Verdict.GOOD))
        assert (bisection.bad, len(tested)) == (first, 10)


def test_the_places_that_are_tested_besides_are_few_and_between_the_ends() -> None:
    """Each once, never an end or the result."""
    places = list(doubling(500, 1000))
    assert len(places) == len({*places}) <= 20
    assert not {0, 499, 500, 1000} & {*places}


@pytest.mark.parametrize("turn", range(1, 10))
def test_an_expression_finds_what_a_linear_search_finds(turn: int, database: Database) -> None:
    """With few tests, and without any that contradicts."""
    path = database("real")
    first = next(one.checkpoint_id for one in reversed(checkpoints(path)) if turn_at(path, one.checkpoint_id) >= turn)
    view = at(path, bisect, THREAD, "step:0", "@", where=f"turn >= {turn}")
    assert [step.checkpoint_id for step in view.first_bad] == [first]
    assert [change.path for change in view.changes if change.path == "turn"] == ["turn"]
    assert (len(view.tested) <= 6 + 2 + 11, view.contrary) == (True, [])


def checkpoints(path: Path) -> list[Any]:
    """The checkpoints of the line, newest first, down to step 0."""
    return [one for one in at(path, log, THREAD, limit=0).steps if one.step >= 0]


def turn_at(path: Path, checkpoint_id: str) -> int:
    """The value that the library's input step counts."""
    return int(at(path, get, THREAD, "turn", at=checkpoint_id).value)


def test_a_test_that_changes_its_mind_is_noticed(database: Database) -> None:
    """The checkpoint that contradicts is named, on a terminal too."""
    view = at(database("real"), bisect, THREAD, "step:0", "@", where="10 <= step and step != 12")
    assert [step.step for step in view.first_bad] == [10]
    assert [(one.step, one.verdict) for one in view.contrary] == [(12, "good")]
    golden.check("bisect/contrary", view)


def test_a_command_gets_the_state_on_stdin_and_in_a_private_file(database: Database, tmp_path: Path) -> None:
    """Both are the same JSON; nobody else may read the file, and it is gone afterwards."""
    seen, check = tmp_path / "seen", tmp_path / "check.py"
    check.write_text(
        "import json, os, sys\n"
        "text, path = sys.stdin.read(), os.environ['CKPT_STATE']\n"
        "assert text == open(path).read()\n"
        "modes = [oct(os.stat(name).st_mode & 0o777) for name in (path, os.path.dirname(path))]\n"
        f"print(json.dumps([path, *modes]), file=open({str(seen)!r}, 'a'))\n"
        "print('noise')\n"
        "sys.exit(7 if json.loads(text)['turn'] > 4 else 0)\n"
    )
    view = at(database("real"), bisect, THREAD, "step:0", "@", command=f"{sys.executable} {check}")
    assert [step.step for step in view.first_bad] == [22]
    assert {(one.verdict, one.exit_code) for one in view.tested} == {("good", 0), ("bad", 7)}
    calls = [json.loads(line) for line in seen.read_text().splitlines()]
    assert len(calls) == len(view.tested)
    assert {(file, folder) for _, file, folder in calls} == {("0o600", "0o700")}
    assert not any(os.path.exists(path) for path, _, _ in calls)  # noqa: PTH110


@pytest.mark.parametrize("reveal", [False, True])
def test_a_command_gets_secrets_only_if_asked(reveal: bool, database: Database, tmp_path: Path) -> None:
    """--reveal is the person's word."""
    copy = tmp_path / "copy"
    command = f"sh -c 'cat >>{copy}; echo >>{copy}; test $(wc -l <{copy}) -lt 2'"
    words = ["bisect", "type-secret", "--good", "step:0", "--run", command, "-d", str(database("real"))]
    assert run([*words, *(["--reveal"] if reveal else [])]) == 0
    assert ("$masked" not in copy.read_text()) is reveal


def test_checkpoints_that_cannot_be_tested_leave_candidates(database: Database) -> None:
    """Exit code 125 skips; it is one of those that are left."""
    exits = "sys.exit(125 if t in (4, 5) else t > 5)"
    command = f"""{sys.executable} -c 'import json,sys; t=json.load(sys.stdin)["turn"]; {exits}'"""
    view = at(database("real"), bisect, THREAD, "step:0", "@", command=command)
    steps = [step.step for step in view.first_bad]
    assert steps == list(range(min(steps), 28))
    assert turn_at(database("real"), view.good) == 3
    assert not view.changes
    view.test = "check.py"  # not the path of this Python
    golden.check("bisect/skipped", view)


def test_one_change_is_shown(database: Database) -> None:
    """The checkpoint, its node, and how it differs from its parent."""
    golden.check("bisect/found", at(database("real"), bisect, THREAD, "step:0", "@", where="len(messages) > 4"))


@pytest.mark.parametrize("code", [128, 200])
def test_a_command_that_fails_itself_ends_the_search(code: int, database: Database) -> None:
    """As git does with a code above 127, or a signal."""
    with pytest.raises(Failed, match="exit code"):
        at(database("real"), bisect, THREAD, "step:0", "@", command=f"sh -c 'exit {code}'")
    with pytest.raises(Failed, match="signal 9"):
        at(database("real"), bisect, THREAD, "step:0", "@", command="sh -c 'kill -9 $$'")


@pytest.mark.parametrize(
    ("good", "bad", "options", "message"),
    [
        ("@", "@", {"where": "True"}, "can't be good and bad"),
        ("@", "step:3", {"where": "True"}, "comes after the bad one"),
        ("step:3", "@", {"where": "True"}, "should be good"),
        ("step:3", "@", {"where": "False"}, "should be bad"),
        ("step:3", "@", {"where": "turn < 5"}, "is bad and .* is good"),
        ("step:3", "@", {"where": "trun > 5"}, "no checkpoint has 'trun'"),
        ("step:3", "@", {"where": "messages > 5"}, "fails on every checkpoint"),
        ("step:3", "@", {"where": "turn > 5", "command": "true"}, "two tests"),
        ("step:3", "@", {"command": "no-such-program"}, "names no program"),
        ("step:3", "@", {}, "no terminal"),
    ],
)
def test_ends_that_do_not_fit_are_errors_with_hints(
    good: str, bad: str, options: dict[str, str], message: str, database: Database
) -> None:
    """Each says what is wrong and what to type."""
    with pytest.raises(UsageError, match=message) as error:
        at(database("real"), bisect, THREAD, good, bad, **options)
    assert error.value.hint or "fails on" in message


def test_two_branches_are_no_line(database: Database) -> None:
    """The hint names their last ancestor in common."""
    path = database("real")
    with pytest.raises(UsageError, match="two branches") as error:
        at(path, bisect, "delta", "branch:1", "branch:2", where="True")
    assert "--good" in error.value.hint


def test_a_person_is_asked_about_few_checkpoints(database: Database) -> None:
    """Words or letters; other answers are asked again, and the end of the input ends the search."""
    path, asked = database("real"), list[str]()

    def answer(session: Any, replies: list[str]) -> Any:
        answers = iter(replies)
        session.ask_line = lambda _, text: asked.append(text) or next(answers, None)
        return bisect(session, THREAD, "step:0", "step:8")

    view, said = look(path, lambda session: answer(session, ["what?", "g", "skip", "bad"]))
    assert len(asked) == 4
    assert {one.verdict for one in view.tested} == {"good", "bad", "skip"}
    assert [line.partition(" ")[0] for line in said] == ["look:", "3", "look:", "2", "look:"]
    with pytest.raises(CkptError, match="input ended"):
        look(path, lambda session: answer(session, []))
