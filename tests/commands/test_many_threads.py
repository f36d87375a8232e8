"""Changes of many threads on the demo's database: every verb, one operation each, and everything comes back."""

import io
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.operations import bulk
from ckpt_cli.operations.log_file import LogFile
from ckpt_cli.output import talk
from ckpt_cli.output.line import Page
from ckpt_cli.output.text.bulk import plan_lines
from ckpt_cli.views.bulk import BulkView, ThreadLine
from tests.graphs.building import line, on

Ckpt = Callable[..., Any]
MANY = ["--match", "support-*"]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """The demo's four threads: one waits, one has failed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "demo.sqlite"
    assert run(["demo", str(path)]) == 0
    capsys.readouterr()
    return path


@pytest.fixture
def ckpt(database: Path, capsys: pytest.CaptureFixture[str]) -> Ckpt:
    """Runs a command, and gives what it prints as JSON."""

    def go(*words: str, code: int = 0) -> Any:
        ended = run([*words, "-d", str(database), "--json"])
        printed = capsys.readouterr()
        assert ended == code, printed.err
        return json.loads(printed.out or printed.err)

    return go


def rows(database: Path) -> list[str]:
    """Every row of the database."""
    with closing(sqlite3.connect(database)) as connection:
        return sorted(connection.iterdump())


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (["rollback", *MANY, "--at", "step:1"], 4),
        (["fork", *MANY, "--at", "before:node:tools"], 4),
        (["fork", "--status", "failed", "--at", "failed"], 1),
        (["edit", *MANY, "--set", 'route="human"', "--rerun"], 4),
        (
            [
                "update",
                "--match",
                "support-4",
                "--values",
                '{"route": "human"}',
                "--as-node",
                "triage",
                "--next",
                "END",
            ],
            2,
        ),
        (["resume", "--status", "waiting", "--value", "true"], 1),
        (["replay", "--status", "failed", "--commit"], 1),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_verb_takes_many(words: list[str], changed: int, database: Path, ckpt: Ckpt) -> None:
    """Each is one operation, whose undo brings every row back; a dry run on one thread changes nothing."""
    before = rows(database)
    tried = ckpt(*words, "--dry-run", "--limit", "1", "--skip-refused")
    assert (tried["selected"], tried["applied"]) == (1, False)
    assert rows(database) == before
    done = ckpt(*words, "--skip-refused", "--yes")
    assert (done["done"], done["operation"]) == (changed, 1)
    assert rows(database) != before
    [listed] = ckpt("operations")["operations"]
    assert (listed["parts"]["done"], listed["threads"], listed["number"]) == (changed, changed, 1)
    ckpt("undo", "--yes")
    assert rows(database) == before


def test_each_thread_gets_values_of_its_own(ckpt: Ckpt, tmp_path: Path, database: Path) -> None:
    """A line a thread: `edit` sets them, `update` writes them; a wrong line is refused before anything is read."""
    wanted = {"support-39": "a", "support-40": "b"}
    lines = [json.dumps({"thread_id": thread, "values": {"route": route}}) for thread, route in wanted.items()]
    file = tmp_path / "routes.jsonl"
    file.write_text("\n".join(lines))
    for words in (["edit"], ["update", "--as-node", "triage", "--reducer", "route=last", "--next", "END"]):
        assert ckpt(*words, "--values-from", str(file), "--yes")["done"] == 2
        assert {thread: ckpt("get", thread, "route")["value"] for thread in wanted} == wanted
        ckpt("undo", "--yes")
    before = rows(database)
    for wrong in (
        lines[0] + "\n" + lines[0],
        '{"thread_id": "support-39"}',
        '{"thread_id": 3, "values": {}}',
        "nothing",
        "",
        "\n \n",
    ):
        file.write_text(wrong)
        for words in (["edit"], ["update"]):
            ckpt(*words, "--values-from", str(file), "--yes", code=2)
    assert rows(database) == before


def test_revisions_by_what_happened(ckpt: Ckpt) -> None:
    """A text, a node and a failure name checkpoints of one thread, for looking too; what never was is not found."""
    steps = {
        "support-42": {"before:text:not.delivered": 1, "before:node:triage": 8, "before:node:triage^": 7},
        "support-41": {"failed": 5, "failed~2": 3, "before:text:kettle": 1},
    }
    shown = {
        thread: {rev: ckpt("show", thread, rev)["step"] for rev in revisions} for thread, revisions in steps.items()
    }
    assert shown == steps
    names = "^route$", "branch:to:triage"  # channels have these names, and no value has such a text
    for rev in (
        "before:text:zebra",
        "before:node:zebra",
        "failed",
        "before:text:late",
        *map("before:text:{}".format, names),
    ):
        ckpt("show", "support-42", rev, code=4)
    for rev in ("before:", "before:text:", "before:day:monday", "before:text:("):
        ckpt("show", "support-42", rev, code=2)


def test_many_threads_get_the_same_name(ckpt: Ckpt) -> None:
    """All or, if some can't be tagged, none; a name on another checkpoint moves only by force."""
    refused = ckpt("tag", *MANY, "--at", "step:5", "--name", "x", code=7)["error"]
    assert refused["candidates"] == ["support-40: no step 5 on the head's line"]
    assert ckpt("tag", "--list")["tags"] == []
    tagged = ckpt("tag", *MANY, "--at", "step:5", "--name", "x", "--skip-refused")
    assert [*tagged["refused"]] == ["support-40"]
    assert [tag["thread_id"] for tag in ckpt("tag", "--list")["tags"]] == ["support-39", "support-41", "support-42"]
    ckpt("tag", *MANY, "--at", "step:1", "--name", "x", code=7)
    assert len(ckpt("tag", *MANY, "--at", "step:1", "--name", "x", "--force")["tags"]) == 4


def test_the_options_fit_together(ckpt: Ckpt) -> None:
    """Threads are named in one way, and a revision in one; what is for one thread is refused for many."""
    for words in (
        ["rollback"],
        ["rollback", *MANY],
        ["rollback", "support-42", "step:1", *MANY],
        ["rollback", "support-42", "step:1", "--at", "step:1"],
        ["rollback", "support-42", "step:1", "--skip-refused"],
        ["fork", *MANY, "--at", "@", "--to", "x"],
        ["edit", *MANY],
        ["resume", *MANY],
        ["replay", *MANY],
        ["tag", *MANY, "--at", "@"],
        ["update", "support-42", "--values-from", "x"],
    ):
        ckpt(*words, code=2)
    assert ckpt("rollback", "--match", "nobody", "--at", "step:1", "--yes")["selected"] == 0


@pytest.mark.parametrize("rev", ["before:text:", "before:text:(", "before:day:monday", "@{soon}", "a b"])
def test_a_mistyped_revision_is_one_error(rev: str, database: Path, ckpt: Ckpt) -> None:
    """It is no revision in any thread, so no plan is made, with or without --skip-refused."""
    before = rows(database)
    for words in (["rollback", "--skip-refused", "--yes"], ["fork", "--dry-run"], ["tag", "--name", "x"]):
        assert ckpt(*words, *MANY, "--at", rev, code=2)["error"]["hint"]
    assert rows(database) == before
    assert ckpt("tag", "--list")["tags"] == []


def test_a_refused_thread_names_the_option_that_helps(ckpt: Ckpt) -> None:
    """As for one thread; a hint with another thread's command isn't repeated."""
    edited = ckpt("edit", *MANY, "--set", "colour=1", "--dry-run")["threads"]
    problems = {one["thread_id"]: one["problem"] for one in edited}
    assert "(--create " in problems["support-42"]
    assert "(--rerun " in problems["support-41"]
    assert "`" not in problems["support-41"]


def test_a_refused_thread_lists_what_exists(ckpt: Ckpt) -> None:
    """The reason is a whole sentence: it ends with the existing names, at most eight of them."""
    for words, end in (
        (["--as-node", "nix", "--values", "{}"], "these are: agent, answer, tools, triage, __start__"),
        (["--as-node", "tools", "--values", '{"nix": 1}'], "these are: messages, order_id, route (--reducer nix=NAME "),
    ):
        threads = ckpt("update", *MANY, *words, "--dry-run")["threads"]
        problems = {one["thread_id"]: one["problem"] for one in threads}
        assert len(problems) == 4 and end in problems["support-40"]
        assert not any(": (" in problem or problem.endswith(":") for problem in problems.values())
    assert ckpt("update", *MANY, "--as-node", "nix", "--values", "{}", "--dry-run")["threads"][3]["problem"].endswith(
        ", … 1 more"
    )


def test_a_pipe_has_each_warning_once(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below rows of three columns: what only a few steps show, with the number of threads for which it is so."""
    words = ["update", *MANY, "--as-node", "tools", "--values", '{"route": "x"}', "--dry-run", "-d", str(database)]
    assert run(words) == 0
    lines = capsys.readouterr().out.splitlines()
    warned = [line for line in lines if "few steps" in line]
    assert [line.partition(" show ")[0] for line in warned] == ["  2 threads: only a few steps"]
    assert [line.count("\t") for line in lines if line.startswith("support-")] == [2] * 4
    assert any("cleared: approve_refund (waiting)" in line for line in lines)


def test_a_narrow_terminal_has_whole_warnings() -> None:
    """Nothing of a note is cut; what several threads have is there once."""
    note = "only a few steps show what route makes of writes: if your reducer does more, name it with --reducer C=NAME"
    for count in (1, 2, 30):
        threads = tuple(ThreadLine(f"t{place}", "planned", "of 1", notes=(note,)) for place in range(count))
        view = BulkView("update", "", selected=count, changes=count, threads=threads)
        lines = ["".join(text for _, text in line) for line in plan_lines(view, Page(80, 0.0))]
        assert max(map(len, lines)) <= 80
        assert " ".join(" ".join(lines).split()).count(note) == 1


def test_a_note_that_a_thread_has_twice_is_of_one_thread() -> None:
    """As for two questions that get the same answer."""
    threads = tuple(ThreadLine(f"t{place}", "planned", "of 1", notes=('answer: "yes"',) * 2) for place in range(2))
    for count, name in ((1, "t0"), (2, "2 threads")):
        view = BulkView("resume", "", selected=count, changes=count, threads=threads[:count])
        lines = ["".join(text for _, text in line) for line in plan_lines(view, Page(None, 0.0))]
        assert [line for line in lines if "answer" in line] == [f'  {name}: answer: "yes"']


def test_more_notes_than_are_counted_are_shown() -> None:
    """Twenty threads may have hundreds of notes of their own."""
    threads = tuple(
        ThreadLine(f"t{place}", "planned", "of 1", notes=tuple(f"note {chr(97 + place)}{at}x" for at in range(40)))
        for place in range(20)
    )
    view = BulkView("resume", "", selected=20, changes=20, threads=threads)
    lines = ["".join(text for _, text in line) for line in plan_lines(view, Page(80, 0.0))]
    assert sum(line.startswith("      note ") for line in lines) == 800


def test_a_name_is_removed_from_one_thread(ckpt: Ckpt) -> None:
    """The refusal says so, and no more that there was a THREAD, where there was none."""
    error = ckpt("tag", *MANY, "--delete", "x", code=2)["error"]
    assert error["message"] == "--delete removes a name from one thread, and the options choose many"
    assert ckpt("tag", *MANY, "--list", code=2)["error"]["message"].startswith("--list takes no options")


def test_a_part_that_a_later_operation_changed_is_named(ckpt: Ckpt, database: Path) -> None:
    """Undo says for that thread what to undo first, and takes the others back; numbers have no gaps."""
    before = rows(database)
    ckpt("rollback", *MANY, "--at", "step:1", "--yes")
    assert ckpt("edit", "support-40", "--set", 'route="x"', "--yes")["operation"] == 2
    stopped = ckpt("undo", "1", "--yes", code=7)
    [refused] = [one for one in stopped["threads"] if one["state"] == "refused"]
    assert refused["thread_id"] == "support-40"
    assert "`ckpt undo 2` first, then `ckpt undo 1 --thread support-40`" in refused["problem"]
    assert ckpt("undo", "1", "--skip-refused", "--yes")["done"] == 3
    ckpt("undo", "1", "--thread", "support-39", "--yes", code=7)
    ckpt("undo", "1", "--thread", "nobody", "--yes", code=4)
    ckpt("undo", "2", "--thread", "support-40", "--yes", code=2)
    ckpt("undo", "2", "--yes")
    assert ckpt("undo", "1", "--yes")["operation"] == 5
    assert rows(database) == before
    assert [one["undoes"] for one in ckpt("operations")["operations"]] == [1, 2, 1, None, None]


def test_a_forgotten_thread_leaves_the_others(ckpt: Ckpt, tmp_path: Path) -> None:
    """No byte of it stays in the log, its part has no name, and the other parts can be taken back."""
    ckpt("rollback", *MANY, "--at", "step:1", "--yes")
    ckpt("delete", "support-40", "--forget", "--yes")
    [log] = (tmp_path / "state").rglob("log.sqlite")
    assert b"support-40" not in log.read_bytes()
    threads = ckpt("operations", "1")["threads"]
    assert [one["thread_id"] for one in threads] == ["support-42", "support-41", None, "support-39"]
    assert ckpt("undo", "1", "--yes")["done"] == 3
    ckpt("operations", "1", "--prune", "--yes")
    with closing(sqlite3.connect(log)) as connection:
        assert connection.execute("SELECT count(*) FROM operations WHERE part_of IS NOT NULL").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM parts").fetchone() == (0,)
    assert ckpt("tag", "support-42", "@", "y")["tags"]
    assert ckpt("fork", "support-42", "@", "--yes")["operation"] == 4, "numbers aren't used again"


@pytest.mark.parametrize("words", [["rollback", "--at", "step:1"], ["edit", "--at", "step:1"]])
def test_what_is_done_is_not_done_twice(words: list[str], database: Path, ckpt: Ckpt) -> None:
    """After an interruption the same command changes the other threads, and refuses those that it has changed."""
    command = [*words, *(["--set", 'route="x"'] if words[0] == "edit" else []), *MANY, "--skip-refused", "--yes"]
    assert ckpt(*command, "--limit", "3")["done"] == 3
    again = ckpt(*command)
    assert (again["done"], {one["problem"] for one in again["threads"]}) == (1, {"", "the head is that state already"})
    before = rows(database)
    assert ckpt(*command)["done"] == 0
    assert rows(database) == before


def test_nobody_settles_it_while_it_runs(ckpt: Ckpt, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another ckpt would take parts whose transactions are still to come for interrupted ones; it is refused."""
    monkeypatch.setattr(bulk, "_PARTS", 2)
    codes: list[int] = []

    def settle_meanwhile(text: str) -> None:
        if " of " in text:
            codes.append(run(["operations", "--settle", "-d", str(database)]))

    monkeypatch.setattr(talk, "progress", settle_meanwhile)
    assert ckpt("rollback", *MANY, "--at", "step:1", "--yes")["done"] == 4
    assert codes == [7, 7], "after each page"
    assert [one["state"] for one in ckpt("operations", "1")["threads"]] == ["done"] * 4


def test_too_little_room_refuses(ckpt: Ckpt, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan says how much the log grows by; if the disk hasn't as much, nothing is written."""
    before = rows(database)
    needed = ckpt("rollback", *MANY, "--at", "step:1", "--dry-run")["log_bytes"]
    usage = shutil.disk_usage(database)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=needed - 1))
    assert f"{needed:,}" in ckpt("rollback", *MANY, "--at", "step:1", "--yes", code=7)["error"]["message"]
    assert rows(database) == before


def test_the_log_is_written_page_by_page(ckpt: Ckpt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its transactions, each of which waits for the disk, grow with the pages and not with the threads."""
    counts: list[int] = []
    transaction = LogFile.transaction
    for page in (4, 1):
        monkeypatch.setattr(bulk, "_PARTS", page)
        begun: list[int] = []
        monkeypatch.setattr(LogFile, "transaction", lambda log, begun=begun: begun.append(1) or transaction(log))
        ckpt("rollback", *MANY, "--at", "step:1", "--yes")
        counts.append(len(begun))
        monkeypatch.setattr(LogFile, "transaction", transaction)
        ckpt("undo", "--yes")
    assert counts == [counts[1] - 6, counts[1]], "two for each page"


def test_an_undo_keeps_the_pattern_of_what_it_undoes(ckpt: Ckpt) -> None:
    """A colon and a semicolon in a person's pattern end nothing: the undo names the whole of it, in the log too."""
    pattern = "before:text:shipped, not delivered|late: lost; gone"
    ckpt("rollback", *MANY, "--at", pattern, "--yes")
    undone = ckpt("undo", "--yes")
    assert undone["summary"] == f"of operation 1 (rollback of 4 threads to {pattern})"
    assert ckpt("operations")["operations"][0]["summary"] == undone["summary"]


@pytest.mark.parametrize(
    "words",
    [
        ["fork", "--at", "@"],
        ["prune", "--keep-last", "1"],
        ["export", "-o", "OUT.ckpt"],
        ["export", "-o", "OUT.jsonl", "--format", "jsonl"],
        ["copy", "FROM", "OUT.sqlite"],
    ],
    ids=lambda words: " ".join(words),
)
@pytest.mark.parametrize("count", [1, 30])
def test_ids_that_no_thread_has(
    words: list[str],
    count: int,
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With --skip-refused they are named and left out, in every command that takes ids; else nothing is done."""
    places = {"FROM": str(database)} | {
        f"OUT{end}": str(tmp_path / f"out{end}") for end in (".ckpt", ".jsonl", ".sqlite")
    }
    line = [places.get(word, word) for word in words] + ["--stdin", "--yes"]
    line += [] if "FROM" in words else ["-d", str(database)]
    ids = "".join(f"nobody-{number}\n" for number in range(count)) + "support-42\n"
    before = rows(database)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ids.encode())))
    assert run(line) == 4
    assert "; --skip-refused leaves out threads that don't exist" in capsys.readouterr().err
    assert rows(database) == before and not any(map(Path.exists, tmp_path.glob("out*")))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ids.encode())))
    assert run([*line, "--skip-refused"]) == 0
    said = capsys.readouterr().err
    assert f"{count} thread{'s' * (count > 1)} left out, as there is none with this id: 'nobody-0'" in said


def test_a_thread_on_stdin_without_a_revision_is_named(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of many lines one without a revision is hard to find; ``--at`` is for such threads."""
    ids = "support-42\tstep:1\nsupport-41\nsupport-39\n"
    for words in (["rollback", "--dry-run"], ["fork", "--dry-run"], ["tag", "--name", "x"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ids.encode())))
        assert run([*words, "--stdin", "-d", str(database)]) == 2
        said = capsys.readouterr().err
        assert "which revision of thread 'support-41', and of 1 other thread?" in said
        assert "--at REV names it in each thread that is named without one" in said
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ids.encode())))
    assert run(["rollback", "--stdin", "--at", "step:1", "--dry-run", "-d", str(database)]) == 0


def test_a_thread_that_undo_brought_back_may_be_running(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A removal and its undo leave the application's checkpoint what it is: just written."""
    path = tmp_path / "live.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "b")
        graph.invoke({"log": ["in"]}, on("t"))
    words = ["-d", str(path), "--yes"]
    assert run(["delete", "t", "--after", "step:0", *words]) == run(["undo", *words]) == 0
    capsys.readouterr()
    assert run(["fork", "t", "@", *words]) == 0
    assert "the thread t was last written" in capsys.readouterr().out
    assert run(["fork", "t", "@", *words]) == 0
    assert "was last written" not in capsys.readouterr().out
