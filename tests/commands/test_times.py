"""Times that ckpt prints can be typed, and ``--since`` and ``--until`` bound what is listed."""

import json
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands.grep import grep
from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from ckpt_cli.commands.tree import tree
from ckpt_cli.errors import CheckpointNotFound
from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.output.text.time_column import Clock
from tests import golden
from tests.commands.asking import at, look
from tests.commands.listing import threads

Database = Callable[[str], Path]


@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
def test_every_printed_time_names_its_checkpoint(
    zone: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of `show`, of the column of `log`, and that of JSON: the last checkpoint of the second, or millisecond."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    path = database("real")
    steps = at(path, log, "interrupt-multi-resumed").steps
    column = Clock(step.time for step in steps)
    newest: dict[str, str] = {}
    for step in steps:
        seen = at(path, show, "interrupt-multi-resumed", step.checkpoint_id)
        lines = [plain(line) for line in render(seen, Page(200, golden.NOW))]
        printed = next(line.split(maxsplit=1)[1] for line in lines if line.startswith("  time "))
        for words in (printed, printed.replace(" ", "T", 1), column(step.time), step.time):
            first = newest.setdefault(words, step.checkpoint_id)
            assert at(path, show, "interrupt-multi-resumed", f"@{{{words}}}").checkpoint_id == first
    assert len(set(newest.values())) > 1


@pytest.mark.parametrize("thread", ["interrupt-multi", "forks", "subgraph-interrupted"])
def test_a_column_of_times_has_its_zone(thread: str, database: Database) -> None:
    """`log` and `tree` have it once beside the times, and on a narrow page too if the times are there."""
    for view in (at(database("real"), log, thread), at(database("real"), tree, thread)):
        for width in range(40, 130, 3):
            lines = [plain(line) for line in render(view, Page(width, golden.NOW))]
            assert all(cell_len(line) <= width for line in lines)
            if any(re.search(r"\d\d:\d\d", line) for line in lines):
                assert any(" UTC" in line for line in lines), (width, lines)


def test_a_time_without_its_date_names_no_checkpoint_of_another_second(database: Database) -> None:
    """It is an error that nothing was made then, or that several days have it."""
    with pytest.raises(CheckpointNotFound, match="no checkpoint was made at 23:59:58"):
        at(database("real"), show, "chat-linear", "@{23:59:58}")


def test_the_bounds_are_those_of_each_checkpoint(database: Database) -> None:
    """`log` lists what was made in the period, and `grep` searches it; printed times are bounds that include it."""
    path = database("real")
    made = {step.checkpoint_id: step.time or "" for step in at(path, log, "forks", everything=True).steps}
    instants = sorted(set(made.values()))
    for since, until in ((instants[0], instants[-1]), (instants[1], instants[-2]), (instants[2], instants[2])):
        bounds = {"since": since, "until": until}
        inside = [one for one, when in made.items() if since <= when <= until]
        assert [s.checkpoint_id for s in at(path, log, "forks", everything=True, **bounds).steps] == inside
        hits = at(path, grep, "input|loop|update", ["forks"], places=["metadata"], **bounds).hits
        assert {hit.first.checkpoint_id for hit in hits} <= set(inside)
        assert hits


def test_threads_are_those_last_active_in_the_period(database: Database) -> None:
    """A day is whole, and what was understood is said with its zone."""
    path = database("real")
    every = {one.thread_id: one.updated or "" for one in at(path, threads, limit=0).threads}
    for day in sorted({updated[:10] for updated in every.values()}):
        view, said = look(path, partial(threads, since=day, until=day, limit=0))
        assert {one.thread_id for one in view.threads} == {one for one, when in every.items() if when[:10] == day}
        assert said == [f"since {day} 00:00:00 UTC, until {day} 23:59:59 UTC"]


@pytest.mark.parametrize("words", [["threads"], ["log", "forks"], ["grep", "x"]])
def test_an_end_before_the_beginning_is_a_usage_error(
    words: list[str], database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and the error says both."""
    bounds = ["--since", "2026-11-02", "--until", "2026-11-01"]
    assert run([*words, *bounds, "-d", str(database("real"))]) == 2
    assert "--until 2026-11-01 is before --since 2026-11-02" in capsys.readouterr().err


def test_what_was_understood_is_on_stderr_alone(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON and piped columns are the same with and without a bound that leaves nothing out."""
    for words in (["log", "forks"], ["log", "forks", "--json"], ["threads"], ["tree", "forks"]):
        outputs = []
        for bound in ([], ["--since", "1990-01-01"] if words[0] != "tree" else []):
            assert run([*words, *bound, "-d", str(database("real"))]) == 0
            captured = capsys.readouterr()
            assert ("since 1990-01-01 00:00:00 UTC" in captured.err) == bool(bound)
            outputs.append(captured.out)
        assert outputs[0] == outputs[1]
        assert " UTC" not in outputs[0]
        assert words[-1] != "--json" or json.loads(outputs[0])["steps"]


def test_a_list_over_a_change_to_summer_time_says_the_zone_of_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all times have one zone it is said once beside the list."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    winter, summer = "2026-03-29T00:30:00.000Z", "2026-03-29T01:30:00.000Z"
    clock = Clock([winter, summer])
    assert [clock(winter), clock(summer), clock.beside] == ["01:30:00 +01:00", "03:30:00 +02:00", "2026-03-29"]
    assert Clock([summer]).beside == "2026-03-29 +02:00"
    assert Clock([winter, summer], wide=True).beside == "2026-03-29"
