"""A Command's goto that is pending, in databases of three releases: every command says what the next run starts."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import END

from ckpt_cli.app import run
from tests.requiring import missing
from tests.twins import older
from tests.twins.goto_threads import DEFERRED, GOTOS, KILLED

RELEASES = {"installed": (), "0.6": older.REQUIREMENTS, "0.2": older.OLDEST}
UNKNOWN = {"killed in a node's first run", "a deferred node that never ran"}
"""Threads where nothing shows whether the node is deferred."""

Ask = Callable[..., Any]


@pytest.fixture(scope="module", params=RELEASES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A database of a release, the nodes that the release really starts, and what its own END leaves."""
    requirements = RELEASES[request.param]
    interpreter = older.python(requirements) if requirements else sys.executable
    if interpreter is None:
        missing(request.config, f"pip can't install {', '.join(requirements)}")
    path = tmp_path_factory.mktemp(request.param) / "made.sqlite"

    def ask(what: str, file: Path) -> Any:
        words = [str(interpreter), "-W", "ignore", "-m", "tests.twins.goto_threads", what, str(file)]
        ended = subprocess.run(words, check=False, capture_output=True, cwd=older.ROOT, text=True)
        assert ended.returncode == 0, ended.stderr[-3000:]
        return json.loads(ended.stdout)

    ask("make", path)
    answers = ask("run", Path(shutil.copy(path, path.with_name("run.sqlite"))))
    if request.param != "0.2":
        answers["ended"] = ask("end", Path(shutil.copy(path, path.with_name("end.sqlite"))))
    return path, answers


@pytest.fixture
def ckpt(made: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Ask:
    """What a command prints as JSON about a copy of that database, with an operation log of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = shutil.copy(made[0], tmp_path / "copy.sqlite")

    def ask(*words: str) -> Any:
        capfd.readouterr()
        ended = run([*words, "-d", str(path), "--json"])
        printed = capfd.readouterr()
        assert ended == 0, printed.err
        return json.loads(printed.out)

    return ask


def plain(started: list[str]) -> list[str]:
    """The nodes without the numbers of the workers."""
    return sorted(node.rstrip("123") for node in started)


@pytest.mark.parametrize("thread_id", [*GOTOS, *KILLED, *DEFERRED])
def test_next_is_what_the_next_run_starts(
    made: tuple[Path, dict[str, Any]], ckpt: Ask, thread_id: str, request: pytest.FixtureRequest
) -> None:
    """`show`, `threads` and `replay` name those nodes, or say that nothing stored shows them."""
    started, is_old = plain(made[1][thread_id]), request.node.callspec.params["made"] == "0.2"
    view = ckpt("show", thread_id)
    thread = next(one for one in ckpt("threads", "--wide")["threads"] if one["thread_id"] == thread_id)
    assert view["next"] == thread["next"]
    if view["next"] is None:
        assert is_old or thread_id in UNKNOWN
        return
    assert sorted(view["next"]) == started
    if not is_old:
        again = [task["node"] for task in ckpt("replay", thread_id)["tasks"] if task["again"]]
        assert sorted(again) == started


def test_a_status_is_the_same_in_every_command(ckpt: Ask) -> None:
    """`threads`, its filters, `stats` and `tree` count the same threads as waiting, failed and done."""
    listed = {one["thread_id"]: one["statuses"] for one in ckpt("threads")["threads"]}
    for thread_id, (_, _, asks, fails) in GOTOS.items():
        tasks = ckpt("show", thread_id)["tasks"]
        assert listed[thread_id] == [s for s in ("waiting", "failed") if s in {t["status"] for t in tasks}] or not (
            {"waiting", "failed"} & {t["status"] for t in tasks}
        )
        assert ("failed" in listed[thread_id]) == bool(fails)
        assert ("waiting" in listed[thread_id]) == bool(asks) or thread_id == "Sends are replaced"
    for closely in ([], ["--values"]):
        counts = ckpt("stats", *closely)
        for status in ("waiting", "failed"):
            assert counts[status] == sum(status in some for some in listed.values()), (closely, status)
    for status in ("waiting", "failed", "done", "unknown", "unfinished"):
        found = {one["thread_id"] for one in ckpt("threads", "--status", status)["threads"]}
        assert found == {thread_id for thread_id, some in listed.items() if status in some}


def test_commit_leaves_what_an_update_as_end_leaves(made: tuple[Path, dict[str, Any]], ckpt: Ask) -> None:
    """The same state, the same nodes next, and the same nodes in the next run, as after the release's own update.

    Where nothing is pending, nothing is committed, and the release's update changes no value either.
    """
    if "ended" not in made[1]:
        with pytest.raises(AssertionError, match="a step can't be made"):
            ckpt("replay", "asks", "--commit", "--yes")
    for thread_id, ended in made[1].get("ended", {}).items():
        shown = ckpt("show", thread_id)
        is_over = not shown["tasks"] and not ckpt("writes", thread_id)["tasks"]
        with pytest.raises(AssertionError, match="nothing to commit") if is_over else nullcontext():
            ckpt("replay", thread_id, "--commit", "--yes", "--reducer", "n=sum", "--reducer", "log=append")
        view = ckpt("show", thread_id)
        assert sorted(view["next"]) == ended["next"], thread_id
        assert {name: channel["value"] for name, channel in view["channels"].items()} == ended["values"], thread_id
        assert ended["next"] == plain(ended["ran"])


def test_who_asked_is_named_by_the_task(ckpt: Ask) -> None:
    """In `log`, a question of a Send that a Command's Send has replaced isn't the other node's."""
    for thread_id, nodes in {"another node instead of Sends": "bww", "a node beside Sends": "w"}.items():
        halts = ckpt("log", thread_id)["steps"][0]["halts"]
        asked = [halt["node"] for halt in halts if halt["kind"] == "interrupt"]
        assert len(asked) == len(nodes) and not Counter(filter(None, asked)) - Counter(nodes)


def test_a_pending_command_is_in_log_and_tree(ckpt: Ask) -> None:
    """The head has the nodes of the goto and the channels of the update; no other checkpoint has."""
    for thread_id, (_, command, _, _) in GOTOS.items():
        goto = command.goto if isinstance(command.goto, list) else [command.goto]
        nodes = dict.fromkeys(getattr(one, "node", one) for one in goto)
        steps = ckpt("log", thread_id, "--all")["steps"]
        if len(steps) > 3 and thread_id == "Sends are replaced":  # the library took the goto in
            assert all(step["command"] is None for step in steps)
            continue
        pending = {"channels": [*(command.update or ())], "goto": [node for node in nodes if node != END]}
        assert [step["command"] for step in steps] == [pending, *[None] * (len(steps) - 1)], thread_id
