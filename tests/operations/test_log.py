"""The operation log: made at the first change, for its owner alone, bounded, and truthful after crashes."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.commands.operations import operations_to_prune, run
from ckpt_cli.errors import Failed, NotFound
from ckpt_cli.model import Ref
from ckpt_cli.operations import tags, undo
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.operations.operation import Phase
from ckpt_cli.operations.settle import settle
from ckpt_cli.savers.memory import MemorySaver
from tests.operations.old_logs import take_back_to
from tests.operations.plans import adding, phases, replacing

DAY = 86400


def test_looking_makes_no_file(log: OperationLog, saver: MemorySaver) -> None:
    """A log that nobody wrote is empty, has no tags, and is still not there after all that only looks."""
    assert (log.operations(), tags.read_tags(log), settle(saver, log), log.exists) == ([], [], [], False)
    with pytest.raises(NotFound, match="nothing to undo"):
        undo.find_operation(saver, log, None)
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
    """Each operation has its time, verb and reason, its rows and its bytes; newest first."""
    for place, plan in enumerate((adding("3"), replacing("3", b"x" * 5000, "2")), 1):
        apply(saver, log, plan, at=float(place))
    newest, oldest = log.operations()
    assert (oldest.number, oldest.at, oldest.verb, oldest.reason, oldest.summary) == (1, 1.0, "fork", "why", "adds 3")
    assert (newest.phase, newest.undoes, newest.rows) == (Phase.DONE, None, 1)
    assert 0 < newest.size < 5000


@pytest.mark.parametrize(
    ("keep", "older", "left"), [(2, None, [5, 4]), (None, 3, [5, 4, 3]), (4, 3, [5, 4, 3, 2]), (0, None, [])]
)
def test_prune(log: OperationLog, saver: MemorySaver, keep: int | None, older: float | None, left: list[int]) -> None:
    """Old operations go with their images and their room on disk; numbers go on."""
    for day in range(1, 6):
        apply(saver, log, replacing("1", bytes([day]) * 100_000), at=float(day * DAY))
    view = run(log, operations_to_prune(log.operations(), 5.5 * DAY, keep, older))
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
    take_back_to(1, log.path)


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
