"""`delete --forget` and `--prune`: what is forgotten is in no byte of the log, whenever it was interrupted."""

import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import Failed
from ckpt_cli.model import Plan, Ref, WriteKey
from ckpt_cli.operations import forget, undo
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.copies import Copies, find_copies
from ckpt_cli.operations.forget import leave_out
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_file import LogFile
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.operations.operation import Heading, Phase
from ckpt_cli.operations.settle import settle
from ckpt_cli.operations.survey import survey
from ckpt_cli.savers.memory import MemorySaver
from tests.operations.residue import holders, left, pieces

GONE, KEPT = "interrupt-resumed", "error-fixed"
COPY = "a twin of it"
TICKS = 2000
"""Instructions of SQLite between two kills; fewer make more kills."""


@pytest.fixture
def path(database: Callable[[str], Path]) -> Path:
    """A database of two threads."""
    path = database("real")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table in ("checkpoints", "writes"):
            connection.execute(f"DELETE FROM {table} WHERE thread_id NOT IN (?, ?)", (GONE, KEPT))
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the logs are."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def ckpt(path: Path, state: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs a command line and gives its JSON, or what it says where it fails."""

    def go(*words: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert run([*words, "-d", str(path), "--json"]) == code, capsys.readouterr().err
        seen = capsys.readouterr()
        return seen.err if code else json.loads(seen.out)

    return go


def log_of(path: Path) -> OperationLog:
    return OperationLog(default_path(f"sqlite:{path.resolve()}"))


def lived(ckpt: Callable[..., Any]) -> None:
    """Operations on a thread and a copy of it, alone and together with another one, and a tag."""
    ckpt("fork", GONE, "@", "--to", COPY, "--yes", "--reason", f"a copy of {GONE}")
    ckpt("edit", GONE, "--set", "x=98", "--create", "--yes")
    ckpt("fork", KEPT, "@^", "--yes", "--reason", "another thread")
    ckpt("tag", GONE, "@", "here")
    ckpt("tag", KEPT, "@", "there")
    ckpt("delete", COPY, KEPT, "--yes", "--reason", f"{COPY}: too much")
    ckpt("undo", "--yes")
    ckpt("edit", COPY, "--set", "x=97", "--create", "--yes")


def operations(ckpt: Callable[..., Any]) -> dict[int, Any]:
    return {one["number"]: one for one in ckpt("operations")["operations"]}


def where(ckpt: Callable[..., Any], number: int) -> tuple[int, set[str]]:
    """The number of threads that an operation changed, and those that the log names."""
    operation = operations(ckpt)[number]
    return operation["threads"], {one["thread_id"] for one in operation["where"]}


def test_nothing_is_left_of_them_and_all_of_others(ckpt: Callable[..., Any], path: Path, state: Path) -> None:
    """No byte of the threads' rows, ids, tags and reasons stays; what other threads' operations kept can be undone."""
    lived(ckpt)
    sought = pieces(log_of(path).path, [GONE, COPY])
    assert len(sought) > 100 and left(state, sought)
    assert where(ckpt, 4) == (2, {COPY, KEPT})
    other = ckpt("show", KEPT)
    planned = ckpt("delete", GONE, COPY, "--forget", "--dry-run")
    assert {row["table"] for row in planned["rows"]} == {"checkpoints", "writes", "the operation log", "the tags"}
    assert "operations 1 to 2, 5 to 6 can no longer be undone for these threads, only 5 for others" in planned["notes"]
    alone = ckpt("delete", KEPT, "--forget", "--dry-run")["notes"]
    assert "operations 3, 5 can no longer be undone for this thread, only 5 for others" in alone
    assert left(state, sought)
    done = ckpt("delete", GONE, COPY, "--forget", "--yes", "--reason", "ticket 7")
    assert (done["applied"], done["forgets"], done["log"]) == (True, True, None)
    assert not left(state, sought) and not holders(state, GONE) and not holders(state, COPY)
    assert [one.name for one in log_of(path).path.parent.iterdir()] == ["log.sqlite"]
    known = operations(ckpt)
    assert [known[done["operation"]][key] for key in ("summary", "reason", "bytes")] == [
        "of 2 threads, forgotten",
        "ticket 7",
        0,
    ]
    assert [(one["forgotten"], one["summary"]) for one in (known[1], known[2])] == [
        (known[1]["rows"], "forgotten"),
        (known[2]["rows"], "forgotten"),
    ]
    assert (known[3]["forgotten"], known[3]["reason"]) == (0, "another thread")
    assert [where(ckpt, number) for number in (1, 3, 4, 7)] == [(0, set()), (1, {KEPT}), (1, {KEPT}), (2, set())]
    assert [one["number"] for one in ckpt("operations", "--thread", KEPT)["operations"]] == [5, 4, 3]
    assert (known[4]["forgotten"] > 0, known[4]["reason"]) == (True, "…: too much")
    assert [tag["name"] for tag in ckpt("tag", "--list")["tags"]] == ["there"]
    for number in ("", str(done["operation"]), "1", "2", "6"):
        assert "its rows were forgotten" in ckpt("undo", *([number] if number else []), "--yes", code=7)
    assert "rows were forgotten and don't come back" in ckpt("undo", "5", "--yes")["notes"][0]
    ckpt("show", KEPT, code=4)
    ckpt("undo", "--yes", "8", "--same-database")  # no row is left that could prove it
    assert ckpt("show", KEPT) == other
    ckpt("undo", "3", "--yes")


def test_killed_at_every_step(ckpt: Callable[..., Any], path: Path, state: Path, tmp_path: Path) -> None:
    """After a kill and a settling the threads are there and can be undone, or nothing of them is anywhere."""
    lived(ckpt)
    sought = pieces(log_of(path).path, [GONE, COPY])
    for place in (path, path.with_name(path.name + "-wal"), state):
        if place.exists():
            (shutil.copytree if place.is_dir() else shutil.copy)(place, tmp_path / f"{place.name}.kept")
    ends = {"there": 0, "gone": 0}
    for step in range(10_000):
        for kept in tmp_path.glob("*.kept"):
            place = state if kept.is_dir() else path.with_name(kept.name.removesuffix(".kept"))
            shutil.rmtree(place) if kept.is_dir() else place.unlink(missing_ok=True)
            (shutil.copytree if kept.is_dir() else shutil.copy)(kept, place)
        code = killed(path, step)
        assert code in (0, -signal.SIGKILL)
        ckpt("operations", "--settle")
        assert not ckpt("operations")["to_wipe"]
        with closing(sqlite3.connect(path)) as connection:
            count = "SELECT count(DISTINCT thread_id) FROM checkpoints WHERE thread_id IN (?, ?)"
            ((there,),) = connection.execute(count, (GONE, COPY))
        assert there in (0, 2)
        if there:
            ends["there"] += 1
            assert left(state, sought)
            assert {one["bytes"] for one in operations(ckpt).values() if "forgotten" in one["summary"]} <= {0}
        else:
            ends["gone"] += 1
            assert not left(state, sought) and not holders(state, GONE) and not holders(state, COPY)
        if code == 0:
            break
    assert min(ends.values()) > 5, ends


def killed(path: Path, step: int) -> int:
    """Forget two threads in a process that is killed at a step of the log; its exit code, or minus the signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            _die_at(step)
            code = run(["delete", GONE, COPY, "--forget", "--yes", "-d", str(path), "--query", "applied"])
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _die_at(step: int) -> None:
    """The statements at which the process is killed: the first of each kind, and some within a long one."""
    connect = LogFile._open_file
    steps = iter(range(step))
    last = [""]

    def tick(_: object = None) -> None:
        if next(steps, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    def begin(statement: str) -> None:
        if statement[:20] != last[0]:
            last[0] = statement[:20]
            tick()

    def counted(log: LogFile, mode: str) -> None:
        connect(log, mode)
        if mode == "rw":
            log._open_connection.set_trace_callback(begin)
            log._open_connection.set_progress_handler(tick, TICKS)

    LogFile._open_file = counted  # type: ignore[method-assign]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[OperationLog]:
    """A log that doesn't exist yet."""
    with closing(OperationLog(tmp_path / "ckpt" / "x" / "log.sqlite")) as made:
        yield made


def adding(thread_id: str, *ids: str) -> Plan:
    """A plan that adds a thread."""
    records = (*(checkpoint(thread_id, one) for one in ids), write(thread_id, ids[0]))
    return Plan("", records, verb="fork", summary=f"a thread {thread_id}")


def test_whatever_names_a_thread_goes(log: OperationLog, tmp_path: Path) -> None:
    """Tables that later versions add are wiped by the same rule: rows by their key, or by the thread's id."""
    saver = MemorySaver()
    for thread_id in ("mine", "theirs"):
        apply(saver, log, adding(thread_id, "1"), at=1.0)
    with log.transaction() as connection:
        key = "PRIMARY KEY (operation, relation, key)"
        connection.execute(f"CREATE TABLE evidence (operation, relation, key, digest, {key}) WITHOUT ROWID")
        connection.execute("INSERT INTO evidence SELECT 2, relation, key, 'x' FROM changes WHERE operation = 1")
        connection.execute("INSERT INTO evidence SELECT 1, relation, key, 'y' FROM changes WHERE operation = 2")
        connection.execute("CREATE TABLE notes (thread_id TEXT, note TEXT)")
        connection.executemany("INSERT INTO notes VALUES (?, 'n')", [("mine",), ("theirs",)])
    deletion = Plan("", remove=(Ref("mine", "", "1"), WriteKey(Ref("mine", "", "1"), "task", 0)), verb="delete")
    apply(saver, log, deletion, at=2.0, forget=["mine"])
    assert holders(tmp_path, "mine") == []
    assert set(log.rows("SELECT operation, digest FROM evidence")) == {(1, "y")}
    assert log.rows("SELECT thread_id FROM notes") == [("theirs",)]
    assert [(one.number, one.forgotten) for one in log.operations()] == [(3, 2), (2, None), (1, 2)]


def test_a_deletion_that_did_not_happen_forgets_nothing_else(log: OperationLog) -> None:
    """Abandoned, it loses its own images; those of earlier operations on the thread stay, and their undo."""
    saver = MemorySaver()
    apply(saver, log, adding("mine", "1"), at=1.0)
    log.begin(Heading(2.0, "delete", "", "of 1 thread, forgotten", forget=["mine"]), saver.expand(removing_one("mine")))
    settle(saver, log)
    newest, oldest = log.operations()
    assert (newest.phase, newest.forgotten, newest.size, oldest.forgotten) == (Phase.ABANDONED, 1, 0, None)
    undo.undo(saver, log, undo.find_operation(saver, log, 1), at=3.0, reason="")
    assert list(saver.rows("mine")) == []


def test_what_another_ckpt_is_writing_stays(log: OperationLog) -> None:
    """The images of a planned operation that makes a thread of the same id again are not wiped."""
    saver = MemorySaver()
    apply(saver, log, adding("mine", "1"), at=1.0)
    deletion = Plan("", remove=(Ref("mine", "", "1"), WriteKey(Ref("mine", "", "1"), "task", 0)), verb="delete")
    saver.apply(deletion)
    number = log.begin(Heading(2.0, "delete", "", "of 1 thread, forgotten", forget=["mine"]), [])
    log.finish(number)
    again = log.begin(Heading(3.0, "fork", "", ""), saver.expand(adding("mine", "1")))
    forget.finish(saver, log)
    assert len([*log.changes(again)]) == 2 and not [*log.changes(1)]
    assert survey(saver, log, ["mine"]).planned == [again]


def test_a_deletion_that_may_have_happened_keeps_its_images(log: OperationLog) -> None:
    """While it is unknown how the deletion ended, a person needs the images."""
    saver = MemorySaver()
    apply(saver, log, adding("mine", "1"), at=1.0)
    heading = Heading(2.0, "delete", "", "of 1 thread, forgotten", forget=["mine"])
    number = log.begin(heading, saver.expand(removing_one("mine")))
    forget.finish(saver, log)
    assert [*log.changes(number)] and [*log.changes(1)] and forget.is_pending(log)
    assert [one.number for one in settle(saver, log)] == [number]
    assert not [*log.changes(number)] and [*log.changes(1)] and not forget.is_pending(log)


def test_what_is_wiped_is_counted_together(log: OperationLog) -> None:
    """An operation on two threads that are forgotten one after the other says how many rows of both were wiped."""
    saver = MemorySaver()
    apply(saver, log, Plan("", (*adding("mine", "1").add, *adding("yours", "1").add), verb="fork"), at=1.0)
    for thread_id, wiped in (("mine", 2), ("yours", 4)):
        apply(saver, log, removing_one(thread_id), at=2.0, forget=[thread_id])
        assert log.operations()[-1].forgotten == wiped


def removing_one(thread_id: str) -> Plan:
    return Plan("", remove=(Ref(thread_id, "", "1"),), verb="delete")


def test_what_can_not_be_wiped_now_is_wiped_later(log: OperationLog, tmp_path: Path) -> None:
    """If another process reads the log, the deletion is reported as done, the wiping as pending; settling wipes."""
    saver = MemorySaver()
    apply(saver, log, adding("mine", "1"), at=1.0)
    sought = pieces(log.path, ["mine"])
    with log.transaction() as connection:
        connection.execute("INSERT INTO forgetting VALUES (1, 'mine')")
    connection.execute("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(log.path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM changes").fetchone()
        with pytest.raises(Failed, match="can't wipe the forgotten threads from the operation log now") as failed:
            forget.finish(saver, log)
    assert "--settle" in failed.value.hint
    assert left(tmp_path, sought)
    settle(saver, log)
    assert not left(tmp_path, sought) and not holders(tmp_path, "mine")


def test_copies_are_found_in_the_database_and_in_the_log(log: OperationLog) -> None:
    """Threads with a checkpoint of a thread, and with one of such a copy, also deleted ones; no others."""
    saver = MemorySaver()
    for thread_id, ids in {"a": "12", "copy": "13", "of the copy": "34", "deleted": "2", "other": "5"}.items():
        apply(saver, log, adding(thread_id, *ids), at=1.0)
    deletion = Plan("", remove=(Ref("deleted", "", "2"), WriteKey(Ref("deleted", "", "2"), "task", 0)), verb="delete")
    apply(saver, log, deletion, at=2.0)
    assert find_copies(saver, log, ["a"]) == Copies(["copy", "of the copy"], ["deleted"])
    assert find_copies(saver, log, ["a", "copy", "deleted"]) == Copies(["of the copy"], [])
    assert find_copies(saver, log, ["deleted"]) == Copies(["a", "copy", "of the copy"], [])
    assert find_copies(saver, log, ["other"]) == Copies()


@pytest.mark.parametrize(
    ("text", "names", "left_over"),
    [
        ("to the new thread user-42: 5", ["user-42"], "to the new thread …: 5"),
        ("user-42s wish", ["user-42"], "…s wish"),
        ("1 of 12 in 1-a", ["1"], "… of 12 in 1-a"),
        ("of 3 threads", ["thread-3", ""], "of 3 threads"),
        ("a.b and axb", ["a.b"], "… and axb"),
        ("thread-1-b of thread-1", ["thread-1", "thread-1-b"], "… of …"),
    ],
)
def test_names_in_texts(text: str, names: list[str], left_over: str) -> None:
    """A thread's id is left out wherever it is; a short one only where it is a word."""
    assert leave_out(text, names) == left_over


def test_numbers_are_forgotten_with_their_undo(ckpt: Callable[..., Any], path: Path, state: Path) -> None:
    """An operation goes with what took it back, in every byte; others stay, and what was interrupted is refused."""
    lived(ckpt)
    with closing(log_of(path)) as log, closing(sqlite3.connect(log.path)) as connection:
        images = connection.execute("SELECT before, after FROM changes WHERE operation IN (4, 5)").fetchall()
        rest = connection.execute("SELECT before, after FROM changes WHERE operation NOT IN (4, 5)").fetchall()
        kept = {image for row in rest for image in row}
        sought = {image[-20:] for row in images for image in row if image is not None and image not in kept}
        log.begin(Heading(1.0, "fork", "", "cut off"), [])
    assert left(state, sought)
    assert "settle" in ckpt("operations", "7", "--prune", "--dry-run", code=7)
    assert "no operation 99" in ckpt("operations", "99", "--prune", "--yes", code=4)
    for words in (["4", "5"], ["4", "--prune", "--keep", "1"], ["--prune"]):
        ckpt("operations", *words, code=2)
    assert [row["before"] for row in ckpt("operations", "4", "--prune", "--dry-run")["rows"]] != []
    assert ckpt("operations", "4", "--prune", "--yes")["pruned"] == 2
    assert not left(state, sought)
    assert operations(ckpt).keys() == {1, 2, 3, 6, 7}
    ckpt("undo", "5", "--yes", code=4)
    ckpt("undo", "6", "--yes")


@pytest.mark.parametrize("way", ["prune", "forget"])
def test_what_older_versions_freed_goes_too(way: str, log: OperationLog, tmp_path: Path) -> None:
    """Pages that were freed without being overwritten, as older versions did, hold nothing after a wipe of any rows."""
    saver = MemorySaver()
    apply(saver, log, adding("mine", *map(str, range(50))), at=1.0)
    apply(saver, log, adding("theirs", "1"), at=2.0)
    sought = pieces(log.path, ["mine"])
    log.close()
    with closing(sqlite3.connect(log.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("DELETE FROM changes WHERE operation = 1")
        connection.execute("PRAGMA journal_mode = WAL")
    assert left(tmp_path, sought)
    if way == "prune":
        log.prune([2])
    else:
        apply(saver, log, removing_one("theirs"), at=3.0, forget=["theirs"])
    assert not left(tmp_path, sought)
    assert [one.name for one in log.path.parent.iterdir()] == ["log.sqlite"]


def answering(path: Path, *answers: str) -> tuple[int, str]:
    """The exit code of a deletion that is to be forgotten, with these answers on a terminal, and what it asked."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "ckpt_cli", "delete", GONE, "--forget", "-d", str(path)]
    with subprocess.Popen(command, stdin=terminal, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        os.write(controller, "".join(f"{answer}\n" for answer in answers).encode())
        _, err = process.communicate(timeout=60)
    os.close(terminal)
    os.close(controller)
    return process.returncode, err.decode()


def test_it_asks_apart(ckpt: Callable[..., Any], path: Path) -> None:
    """A yes to the plan alone writes nothing; without a terminal --yes is enough, and without it nothing is done."""
    code, questions = answering(path, "y", "n")
    assert (code, questions.count("[y/N]")) == (7, 2)
    assert "Forget it for ever?" in questions and "not confirmed; nothing was written" in questions
    assert ckpt("show", GONE)["checkpoint_id"]
    code, questions = answering(path, "n", "y")
    assert (code, questions.count("[y/N]")) == (7, 1)
    ckpt("delete", GONE, "--forget", code=2)
    assert run(["delete", GONE, "--forget", "-d", str(path)]) == 7
    assert answering(path, "y", "y")[0] == 0
    ckpt("show", GONE, code=4)


def test_what_was_deleted_before_is_forgotten_by_its_id(ckpt: Callable[..., Any], path: Path, state: Path) -> None:
    """A thread that only the log has goes from it by its id or a pattern; a part of a thread is not forgotten."""
    lived(ckpt)
    ckpt("delete", GONE, COPY, "--yes")
    notes = " ".join(ckpt("delete", "--where", "step >= 0", "--forget", "--dry-run")["notes"])
    assert "2 more threads" in notes and COPY in notes
    assert "not searched: the reasons and other threads' rows in the operation log" in notes
    ckpt("delete", GONE, "--after", "step:0", "--forget", "--yes", code=2)
    assert "contains a name that is to be forgotten" in ckpt(
        "delete", GONE, "--forget", "--yes", "--reason", GONE, code=7
    )
    assert "copies" in " ".join(ckpt("delete", GONE, "--forget", "--dry-run")["notes"])
    ckpt("delete", GONE, "--forget", "--yes")
    assert not holders(state, GONE) and holders(state, COPY)
    ckpt("delete", "--match", "*twin*", "--forget", "--yes")
    assert not holders(state, COPY)
    ckpt("delete", GONE, "--forget", "--yes", code=4)


def test_of_a_thread_alone_no_undo_is_left(ckpt: Callable[..., Any]) -> None:
    """The plan promises an undo for other threads only where an operation has rows of others."""
    ckpt("edit", KEPT, "--set", "x=1", "--create", "--yes")
    ckpt("edit", GONE, "--set", "x=1", "--create", "--yes")
    assert "operation 2 can no longer be undone" in ckpt("delete", GONE, "--forget", "--dry-run")["notes"]


def test_a_deletion_says_what_is_kept(ckpt: Callable[..., Any], path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its plan names the log, its outcome the command that forgets it."""
    log = str(log_of(path).path)
    assert "not searched" not in str(ckpt("delete", GONE, "--forget", "--dry-run")["notes"])
    assert run(["delete", GONE, "-d", str(path), "--yes"]) == 0
    output = capsys.readouterr().out
    assert (
        re.search(r"The log keeps them for undo \(--forget does not\), [0-9.]+ kB more at most: ", output)
        and log in output
    )
    assert "ckpt operations 1 --prune forgets it" in output
    ckpt("undo", "--yes")
    assert (ckpt("delete", GONE, "--yes")["log"], ckpt("operations", "1", "--prune", "--yes")["pruned"]) == (log, 2)
