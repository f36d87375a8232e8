"""The operation log: made at the first change, for its owner alone, bounded, and truthful after crashes."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.commands.operations import old, run
from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import Failed, NotFound, Refused, UsageError
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref
from ckpt_cli.operations import tags, undo
from ckpt_cli.operations.apply import apply, basis_of
from ckpt_cli.operations.log import Heading, OperationLog, Phase
from ckpt_cli.operations.place import default_path
from ckpt_cli.operations.settle import settle
from ckpt_cli.operations.witnesses import Choice, sample_checkpoints
from ckpt_cli.savers.memory import MemorySaver

DAY = 86400


@pytest.fixture
def log(tmp_path: Path) -> Iterator[OperationLog]:
    """A log that doesn't exist yet."""
    with closing(OperationLog(tmp_path / "ckpt" / "x" / "log.sqlite")) as made:
        yield made


@pytest.fixture
def saver() -> MemorySaver:
    """A thread of two checkpoints."""
    return MemorySaver([checkpoint("t", "1"), checkpoint("t", "2", parent_id="1"), write("t", "2")])


def adding(checkpoint_id: str, parent_id: str = "2") -> Plan:
    """A plan that adds one checkpoint."""
    return Plan(
        "why", (checkpoint("t", checkpoint_id, parent_id=parent_id),), verb="fork", summary=f"adds {checkpoint_id}"
    )


def replacing(checkpoint_id: str, body: bytes, parent_id: str | None = None) -> Plan:
    """A plan that changes one checkpoint."""
    row = CheckpointRow("t", "", checkpoint_id, parent_id)
    return Plan(
        "", replace=(Checkpoint(row, Payload("bytes", body), Payload("json", b"{}")),), verb="edit", summary="x"
    )


def phases(log: OperationLog) -> dict[int, Phase]:
    """Number to phase."""
    return {operation.number: operation.phase for operation in log.operations()}


def test_looking_makes_no_file(log: OperationLog, saver: MemorySaver) -> None:
    """A log that nobody wrote is empty, has no tags, and is still not there after all that only looks."""
    assert (log.operations(), tags.read_tags(log), settle(saver, log), log.exists) == ([], [], [], False)
    with pytest.raises(NotFound, match="nothing to undo"):
        undo.find_operation(log, None)
    assert not log.path.parent.parent.exists()


def test_it_is_for_its_owner_alone(log: OperationLog, saver: MemorySaver) -> None:
    """The first operation makes folders of mode 700 and a file of mode 600."""
    apply(saver, log, adding("3"), at=1.0)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (log.path, log.path.parent, log.path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_its_place_is_the_databases_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each database has a folder under $XDG_STATE_HOME/ckpt, the same whenever it is opened."""
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert default_path("sqlite:/a").parent.parent == Path("/somewhere/ckpt")
    assert default_path("sqlite:/a") == default_path("sqlite:/a") != default_path("sqlite:/b")


def test_what_is_told_of_an_operation(log: OperationLog, saver: MemorySaver) -> None:
    """Each operation tells when, what and why, its rows and its bytes; newest first."""
    for place, plan in enumerate((adding("3"), replacing("3", b"x" * 5000, "2")), 1):
        apply(saver, log, plan, at=float(place))
    newest, oldest = log.operations()
    assert (oldest.number, oldest.at, oldest.verb, oldest.reason, oldest.summary) == (1, 1.0, "fork", "why", "adds 3")
    assert (newest.phase, newest.undoes, newest.rows) == (Phase.DONE, None, 1)
    assert 0 < newest.size < 5000


def test_undo_goes_back_one_by_one(log: OperationLog, saver: MemorySaver) -> None:
    """Undo takes the newest that stands, then the one before, and never an undo by itself."""
    for checkpoint_id in ("3", "4"):
        apply(saver, log, adding(checkpoint_id), at=1.0)
    for expected in (2, 1):
        operation = undo.find_operation(log, None)
        assert operation.number == expected
        undo.undo(saver, log, operation, at=2.0, reason="")
    assert [row.checkpoint_id for row in saver.rows("t")] == ["1", "2"]
    with pytest.raises(NotFound):
        undo.find_operation(log, None)
    with pytest.raises(Refused, match="operation 1 is undone already") as refused:
        undo.find_operation(log, 1)
    assert refused.value.hint == "`ckpt undo 4` brings it back"
    undo.undo(saver, log, undo.find_operation(log, 4), at=3.0, reason="")
    assert phases(log) == {1: "done", 2: "undone", 3: "done", 4: "undone", 5: "done"}
    assert undo.find_operation(log, None).number == 1


def test_undo_refuses_where_a_later_operation_touched_the_rows(log: OperationLog, saver: MemorySaver) -> None:
    """The later one is named; after it is undone the earlier one can be."""
    for body in (b"first", b"second"):
        apply(saver, log, replacing("1", body), at=1.0)
    with pytest.raises(Refused, match="operation 2 changed the same rows later"):
        undo.undo(saver, log, undo.find_operation(log, 1), at=2.0, reason="")
    for number in (2, 1):
        undo.undo(saver, log, undo.find_operation(log, number), at=2.0, reason="")
    (restored,) = saver.checkpoints([Ref("t", "", "1")])
    assert restored.body == checkpoint("t", "1").body


def test_undo_refuses_where_somebody_else_changed_the_rows(log: OperationLog, saver: MemorySaver) -> None:
    """A row that is not as the operation left it is not overwritten."""
    apply(saver, log, replacing("1", b"mine"), at=1.0)
    saver.apply(replacing("1", b"theirs"))
    with pytest.raises(Refused, match="checkpoint 1 of thread 't' was changed since by somebody else"):
        undo.undo(saver, log, undo.find_operation(log, None), at=2.0, reason="")
    assert phases(log) == {1: Phase.DONE}


@pytest.mark.parametrize("record", [checkpoint("t", "4", parent_id="3"), write("t", "3")], ids=["child", "write"])
def test_undo_refuses_where_an_application_went_on(log: OperationLog, saver: MemorySaver, record: Checkpoint) -> None:
    """A checkpoint that has got a child or a write is not pulled away from under it."""
    apply(saver, log, adding("3"), at=1.0)
    saver.apply(Plan("the application", (record,)))
    with pytest.raises(Refused, match=r"thread 't' went on from what it added \(.\)"):
        undo.undo(saver, log, undo.find_operation(log, None), at=2.0, reason="")
    assert saver.row(Ref("t", "", "3")) is not None


@pytest.mark.parametrize("written", [True, False])
def test_a_crash_is_settled_by_the_rows(log: OperationLog, saver: MemorySaver, written: bool) -> None:
    """An operation found planned is done if its rows are written, else abandoned; the same for an undo."""
    number = log.begin(
        Heading(1.0, "fork", "", ""), saver.expand(adding("3")), witnessing=Choice(saver, sample_checkpoints(saver))
    )
    if written:
        saver.apply(adding("3"))
    assert [operation.number for operation in settle(saver, log)] == [number]
    assert phases(log) == {1: Phase.DONE if written else Phase.ABANDONED}
    assert settle(saver, log) == []
    if not written:
        with pytest.raises(Refused, match="abandoned"):
            undo.find_operation(log, 1)
        return
    operation = undo.find_operation(log, None)
    heading = Heading(2.0, "undo", "", "", operation.number)
    log.begin(heading, undo.inverse(saver, log, operation), witnessing=Choice(saver, sample_checkpoints(saver)))
    saver.change(undo.inverse(saver, log, operation))
    settle(saver, log)
    assert phases(log) == {1: Phase.UNDONE, 2: Phase.DONE}


def test_what_a_plan_was_made_from_must_not_change(log: OperationLog, saver: MemorySaver) -> None:
    """A checkpoint, its writes or a thread that changed meanwhile refuse the plan; writes only where they matter."""
    ref, thread = Ref("t", "", "2"), Ref("t", "*", "")
    bases = {
        "thread": basis_of(saver, thread),
        "writes": basis_of(saver, ref),
        "payload": basis_of(saver, ref, writes=False),
        "other": basis_of(saver, Ref("t", "", "1")),
    }
    saver.apply(Plan("the application", (write("t", "2", idx=1),)))
    for name, basis in bases.items():
        plan = Plan("", (checkpoint("new", name),), basis=(basis,))
        if name in ("thread", "writes"):
            with pytest.raises(Refused, match="changed while the plan was made; nothing was written"):
                apply(saver, log, plan, at=1.0)
        else:
            apply(saver, log, plan, at=1.0)
    assert [row.checkpoint_id for row in saver.rows("new")] == ["other", "payload"]
    assert set(phases(log).values()) == {Phase.DONE}


@pytest.mark.parametrize(
    ("keep", "older", "left"), [(2, None, [5, 4]), (None, 3, [5, 4, 3]), (4, 3, [5, 4, 3, 2]), (0, None, [])]
)
def test_prune(log: OperationLog, saver: MemorySaver, keep: int | None, older: float | None, left: list[int]) -> None:
    """Old operations go with their images and their room on disk; numbers go on."""
    for day in range(1, 6):
        apply(saver, log, replacing("1", bytes([day]) * 100_000), at=float(day * DAY))
    view = run(log, old(log.operations(), 5.5 * DAY, keep, older))
    assert [line.number for line in view.operations] == left == list(phases(log))
    assert view.pruned == 5 - len(left)
    with closing(sqlite3.connect(log.path)) as connection:
        assert [n for (n,) in connection.execute("SELECT DISTINCT operation FROM changes ORDER BY 1 DESC")] == left
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert apply(saver, log, adding("9"), at=9.0) == 6


def test_a_damaged_log_is_said(log: OperationLog, saver: MemorySaver) -> None:
    """A log that is no database, or of a newer version, stops changes before anything is written."""
    log.path.parent.mkdir(parents=True)
    log.path.write_bytes(b"no database at all" * 100)
    with pytest.raises(Failed, match=r"can't read the operation log .*; nothing was written"):
        apply(saver, log, adding("3"), at=1.0)
    log.path.unlink()
    with closing(sqlite3.connect(log.path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(Failed, match="newer ckpt"):
        apply(saver, log, adding("3"), at=1.0)
    assert saver.row(Ref("t", "", "3")) is None


def first_version(log: OperationLog) -> None:
    """Make a log what the first version of ckpt would have made of it."""
    log.close()
    with closing(sqlite3.connect(log.path)) as connection:
        for table in ("settings", "witnesses", "places", "forgotten", "forgetting"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("PRAGMA user_version = 1")


def test_settings(log: OperationLog, saver: MemorySaver) -> None:
    """A log remembers settings of its database; one of the first version has none, and gets them when it is written."""
    assert (log.setting("x"), log.exists) == (None, False)
    apply(saver, log, adding("3"), at=1.0)
    first_version(log)
    size = log.path.read_bytes()
    assert (log.setting("x"), len(log.operations())) == (None, 1)
    log.close()
    assert log.path.read_bytes() == size
    for value in ("a", "b"):
        log.set_setting("x", value)
        assert log.setting("x") == value
    log.set_setting("x", None)
    assert (log.setting("x"), log.setting("unwitnessed")) == (None, "1")


def test_tags(log: OperationLog) -> None:
    """Names are given, moved only by force, taken away, and kept apart by thread and namespace."""
    first, second = Ref("t", "", "1"), Ref("t", "", "2")
    tags.add(log, tags.Tag("good", first, 1.0))
    tags.add(log, tags.Tag("good", first, 2.0))
    tags.add(log, tags.Tag("good", Ref("t", "sub:1", "7"), 3.0))
    with pytest.raises(Refused, match="'good' is on 1 already"):
        tags.add(log, tags.Tag("good", second, 3.0))
    tags.add(log, tags.Tag("good", second, 4.0), move=True)
    tags.add(log, tags.Tag("v1.2/中", Ref("u", "", "1"), 5.0))
    assert [(tag.name, tag.ref, tag.at) for tag in tags.read_tags(log, "t")] == [
        ("good", second, 4.0),
        ("good", Ref("t", "sub:1", "7"), 3.0),
    ]
    assert tags.remove(log, "t", "", "good").ref == second
    assert [tag.name for tag in tags.read_tags(log)] == ["good", "v1.2/中"]
    with pytest.raises(NotFound, match="no tag 'good'"):
        tags.remove(log, "t", "", "good")


@pytest.mark.parametrize("name", ["", "a b", "a~1", "a^", "@{1}", "a:b", "\x1b[2J"])
def test_names_that_are_no_tags(log: OperationLog, name: str) -> None:
    """What couldn't be typed as tag:NAME is refused."""
    with pytest.raises(UsageError):
        tags.add(log, tags.Tag(name, Ref("t", "", "1"), 1.0))
    assert not log.exists


def test_halves_of_surrogate_pairs(saver: MemorySaver, log: OperationLog) -> None:
    """Names that no encoding holds, as thread ids may be, come back from the log and the tags as they were."""
    odd = "a\udcffb"
    plan = adding("3")._replace(reason=f"why {odd}", summary=f"adds 3 in {odd}")
    apply(saver, log, plan, at=0)
    (found,) = log.operations()
    assert (found.reason, found.summary) == (f"why {odd}", f"adds 3 in {odd}")
    tag = tags.Tag("good", Ref(odd, "", "1"), 5.0)
    tags.add(log, tag)
    assert tags.read_tags(log, odd) == tags.read_tags(log) == [tag]
    tags.remove(log, odd, "", "good")
    assert tags.read_tags(log) == []
