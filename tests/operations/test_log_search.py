"""Files: moved, renamed, linked, copied, replaced; and logs of the first version, which kept no witnesses."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import ormsgpack
import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance.records import write
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_index import Index
from ckpt_cli.operations.log_paths import LOG, default_path, state_folder
from ckpt_cli.operations.operation import Heading, Phase
from ckpt_cli.operations.witnesses import Choice, Finding, Verdict, judge_log, sample_checkpoints
from ckpt_cli.savers.about import Place
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.memory import MemorySaver
from ckpt_cli.savers.sqlite import open_file
from tests.operations.databases import dump, make
from tests.operations.test_log import first_version

Say = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of two threads of which one was deleted, with a tag on the other; and its original rows."""
    path = tmp_path / "a.sqlite"
    filled(path, "kept", "gone")
    assert run(["tag", "kept", "2", "good", "-d", str(path)]) == 0
    assert run(["delete", "gone", "--yes", "-d", str(path)]) == 0
    return path


def filled(path: Path, *thread_ids: str, number: int = 0) -> Path:
    """A database of some threads; `number` makes contents of their own."""
    make(path, "E", [], wal=False)
    records = [
        record
        for thread_id in thread_ids
        for record in (
            state(thread_id, "1", None, number),
            state(thread_id, "2", "1", number),
            write(thread_id, "2"),
        )
    ]
    with closing(open_file(path)) as saver:
        saver.apply(Plan("", tuple(records)))
    return path


def names(path: Path) -> list[str]:
    """The threads of a database."""
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT DISTINCT thread_id FROM checkpoints")]


def state(thread_id: str, checkpoint_id: str, parent_id: str | None, number: int) -> Checkpoint:
    """A checkpoint with a number in its one channel."""
    body = {"v": 4, "id": checkpoint_id, "ts": "2026-11-01T00:00:00+00:00", "channel_values": {"a": number}}
    versions = {"channel_versions": {"a": "1"}, "versions_seen": {}}
    metadata = Payload("json", b'{"source": "loop", "step": %s}' % checkpoint_id.encode())
    row = CheckpointRow(thread_id, "", checkpoint_id, parent_id)
    return Checkpoint(row, Payload("msgpack", ormsgpack.packb({**body, **versions})), metadata)


def ckpt(capsys: Say, path: Path, *words: str, code: int = 0) -> str:
    """Run a command line; what it says, stdout and stderr."""
    capsys.readouterr()
    assert run([*words, "-d", str(path)]) == code, capsys.readouterr().err
    return "".join(capsys.readouterr())


def _renamed(path: Path) -> Path:
    return path.rename(path.with_name("b.sqlite"))


def _linked(path: Path) -> Path:
    other = path.with_name("b.sqlite")
    other.hardlink_to(path)
    return other


def _symlinked(path: Path) -> Path:
    other = path.with_name("b.sqlite")
    other.symlink_to(path)
    return other


def _moved_to_another_disk(path: Path) -> Path:
    other = path.with_name("b.sqlite")
    shutil.copy(path, other)
    path.unlink()
    return other


def _moved_and_replaced(path: Path) -> Path:
    other = _renamed(path)
    filled(path, "other", number=7)
    return other


MOVES = (_renamed, _linked, _symlinked, _moved_to_another_disk, _moved_and_replaced)


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__.strip("_"))
def test_it_is_found_again(move: Callable[[Path], Path], path: Path, capsys: Say) -> None:
    """Under its new name a database has its tags and operations, for a look and for undo, then and ever after."""
    whole = dump(filled(path.with_name("whole.sqlite"), "kept", "gone"))
    other = move(path)
    before = {one: one.stat().st_mtime_ns for one in state_folder().rglob("*")}
    assert "tag:good" in ckpt(capsys, other, "log", "kept")
    assert "good" in ckpt(capsys, other, "tag", "--list")
    assert "delete" in ckpt(capsys, other, "operations")
    assert {one: one.stat().st_mtime_ns for one in state_folder().rglob("*")} == before, "a look wrote"
    ckpt(capsys, other, "undo", "--yes")
    assert dump(other) == whole
    ckpt(capsys, other, "undo", "2", "--yes")
    assert "undone" in ckpt(capsys, other, "operations")
    assert len(list(state_folder().rglob(LOG))) == 1


def test_a_copy_has_none(path: Path, capsys: Say) -> None:
    """While the original is there a copy has neither tags nor operations, and what is done to it is its own."""
    copy = path.with_name("copy.sqlite")
    shutil.copy(path, copy)
    before = dump(path)
    log = default_path(f"sqlite:{path}")
    message = f"this database shares rows with {path}, whose operation log is {log}: one is a copy of the other"
    assert message in ckpt(capsys, copy, "operations")
    assert message in ckpt(capsys, copy, "undo", "--yes", code=7)
    assert message in ckpt(capsys, copy, "undo", "--yes", "--same-database", code=7)
    assert dump(copy) == before
    second = path.with_name("second.sqlite")
    shutil.copy(path, second)
    ckpt(capsys, second, "tag", "kept", "1", "theirs")
    said = ckpt(capsys, copy, "delete", "kept", "--dry-run").splitlines()
    notes = [line for line in said if "shares rows" in line]
    assert len(notes) == 1 and notes[0].endswith(" and 1 more; a change begins a new log"), notes
    second.unlink()
    ckpt(capsys, copy, "tag", "kept", "1", "mine")
    ckpt(capsys, copy, "delete", "kept", "--yes")
    assert "mine" not in ckpt(capsys, path, "tag", "--list")
    assert "good" not in ckpt(capsys, copy, "tag", "--list")
    assert dump(path) == before
    assert "1\t" in ckpt(capsys, path, "operations").partition("done")[0]
    ckpt(capsys, path, "undo", "--yes")
    path.unlink()
    assert "mine" in ckpt(capsys, copy, "tag", "--list"), "its own log stays its own"


@pytest.mark.parametrize(
    "words",
    [("delete", "support-40"), ("rollback", "support-42", "step:3"), ("edit", "support-40", "--set", "route=1")],
)
def test_an_original_does_not_inherit_from_a_copy(words: tuple[str, ...], tmp_path: Path, capsys: Say) -> None:
    """What was done to a copy that is gone wasn't done to the database that was copied; one that was moved keeps it."""
    path, copy, moved = (tmp_path / f"{name}.sqlite" for name in ("path", "copy", "moved"))
    assert run(["demo", str(path)]) == 0
    shutil.copy(path, copy)
    ckpt(capsys, copy, *words, "--yes")
    shutil.copy(copy, moved)
    copy.unlink()
    before = dump(path)
    said = ckpt(capsys, path, "operations")
    assert f"it was done to {copy}, which had the same rows" in said and "done\t" not in said
    assert "nothing of the last changes in the operation log" in ckpt(capsys, path, "undo", "--yes", code=7)
    assert dump(path) == before
    ckpt(capsys, moved, "undo", "--yes")
    assert dump(moved) == before
    ckpt(capsys, path, "edit", "support-39", "--set", "route=2", "--yes")
    assert "1\t" in ckpt(capsys, path, "operations").partition("done")[0]
    ckpt(capsys, path, "undo", "--yes")
    assert dump(path) == before


def test_a_moved_database_whose_changed_thread_is_gone_keeps_its_log(tmp_path: Path, capsys: Say) -> None:
    """An application deleted the thread that ckpt had changed: that shows no copy."""
    path, moved = tmp_path / "path.sqlite", tmp_path / "moved.sqlite"
    assert run(["demo", str(path)]) == 0
    ckpt(capsys, path, "tag", "support-39", "@", "keep")
    ckpt(capsys, path, "edit", "support-40", "--set", "route=1", "--yes")
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("checkpoints", "writes"):
            connection.execute(f"DELETE FROM {table} WHERE thread_id = 'support-40'")
    path.rename(moved)
    assert "keep" in ckpt(capsys, moved, "tag", "--list")
    assert "edit" in ckpt(capsys, moved, "operations")


@pytest.mark.parametrize("number", [0, 7], ids=["other threads", "the same threads"])
@pytest.mark.parametrize("settled", [True, False])
def test_another_in_its_place(number: int, settled: bool, path: Path, capsys: Say) -> None:
    """With the path or even the inode and all ids the same, nothing of the first one is done to another database."""
    other = filled(path.with_name("other.sqlite"), *(["kept"] if number else ["elsewhere"]), number=number)
    if not settled:
        with closing(OperationLog(default_path(f"sqlite:{path}"))) as log, log.transaction() as connection:
            connection.execute("UPDATE operations SET state = 'planned'")
    first = path.read_bytes()
    path.write_bytes(other.read_bytes())
    before = dump(path)
    word = "belongs to another database" if number else "nothing proves that"
    if settled:
        listed = ckpt(capsys, path, "operations")
        assert word in listed
        assert ("may have been done to another database" in listed) is ("delete" in listed) is (not number)
        assert "a change begins a new log" in ckpt(capsys, path, "delete", *names(path), "--dry-run")
        assert word in ckpt(capsys, path, "undo", "--yes", code=7)
        assert (word in ckpt(capsys, path, "undo", "--yes", "--same-database", code=7 if number else 0)) is bool(number)
    else:
        ckpt(capsys, path, "operations", "--settle")
        ckpt(capsys, path, "undo", "--yes", code=7)
    if number or not settled:
        assert dump(path) == before
        ckpt(capsys, path, "delete", "kept" if number else "elsewhere", "--yes")
        path.write_bytes(first)
        whole = dump(filled(path.with_name("whole.sqlite"), "kept", "gone"))
        ckpt(capsys, path, "undo", "--yes")
        assert dump(path) == whole, "the first database is back, and its log with it"


def test_another_beside_it(path: Path, capsys: Say) -> None:
    """A database with the same ids and other contents has no log, and the other's log isn't mentioned."""
    other = filled(path.with_name("other.sqlite"), "kept", "gone", number=7)
    path.unlink()
    assert "another database" not in ckpt(capsys, other, "operations")
    assert "nothing to undo" in ckpt(capsys, other, "undo", "--yes", code=4)


def test_a_log_of_another_kind_of_database(path: Path, capsys: Say) -> None:
    """It isn't looked at, even where it has the mark and the rows: its images are rows of other tables."""
    index = state_folder() / "index"
    known = index.read_bytes()
    assert b'"sqlite:' in known
    other = _renamed(path)
    index.write_bytes(known.replace(b'"sqlite:', b'"postgres:'))
    assert "good" not in ckpt(capsys, other, "tag", "--list")
    ckpt(capsys, other, "undo", "--yes", code=4)
    index.write_bytes(known)
    ckpt(capsys, other, "undo", "--yes")


def test_a_witness_is_as_the_last_operation_found_it(path: Path, capsys: Say) -> None:
    """A checkpoint that somebody rewrote proves the log from the next operation on, as all others may not any more."""
    rewrite(path, "checkpoint_id = '1'")
    ckpt(capsys, path, "fork", "kept", "@", "--to", "new", "--yes")
    rewrite(path, "checkpoint_id <> '1' OR thread_id <> 'kept'")
    assert "good" in ckpt(capsys, path, "tag", "--list")
    assert "another database" not in ckpt(capsys, path, "operations")


@pytest.mark.parametrize("number", [0, 7], ids=["its own", "another's"])
def test_an_operation_on_everything_that_did_not_happen(number: int, tmp_path: Path, capsys: Say) -> None:
    """No row is left to be a witness: those that it found prove its log, and contradict it in another database."""
    path = filled(tmp_path / "a.sqlite", "all")
    whole = dump(path)
    with closing(open_file(path)) as saver, closing(OperationLog(default_path(f"sqlite:{path}"))) as log:
        refs = [row.ref for row in saver.rows("all")]
        changes = [one for one in saver.expand(Plan("", remove=tuple(refs))) if one.relation == "checkpoints"]
        log.begin(
            Heading(1.0, "delete", "", ""),
            changes,
            witnessing=Choice(saver, sample_checkpoints(saver)),
            place=saver.place(),
        )
    ckpt(capsys, path, "operations", "--settle")
    assert "abandoned" in ckpt(capsys, path, "operations")
    if number:
        path.write_bytes(filled(tmp_path / "b.sqlite", "all", number=number).read_bytes())
        assert "belongs to another database" in ckpt(capsys, path, "operations")
        return
    ckpt(capsys, path, "delete", "all", "--after", "1", "--yes")
    ckpt(capsys, path, "undo", "--yes")
    assert dump(path) == whole
    assert len(list(state_folder().rglob(LOG))) == 1


def test_a_log_in_which_nothing_happened(tmp_path: Path) -> None:
    """It may be of any database: what was never added has no row that proves it."""
    saver, log = MemorySaver(), OperationLog(tmp_path / "ckpt" / "x" / "log.sqlite")
    adding = saver.expand(Plan("", (state("new", "1", None, 0),)))
    with closing(log):
        number = log.begin(Heading(1.0, "fork", "", ""), adding, witnessing=Choice(saver, sample_checkpoints(saver)))
        log.mark(number, Phase.ABANDONED)
        assert judge_log(saver, log).verdict is Verdict.NOTHING_TO_PROVE


@pytest.mark.parametrize("adds", [True, False])
def test_a_log_of_the_first_version(adds: bool, tmp_path: Path, capsys: Say) -> None:
    """Its tags and operations are found; undo needs --same-database unless rows that an operation left are there."""
    path = filled(tmp_path / "a.sqlite", "kept", "gone")
    whole = dump(path)
    ckpt(capsys, path, "tag", "kept", "2", "good")
    ckpt(capsys, path, *(["fork", "kept", "@", "--to", "new"] if adds else ["delete", "gone"]), "--yes")
    first_version(OperationLog(default_path(f"sqlite:{path}")))
    (state_folder() / "index").unlink()
    assert "tag:good" in ckpt(capsys, path, "log", "kept")
    if not adds:
        assert "--same-database" in ckpt(capsys, path, "undo", "--yes", code=7)
        ckpt(capsys, path, "tag", "kept", "1", "first")
        assert "--same-database" in ckpt(capsys, path, "undo", "--yes", code=7), "a later tag proves nothing of it"
    ckpt(capsys, path, "undo", "--yes", *([] if adds else ["--same-database"]))
    assert dump(path) == whole
    assert "good" in ckpt(capsys, path, "tag", "--list")


def test_witnesses_outlive_what_is_done(path: Path, capsys: Say) -> None:
    """A checkpoint that is deleted or changed by ckpt itself is no contradiction; a log of others' rows is one."""
    for thread_id in ("x", "y"):
        ckpt(capsys, path, "fork", "kept", "@", "--to", thread_id, "--yes")
    ckpt(capsys, path, "delete", "kept", "--yes")
    for number in (4, 3, 2, 1):
        ckpt(capsys, path, "undo", str(number), "--yes")
    assert dump(path) == dump(filled(path.with_name("whole.sqlite"), "kept", "gone"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE checkpoints SET checkpoint = x'00'")
        connection.execute("UPDATE writes SET value = x'00'")
        connection.commit()
    assert "has other content here" in ckpt(capsys, path, "undo", "8", "--yes", code=7)


@pytest.mark.parametrize("newest", [True, False])
@pytest.mark.parametrize(
    "damage",
    [
        'metadata = \'{"source": "loop", "step": 7}\'',
        "metadata = x'ff'",
        "checkpoint = x'00'",
        "checkpoint = NULL",
        "type = 'json'",
        "metadata = NULL, type = NULL",
    ],
)
def test_one_damaged_witness_locks_nothing_out(damage: str, newest: bool, path: Path, capsys: Say) -> None:
    """Of the checkpoints that a log is known by one matches and the other was damaged: tags, operations and undo."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE checkpoints SET {damage} WHERE checkpoint_id = ?", ("2" if newest else "1",))
        connection.commit()
    before = dump(path)
    assert "good" in ckpt(capsys, path, "tag", "--list")
    assert "tags are left out" not in ckpt(capsys, path, "threads")
    assert "delete" in ckpt(capsys, path, "operations")
    ckpt(capsys, path, "undo", "--yes")
    assert all(set(rows) < set(dump(path)[table]) for table, rows in before.items())


def rewrite(path: Path, where: str) -> None:
    """Somebody gives rows other metadata."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE checkpoints SET metadata = '{{\"where\": {len(where)}}}' WHERE {where}")
        connection.commit()


def test_rows_that_an_operation_left_prove_its_log(path: Path, capsys: Say) -> None:
    """Where every witness was rewritten, what ckpt itself wrote last is enough; where that was too, a hint goes on."""
    ckpt(capsys, path, "fork", "kept", "@", "--to", "new", "--yes")
    rewrite(path, "thread_id = 'kept'")
    ckpt(capsys, path, "undo", "--yes")
    rewrite(path, "true")
    message = ckpt(capsys, path, "undo", "1", "--yes", code=7)
    assert "has other content here" in message
    assert "restore one of these rows" in message
    assert "--same-database" not in message


def test_the_index_is_no_authority(tmp_path: Path) -> None:
    """Lines that ckpt didn't write, a link or a pipe in its place: nothing is found by them and nothing stops."""
    index = Index(tmp_path)
    place = Place("sqlite:/a", "1:2")
    index.add("0" * 20, place)
    index.add("0" * 20, place)
    for line in (b'{"folder": "../../x", "address": "sqlite:/a", "mark": ""}', b"{}", b"[1]", b"\xff", b"null"):
        with (tmp_path / "index").open("ab") as file:
            file.write(line + b"\n")
    assert [tuple(entry) for entry in index.entries()] == [("0" * 20, "sqlite:/a", "1:2")]
    (tmp_path / "index").unlink()
    os.mkfifo(tmp_path / "index")
    assert index.entries() == []


def test_many_logs_of_lost_databases_are_one_line(tmp_path: Path, capsys: Say) -> None:
    """Who makes a database anew each morning doesn't get a line for each log of the same address."""
    path = tmp_path / "a.sqlite"
    for number in range(4):
        path.unlink(missing_ok=True)
        filled(path, f"thread-{number}", number=number)
        said = ckpt(capsys, path, "delete", f"thread-{number}", "--yes")
    assert said.count("nothing proves that") == 1
    assert "the same is true of 2 more logs; a change begins a new log" in said


def test_a_look_proves_no_log_that_it_needs_nothing_of(
    tmp_path: Path, capsys: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the logs of lost databases a command that changes nothing compares only those with a tag or a reducer."""
    for number, mark in ((1, ()), (2, ("tag", "kept", "2", "good")), (3, ())):
        path = filled(tmp_path / f"{number}.sqlite", "kept", "gone", number=number)
        ckpt(capsys, path, "delete", "gone", "--yes")
        if mark:
            ckpt(capsys, path, *mark)
        path.unlink()
    here, judged = filled(tmp_path / "here.sqlite", "kept", number=9), list[Path]()

    def judge(saver: Saver, log: OperationLog, *, page: int) -> Finding:
        judged.append(log.path)
        return judge_log(saver, log, page=page)

    monkeypatch.setattr("ckpt_cli.operations.log_search.judge_log", judge)
    ckpt(capsys, here, "log", "kept")
    assert judged == [default_path(f"sqlite:{(tmp_path / '2.sqlite').resolve()}")]
    judged.clear()
    ckpt(capsys, here, "tag", "kept", "2", "mine")
    assert len(set(judged)) == 3
