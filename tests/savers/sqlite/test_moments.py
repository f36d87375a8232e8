"""Moments: a reader never blocks a writer, and never sees a part of what is written meanwhile."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from ckpt_cli.errors import CheckpointNotFound, Refused
from tests.savers.sqlite.writer import Writer, folder, ids, opened, rollback_mode


def test_live_writer_is_never_blocked(path: Path, writer: Writer) -> None:
    """During one long read, the writer saves and puts its log into the file; the read sees one moment."""
    with opened(path) as saver:

        def read() -> tuple[list[str], list[str]]:
            first = [row.checkpoint_id for row in saver.rows("t")]
            writer.add("3")
            writer.run("UPDATE checkpoints SET checkpoint = zeroblob(100000) WHERE checkpoint_id = '1'")
            writer.run("PRAGMA wal_checkpoint(passive)")
            writer.run("DELETE FROM checkpoints WHERE checkpoint_id = '2'")
            return first, [row.checkpoint_id for row in saver.rows("t")]

        assert saver.moment(read) == (["1", "2"], ["1", "2"])
        assert ids(saver) == ["1", "3"]


def test_rollback_writer_is_never_blocked(path: Path) -> None:
    """In rollback mode too the writer never waits; a read that it disturbed is repeated."""
    rollback_mode(path)
    with Writer(path) as writer, opened(path) as saver:
        calls = count()

        def read() -> list[str]:
            list(saver.rows("t"))
            if next(calls) == 0:
                writer.add("2")
            return [row.checkpoint_id for row in saver.rows("t")]

        assert saver.moment(read) == ["1", "2"]
        assert next(calls) == 2


def test_writer_appears(path: Path) -> None:
    """A writer that starts during a read is noticed, and the read is repeated."""
    calls = count()
    with opened(path) as saver, Writer(path) as writer:

        def read() -> list[str]:
            checkpoint_ids = [row.checkpoint_id for row in saver.rows("t")]
            if next(calls) == 0:
                writer.add("2")
            return checkpoint_ids

        assert saver.moment(read) == ["1", "2"]
        assert next(calls) == 2


def test_writer_comes_and_goes(path: Path) -> None:
    """A writer that started, saved and ended during a read is noticed, by the changed file."""
    calls = count()
    with opened(path) as saver:

        def read() -> list[str]:
            checkpoint_ids = [row.checkpoint_id for row in saver.rows("t")]
            if next(calls) == 0:
                with Writer(path) as writer:
                    writer.add("2")
            return checkpoint_ids

        assert saver.moment(read) == ["1", "2"]


def test_writer_continues_a_leftover_log(path: Path, writer: Writer) -> None:
    """If a new writer continues the log of a killed one during a read, that is noticed."""
    writer.kill()
    calls = count()
    with opened(path) as saver:

        def read() -> list[str]:
            checkpoint_ids = [row.checkpoint_id for row in saver.rows("t")]
            if next(calls) == 0:
                with Writer(path) as next_writer:
                    next_writer.add("3")
            return checkpoint_ids

        assert saver.moment(read) == ["1", "2", "3"]


def test_error_in_a_disturbed_read(path: Path) -> None:
    """An error in a read that a writer disturbed may be due to the writer, so the read is repeated."""
    with opened(path) as saver:

        def read() -> list[str]:
            if ids(saver) == ["1"]:
                with Writer(path) as writer:
                    writer.add("2")
                raise CheckpointNotFound("2")
            return ids(saver)

        assert saver.moment(read) == ["1", "2"]


def test_error_in_an_undisturbed_read(path: Path) -> None:
    """If nobody wrote, an error in a read is raised at once."""
    calls = count()

    def read() -> None:
        next(calls)
        raise CheckpointNotFound("2")

    with opened(path) as saver:
        with pytest.raises(CheckpointNotFound):
            saver.moment(read)
        assert next(calls) == 1


def test_written_all_the_time(path: Path) -> None:
    """If a file changes during every attempt, an error is raised; inconsistent data is never returned."""
    rollback_mode(path)
    numbers = count(2)
    with Writer(path) as writer, opened(path) as saver:

        def read() -> None:
            list(saver.rows("t"))
            writer.add(str(next(numbers)))

        with pytest.raises(Refused, match="written all the time"):
            saver.moment(read)
        assert len(ids(saver)) > 3


def test_each_moment_is_of_its_own_time(path: Path) -> None:
    """An open saver sees every change while writers start, save, are killed and start again."""
    with opened(path) as saver:
        assert ids(saver) == ["1"]
        writer = Writer(path)
        writer.add("2")
        assert ids(saver) == ["1", "2"]
        writer.kill()
        assert ids(saver) == ["1", "2"]
        with Writer(path) as writer:
            writer.add("3")
            assert ids(saver) == ["1", "2", "3"]
        assert ids(saver) == ["1", "2", "3"]
        assert list(folder(path.parent)) == ["x.sqlite"]


def test_writer_ends_during_a_read(path: Path, writer: Writer) -> None:
    """If the writer ends during a read, the read still sees one moment."""
    with opened(path) as saver:

        def read() -> list[str]:
            list(saver.rows("t"))
            writer.close()
            return [row.checkpoint_id for row in saver.rows("t")]

        assert saver.moment(read) == ["1", "2"]
        assert ids(saver) == ["1", "2"]


@pytest.mark.parametrize("prepare", [lambda path: None, rollback_mode])
def test_no_lock_between_moments(path: Path, prepare: Callable[[Path], None]) -> None:
    """Between two moments of an open saver, a writer can do what needs an exclusive lock."""
    prepare(path)
    with Writer(path) as writer, opened(path) as saver:
        writer.add("2")
        assert ids(saver) == ["1", "2"]
        assert writer.run("PRAGMA journal_mode=truncate") == [("truncate",)]
        writer.run("VACUUM")
        writer.run("BEGIN EXCLUSIVE")
        writer.run("COMMIT")
        assert ids(saver) == ["1", "2"]
