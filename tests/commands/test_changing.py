"""The commands that change a database, as a whole: shown, confirmed, applied, listed, taken back."""

import json
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands import operations
from ckpt_cli.operations.log import Heading, OperationLog
from ckpt_cli.operations.place import default_path
from ckpt_cli.operations.witnesses import Choice, sample
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.plan import render
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.session import Session, Will
from ckpt_cli.views.plan import PlanView, RowLine
from ckpt_cli.views.tag import TagLine, TagView
from tests import golden
from tests.operations.databases import dump

Told = dict[str, Any]
Database = Callable[[str], Path]
THREAD = "chat-linear"


@pytest.fixture
def path(database: Database) -> Path:
    return database("real")


@pytest.fixture
def ckpt(path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Runs a command line and gives its JSON."""

    def go(*words: str, code: int = 0) -> Told:
        assert run([*words, "-d", str(path), "--json"]) == code
        out = capsys.readouterr().out
        return json.loads(out) if out else {}

    return go


def kept(told: Told) -> list[tuple[str, str]]:
    """What is done to which table, row by row."""
    return [(row["change"], row["table"]) for row in told["rows"]]


def values(shown: Told) -> Told:
    """The state that a checkpoint holds."""
    return {channel: told["value"] for channel, told in shown["channels"].items()}


def test_a_fork_from_plan_to_undo(ckpt: Callable[..., Told], path: Path) -> None:
    """A dry run tells the plan and touches nothing; the real one adds one row, names it, and undo removes it."""
    before = dump(path)
    planned = ckpt("fork", THREAD, "step:1", "--dry-run")
    assert (planned["applied"], planned["operation"], kept(planned)) == (False, None, [("add", "checkpoints")])
    assert dump(path) == before
    assert not default_path(f"sqlite:{path.resolve()}").exists()
    done = ckpt("fork", THREAD, "step:1", "--yes", "--reason", "wrong turn")
    assert (done["applied"], done["operation"], done["reason"]) == (True, 1, "wrong turn")
    named = done["config"]["configurable"]
    shown = ckpt("show", THREAD)
    assert (shown["checkpoint_id"], shown["source"]) == (named["checkpoint_id"], "fork")
    assert shown["parent"]["checkpoint_id"] == ckpt("show", THREAD, "@^")["checkpoint_id"]
    assert [o["state"] for o in ckpt("operations")["operations"]] == ["done"]
    assert kept(ckpt("undo", "--yes")) == [("remove", "checkpoints")]
    assert dump(path) == before
    assert kept(ckpt("undo", "2", "--yes")) == [("add", "checkpoints")]
    assert ckpt("show", THREAD)["checkpoint_id"] == named["checkpoint_id"]
    assert [o["state"] for o in ckpt("operations")["operations"]] == ["done", "undone", "done"]


def test_a_rollback(ckpt: Callable[..., Told]) -> None:
    """The head becomes a child of the checkpoint with its values."""
    old = ckpt("show", THREAD, "step:0")
    done = ckpt("rollback", THREAD, "step:0", "--yes")
    new, named = ckpt("show", THREAD), done["config"]["configurable"]
    assert (new["checkpoint_id"], new["parent"]["checkpoint_id"]) == (named["checkpoint_id"], old["checkpoint_id"])
    assert (values(new), new["next"]) == (values(old), old["next"])
    assert ckpt("rollback", THREAD, "@", "--yes", code=7) == {}


def test_a_thread_of_its_own(ckpt: Callable[..., Told], capsys: pytest.CaptureFixture[str]) -> None:
    """It goes under the new id with its ancestors, and names no checkpoint; an id that is taken is refused."""
    done = ckpt("fork", THREAD, "@", "--to", "forks-again", "--yes")
    assert done["config"] == {"configurable": {"thread_id": "forks-again", "checkpoint_ns": ""}}
    assert values(ckpt("show", "forks-again")) == values(ckpt("show", THREAD))
    assert len(ckpt("log", "forks-again")["steps"]) == len(ckpt("log", THREAD)["steps"])
    ckpt("fork", THREAD, "@", "--to", "forks-again", "--yes", code=7)
    ckpt("fork", THREAD, "@", "--shallow", code=2)
    ckpt("fork", THREAD, "@", "--to", "x", "--ns", "sub", code=2)
    ckpt("fork", THREAD, "@", "--to", "alone", "--shallow", "--yes")
    assert len(ckpt("log", "alone")["steps"]) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fork", "{rev}"], True),
        (["rollback", "{rev}"], True),
        (["edit", "{rev}", "--set", "turn=9"], True),
        (["update", "{rev}", "--values", '{{"turn": 9}}', "--as-node", "model", "--next", "END"], True),
        (["replay", "{rev}", "--commit"], True),
        (["fork", "@"], True),
        (["edit", "@", "--set", "turn=9"], False),
        (["update", "@", "--values", '{{"turn": 9}}', "--as-node", "model", "--next", "END"], False),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_who_takes_the_heads_place_says_so(ckpt: Callable[..., Told], words: list[str], told: bool) -> None:
    """Where the new checkpoint doesn't follow the head, the plan says the same of it whatever the command."""
    verb, *more = [word.format(rev="step:4") for word in words]
    head = ckpt("show", THREAD)["short"]
    notes = ckpt(verb, THREAD, *more, "--dry-run")["notes"]
    assert (f"the thread goes on from here, and no more from {head}" in notes) is told


@pytest.mark.parametrize(
    ("words", "pinned", "told"),
    [
        (["chat-linear", "--after", "@^"], False, ""),
        (["forks", "--after", "cb96ab"], True, "then, on another branch: a run goes on from there unless told"),
    ],
)
def test_what_goes_on_after_a_part_is_deleted(
    ckpt: Callable[..., Told], words: list[str], pinned: bool, told: str
) -> None:
    """The config goes on from the checkpoint that was named: by its id where the head is another by then."""
    plan = ckpt("delete", *words, "--dry-run")
    assert ("checkpoint_id" in plan["config"]["configurable"]) == pinned
    assert any(told in note for note in plan["notes"])
    assert pinned == any("on another branch" in note for note in plan["notes"])


def test_nobody_to_ask(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal and without --yes a change is refused; with --json too, as a question has no place in it."""
    before = dump(path)
    assert run(["fork", THREAD, "@", "-d", str(path)]) == 7
    assert "hint: --yes applies it, --dry-run shows it" in capsys.readouterr().err
    assert run(["fork", THREAD, "@", "-d", str(path), "--json"]) == 2
    assert dump(path) == before


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("YES", 0), ("n", 7), ("", 7), ("\x04", 7)])
def test_the_question(path: Path, answer: str, code: int) -> None:
    """On a terminal the plan is shown and one question asked; only yes applies it, and stdout has only the outcome."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "ckpt_cli", "fork", THREAD, "step:1", "-d", str(path)]
    with subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        os.write(controller, answer.encode() + b"\n" if answer != "\x04" else b"\x04")
        out, err = process.communicate(timeout=30)
    os.close(terminal)
    os.close(controller)
    assert process.returncode == code
    asked = err.decode()
    assert "1 row added to checkpoints.\nApply? [y/N] " in asked
    assert "fork of " in asked
    told = out.decode().splitlines()
    if code:
        assert told == []
        assert "not confirmed; nothing was written" in asked
    else:
        assert told[0] == "done, operation 1.  ckpt undo takes it back."
        assert json.loads(told[1])["configurable"]["thread_id"] == THREAD


def test_the_plan_at_the_question_fits_the_terminal(path: Path) -> None:
    """It is as wide as the terminal that it is shown on, also where stdout goes elsewhere."""
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 60))
    command = [sys.executable, "-m", "ckpt_cli", "fork", THREAD, "step:1", "-d", str(path), "--color", "never"]
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(command, stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, env=env) as process:
        os.write(controller, b"n\n")
        process.communicate(timeout=30)
    os.close(terminal)
    shown = os.read(controller, 10_000).decode().splitlines()
    os.close(controller)
    start = next(number for number, line in enumerate(shown) if line.startswith("fork of "))
    end = next(number for number, line in enumerate(shown) if line.startswith("1 row added"))
    assert end - start > 1
    assert max(map(len, shown[start:end])) <= 60


def test_tags_are_revisions(ckpt: Callable[..., Told], path: Path) -> None:
    """A tagged checkpoint is found by tag:NAME everywhere a revision is; the database isn't touched."""
    before, head = dump(path), ckpt("show", THREAD)["checkpoint_id"]
    told = ckpt("tag", THREAD, "@", "good")
    assert (told["did"], [tag["id"] for tag in told["tags"]]) == ("added", [head])
    ckpt("fork", THREAD, "step:1", "--yes")
    assert ckpt("show", THREAD, "tag:good")["checkpoint_id"] == head
    assert ckpt("show", THREAD, "tag:good^") == ckpt("show", THREAD, f"{head}^")
    assert (
        [tag["name"] for tag in ckpt("tag", "--list")["tags"]] == ["good"] == [t["name"] for t in ckpt("tag")["tags"]]
    )
    ckpt("tag", THREAD, "@", "good", code=7)
    assert ckpt("tag", THREAD, "@", "good", "--force")["tags"][0]["id"] != head
    ckpt("undo", "--yes")
    assert [tag["gone"] for tag in ckpt("tag", THREAD, "--list")["tags"]] == [True]
    ckpt("show", THREAD, "tag:good", code=4)
    assert ckpt("tag", THREAD, "--delete", "good")["did"] == "deleted"
    ckpt("show", THREAD, "tag:good", code=4)
    assert dump(path) == before
    for words in (["--delete", "x"], [THREAD], [THREAD, "@"], [THREAD, "@", "a b"], ["--list", THREAD, "@"]):
        ckpt("tag", *words, code=2)


def test_a_tag_that_moves_tells_where_it_was(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that it can be put back, which no undo does."""
    for rev, words in (("step:1", []), ("step:2", ["--force"]), ("step:2", ["--force"])):
        capsys.readouterr()
        assert run(["tag", THREAD, rev, "here", "-d", str(path), *words]) == 0
        told = capsys.readouterr()
        if rev == "step:2" and told.err:
            was = told.err.removeprefix("tag:here was on ").strip()
            assert run(["tag", THREAD, was, "there", "-d", str(path)]) == 0
    assert told.err == ""
    assert run(["show", THREAD, "step:1", "-d", str(path)]) == 0
    assert "tag:there" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["log", "tree", "show"])
def test_tags_are_shown(ckpt: Callable[..., Told], path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """A tagged checkpoint bears its tags wherever it is shown."""
    ckpt("tag", THREAD, "@", "good")
    ckpt("tag", THREAD, "@", "v2")
    assert run([verb, THREAD, "-d", str(path)]) == 0
    assert "tag:good tag:v2" in " ".join(capsys.readouterr().out.split())


def test_reading_makes_no_log(ckpt: Callable[..., Told], path: Path) -> None:
    """Commands that look, a revision by tag among them, leave no log."""
    ckpt("operations")
    ckpt("tag", "--list")
    ckpt("show", THREAD, "tag:none", code=4)
    ckpt("undo", "--yes", code=4)
    assert not default_path(f"sqlite:{path.resolve()}").parent.exists()


def test_undo_names_the_operation_that_stands_on_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be taken back because of a later operation says which; its own words tell what is undone."""
    ends = ["--db", str(path), "--yes"]
    assert run(["fork", "forks", "@^", *ends]) == 0
    assert run(["update", "forks", "--as-node", "__end__", *ends]) == 0
    capsys.readouterr()
    assert run(["undo", "1", *ends]) == 7
    assert "hint: `ckpt undo 2` first, then `ckpt undo 1`" in capsys.readouterr().err
    assert run(["undo", "2", *ends]) == 0
    assert capsys.readouterr().out.startswith("undo of operation 2 (update ")
    assert run(["undo", "1", *ends]) == 0


def answered(path: Path, answer: str) -> tuple[int, list[str]]:
    """The exit code where a person answers the question that ``--prune --keep 1`` asks, and what it forgets."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "ckpt_cli", "operations", "--prune", "--keep", "1", "-d", str(path)]
    with subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        os.write(controller, f"{answer}\n".encode())
        err = process.communicate(timeout=30)[1].decode()
    os.close(terminal)
    os.close(controller)
    return process.returncode, [line for line in err.splitlines() if "forgets" in line]


def test_pruning(ckpt: Callable[..., Told], path: Path) -> None:
    """Old operations are forgotten only once that was shown and confirmed; the words must fit together."""
    ckpt("tag", THREAD, "step:1", "here")
    for _ in range(3):
        ckpt("fork", THREAD, "tag:here", "--yes")
    assert ckpt("operations", "--prune", "--older", "1")["pruned"] == 0
    assert answered(path, "n") == (
        7,
        ["operations --prune forgets operations 1 to 2, for which there is no undo then"],
    )
    planned = ckpt("operations", "--prune", "--keep", "1", "--dry-run")
    assert (planned["applied"], kept(planned)) == (False, [("remove", "the operation log")] * 2)
    ckpt("operations", "--prune", "--keep", "1", code=2)
    assert len(ckpt("operations")["operations"]) == 3
    told = ckpt("operations", "--prune", "--keep", "1", "--yes")
    assert (told["pruned"], [o["number"] for o in told["operations"]]) == (2, [3])
    ckpt("undo", "1", "--yes", code=4)
    ckpt("operations", "--prune", code=2)
    ckpt("operations", "--keep", "1", code=2)
    ckpt("operations", "--yes", code=2)


def test_an_interrupted_operation_is_settled_by_the_next(path: Path) -> None:
    """What a crash left open is said by the next change, and told apart in the list."""
    log = OperationLog(default_path(f"sqlite:{path.resolve()}"))
    saver = open_file(path)
    log.begin(Heading(1.0, "fork", "", "cut off"), [], witnessing=Choice(saver, sample(saver)))
    log.close()
    saver.close()
    said: list[str] = []
    session = Session(str(path), say=said.append, will=Will(yes=True), changing=True)
    from ckpt_cli.commands.fork import fork

    fork(session, THREAD, "step:1")
    assert said == ["operation 1 (fork) was interrupted: see `ckpt operations`"]
    assert [o.state for o in operations.run(session.log).operations] == ["done", "abandoned"]
    session.close()


def test_a_database_cut_off_in_a_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A killed write stops those who only look, with a hint; a command that changes takes it back first."""
    path = tmp_path / "half.sqlite"
    script = f"""
import os, sqlite3
connection = sqlite3.connect({str(path)!r}, isolation_level=None)
connection.executescript(open({str(path) + ".sql"!r}).read())
connection.execute("PRAGMA cache_size=1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE checkpoints SET metadata = zeroblob(200000)")
os.kill(os.getpid(), 9)
"""
    (tmp_path / "half.sqlite.sql").write_text(
        "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT,"
        " type TEXT, checkpoint BLOB, metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));"
        "CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, idx INTEGER,"
        " channel TEXT, type TEXT, value BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));"
        "INSERT INTO checkpoints VALUES ('t', '', '1f1e5786-50cb-6000-8001-5d20aa77c1e4', NULL, 'json',"
        """ '{"v": 4, "id": "1", "ts": "2026", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}',"""
        """ '{"source": "loop", "step": 1}');"""
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    assert run(["log", "t", "-d", str(path)]) == 3
    assert "left in the middle of a write" in capsys.readouterr().err
    assert run(["fork", "t", "@", "-d", str(path), "--dry-run"]) == 3
    assert run(["fork", "t", "@", "-d", str(path), "--yes"]) == 0
    assert run(["log", "t", "-d", str(path)]) == 0


ROW = RowLine("add", "checkpoints", "t", "", "1f1e5786-50cb-6000-8001-5d20aa77c1e4", None, None, 0, 1200)
WRITE = RowLine("remove", "writes", "t", "", "1f1e5786-50cb-6000-8001-5d20aa77c1e4", "task", 0, 3_200_000, 0)
SUMMARY = "of 3e971b (step 2): new checkpoint 5d20aa, source fork, step 3; next: tools, classify, and one more 任务"


def test_looks() -> None:
    """Plans, shown and applied, the log and the tags on every kind of output."""
    note = "notify has finished at that checkpoint; here it runs again, which takes longer to say than fits in eighty"
    rows = [ROW, WRITE, WRITE]
    golden.check("plan/shown", PlanView("fork", SUMMARY, "why", [note], rows=rows))
    names = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": ROW.checkpoint_id or ""}
    config = {"configurable": names}
    done = PlanView("fork", SUMMARY, rows=[ROW], applied=True, operation=7, undo="ckpt undo", config=config)
    golden.check("plan/applied", done)
    golden.check("plan/nothing", PlanView("prune", "nothing is old enough"))
    many = [RowLine("add", table, "t", "", "1", None, None, 0, 9) for table in ("checkpoints", "checkpoint_blobs")]
    golden.check("plan/tables", PlanView("delete", "of 1 thread", rows=[*many, WRITE, replace(ROW, change="change")]))
    golden.check(
        "plan/undone",
        PlanView("undo", "of operation 7 (fork)", rows=[ROW], applied=True, operation=8, undo="ckpt undo 8"),
    )
    tags = [TagLine("good", "t", "", ROW.checkpoint_id or "", False, "2026-11-21T09:28:05Z")]
    tags.append(TagLine("v1.2/中", "t", "sub:1", "1", True, "2026-11-21T09:28:05Z"))
    golden.check("tag/listed", TagView("listed", tags))
    golden.check("tag/none", TagView("listed", []))


def test_the_log_looks(tmp_path: Path) -> None:
    """The operation log on every kind of output."""
    log = OperationLog(tmp_path / "log" / "x" / "log.sqlite")
    log.begin(
        Heading(golden.NOW - 7200, "fork", "the customer got the wrong answer, so we go back and try again", SUMMARY),
        [],
    )
    log.finish(1)
    log.begin(Heading(golden.NOW - 60, "undo", "", "of operation 1 (fork)", 1), [])
    log.finish(2)
    log.begin(Heading(golden.NOW - 5, "edit", "", "cut off"), [])
    view = operations.run(log)
    view.log = "log.sqlite"
    golden.check("operations/listed", view)
    view.operations, view.pruned = [], 3
    golden.check("operations/none", view)
    log.close()


def test_once_asked_the_plan_is_not_told_again() -> None:
    """After the question only the outcome is printed."""
    view = PlanView("fork", SUMMARY, rows=[ROW], applied=True, operation=7, undo="ckpt undo")
    view.confirmed = True
    assert [plain(line) for line in render(view, Page(80, 0))] == ["done, operation 7.  ckpt undo takes it back."]


def test_paths_and_commands_are_not_broken() -> None:
    """On a narrow terminal a path, a command and an id are on one line each, to be copied."""
    path = "/home/a person/.local/state/ckpt/e16b85744488637a4005/log.sqlite"
    note = "`ckpt delete support-42 --after 1f1e5786-50cb-6000-8001-5d20aa77c1e4` takes the others"
    view = PlanView("delete", SUMMARY, rows=[ROW], notes=[note], applied=True, operation=7, undo="ckpt undo", log=path)
    lines = [plain(line).strip() for line in render(view, Page(50, 0))]
    for whole in (path, "ckpt undo takes it back;", "ckpt operations 7 --prune forgets it.", note.rpartition("`")[0]):
        assert any(whole in line for line in lines), whole
    assert any("log.sqlite" in plain(line) and "The log" in plain(line) for line in render(view, Page(None, 0)))


CUT = [["fork", "@"], ["rollback", "@"], ["delete", "--after", "step:-1"]]


@pytest.mark.parametrize("words", CUT, ids=lambda words: words[0])
def test_a_namespace_may_be_cut_short(words: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What changes a subgraph takes its namespace as what looks at it does, and plans the same."""
    thread, told = "subgraph-interrupted", []
    with closing(open_file(path)) as saver:
        whole = saver.namespaces(thread)[-1]
    for ns in (whole, whole[:-3]):
        assert run([words[0], thread, *words[1:], "--ns", ns, "--dry-run", "-d", str(path)]) == 0
        told.append([line for line in capsys.readouterr().out.splitlines() if " row" in line])
    assert told[0] == told[1] and told[0]
