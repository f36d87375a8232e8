"""One moment at a time: a writer is never blocked, and what it does while a database is read is not seen by halves."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from ckpt_cli.errors import CheckpointNotFound, Refused
from tests.savers.sqlite.writer import Writer, folder, ids, opened, rollback_mode


def test_live_writer_is_never_blocked(path: Path, writer: Writer) -> None:
    """While one long look goes on the writer saves, and puts its log into the file; the look sees one moment."""
    with opened(path) as saver:

        def look() -> tuple[list[str], list[str]]:
            first = [row.checkpoint_id for row in saver.rows("t")]
            writer.add("3")
            writer.run("UPDATE checkpoints SET checkpoint = zeroblob(100000) WHERE checkpoint_id = '1'")
            writer.run("PRAGMA wal_checkpoint(passive)")
            writer.run("DELETE FROM checkpoints WHERE checkpoint_id = '2'")
            return first, [row.checkpoint_id for row in saver.rows("t")]

        assert saver.moment(look) == (["1", "2"], ["1", "2"])
        assert ids(saver) == ["1", "3"]


def test_rollback_writer_is_never_blocked(path: Path) -> None:
    """In rollback mode too the writer never waits; the look that it disturbed is done again."""
    rollback_mode(path)
    with Writer(path) as writer, opened(path) as saver:
        calls = count()

        def look() -> list[str]:
            list(saver.rows("t"))
            if next(calls) == 0:
                writer.add("2")
            return [row.checkpoint_id for row in saver.rows("t")]

        assert saver.moment(look) == ["1", "2"]
        assert next(calls) == 2


def test_writer_appears(path: Path) -> None:
    """A writer that begins while a file is read as one that nobody writes is noticed, and the look done again."""
    calls = count()
    with opened(path) as saver, Writer(path) as writer:

        def look() -> list[str]:
            found = [row.checkpoint_id for row in saver.rows("t")]
            if next(calls) == 0:
                writer.add("2")
            return found

        assert saver.moment(look) == ["1", "2"]
        assert next(calls) == 2


def test_writer_comes_and_goes(path: Path) -> None:
    """A writer that came, saved and went while a file was read is noticed by the file alone."""
    calls = count()
    with opened(path) as saver:

        def look() -> list[str]:
            found = [row.checkpoint_id for row in saver.rows("t")]
            if next(calls) == 0:
                with Writer(path) as writer:
                    writer.add("2")
            return found

        assert saver.moment(look) == ["1", "2"]


def test_writer_takes_up_a_log_that_was_left(path: Path, writer: Writer) -> None:
    """A log left by a killed writer that a new one takes up while it is read is noticed."""
    writer.kill()
    calls = count()
    with opened(path) as saver:

        def look() -> list[str]:
            found = [row.checkpoint_id for row in saver.rows("t")]
            if next(calls) == 0:
                with Writer(path) as next_writer:
                    next_writer.add("3")
            return found

        assert saver.moment(look) == ["1", "2", "3"]


def test_error_out_of_a_disturbed_look(path: Path) -> None:
    """An error in a look that a writer disturbed may be the writer's doing, so the look is done again."""
    with opened(path) as saver:

        def look() -> list[str]:
            if ids(saver) == ["1"]:
                with Writer(path) as writer:
                    writer.add("2")
                raise CheckpointNotFound("2")
            return ids(saver)

        assert saver.moment(look) == ["1", "2"]


def test_error_out_of_a_quiet_look(path: Path) -> None:
    """Where nobody wrote, an error in a look is the answer, at once."""
    calls = count()

    def look() -> None:
        next(calls)
        raise CheckpointNotFound("2")

    with opened(path) as saver:
        with pytest.raises(CheckpointNotFound):
            saver.moment(look)
        assert next(calls) == 1


def test_written_all_the_time(path: Path) -> None:
    """A file that changes during every attempt is given up, with an error and not with torn data."""
    rollback_mode(path)
    numbers = count(2)
    with Writer(path) as writer, opened(path) as saver:

        def look() -> None:
            list(saver.rows("t"))
            writer.add(str(next(numbers)))

        with pytest.raises(Refused, match="written all the time"):
            saver.moment(look)
        assert len(ids(saver)) > 3


def test_each_moment_is_of_its_own_time(path: Path) -> None:
    """A saver kept open follows the file through a writer's coming, saving, being killed and coming back."""
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


def test_writer_goes_during_a_look(path: Path, writer: Writer) -> None:
    """A writer that ends while its database is read leaves the look whole."""
    with opened(path) as saver:

        def look() -> list[str]:
            list(saver.rows("t"))
            writer.close()
            return [row.checkpoint_id for row in saver.rows("t")]

        assert saver.moment(look) == ["1", "2"]
        assert ids(saver) == ["1", "2"]


@pytest.mark.parametrize("prepare", [lambda path: None, rollback_mode])
def test_nothing_is_held_between_moments(path: Path, prepare: Callable[[Path], None]) -> None:
    """Between two moments of an open saver a writer may do what needs the file for itself alone."""
    prepare(path)
    with Writer(path) as writer, opened(path) as saver:
        writer.add("2")
        assert ids(saver) == ["1", "2"]
        assert writer.run("PRAGMA journal_mode=truncate") == [("truncate",)]
        writer.run("VACUUM")
        writer.run("BEGIN EXCLUSIVE")
        writer.run("COMMIT")
        assert ids(saver) == ["1", "2"]
