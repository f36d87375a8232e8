"""What was done to one database is never done to another that took its place, and is found at another address."""

from contextlib import closing
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.operations.operation import Phase
from tests.cross.backend import Backend, Fresh
from tests.cross.steps import killed
from tests.cross.travel import contents, start, stopping_deltas

Say = pytest.CaptureFixture[str]
MINE, THEIRS, NEW = "mine", "theirs", "of the other database"


class Identity:
    """One database in the place of another, and one under two addresses."""

    addresses = (("127.0.0.1", "localhost"),)
    """What of the URL can be spelled in another way."""

    @pytest.fixture
    def backend(self, fresh: Fresh, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Backend:
        """A database with two threads, and an operation log of its own."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        backend = fresh()
        _filled(backend, MINE, THEIRS)
        return backend

    @pytest.mark.parametrize("same_threads", [True, False])
    def test_another_database_in_its_place(self, backend: Backend, same_threads: bool, capsys: Say) -> None:
        """Undo refuses and writes nothing; the other database gets a log of its own, which takes back its own alone."""
        assert run(["tag", THEIRS, "@", "good", "-d", backend.url]) == 0
        assert run(["delete", MINE, "--yes", "-d", backend.url]) == 0
        _emptied(backend, THEIRS)
        _filled(backend, NEW, *([THEIRS] if same_threads else []))
        before = contents(backend)
        capsys.readouterr()
        assert run(["undo", "--yes", "-d", backend.url]) == 7
        output = capsys.readouterr().err
        assert "nothing proves that" in output and "nothing was written" in output and "--same-database" in output
        assert run(["show", NEW, "tag:good", "-d", backend.url]) == 4
        assert contents(backend) == before
        assert run(["delete", NEW, "--yes", "-d", backend.url]) == 0
        capsys.readouterr()
        if same_threads:
            assert run(["undo", "--yes", "-d", backend.url]) == 0
            assert contents(backend) == before
            assert run(["undo", "--yes", "-d", backend.url]) == 4, "what was done to the first database isn't listed"
        assert _threads(backend, capsys) >= ({NEW, THEIRS} if same_threads else set())

    def test_a_person_vouches(self, backend: Backend, capsys: Say) -> None:
        """Where every row that a log knows is gone, undo needs --same-database, and is then as ever."""
        _emptied(backend, THEIRS)
        before = contents(backend)
        assert run(["delete", MINE, "--yes", "-d", backend.url]) == 0
        done = capsys.readouterr().out
        if not _threads(backend, capsys, fails=True):
            assert "ckpt undo --same-database takes it back" in done
            assert run(["undo", "--yes", "-d", backend.url]) == 7
            assert "--same-database" in capsys.readouterr().err
            assert run(["undo", "--yes", "--same-database", "-d", backend.url]) == 0
            assert contents(backend) == before
            assert run(["undo", "2", "--yes", "-d", backend.url]) == 0, "its rows are proof now"

    def test_an_interrupted_plan_stays_planned(self, backend: Backend, capsys: Say) -> None:
        """What was begun in one database is neither finished nor taken back in another that is in its place."""
        assert killed(backend, ["delete", MINE], 1) < 0
        for thread_id in (MINE, THEIRS):
            _emptied(backend, thread_id)
        _filled(backend, NEW)
        before = contents(backend)
        capsys.readouterr()
        assert run(["operations", "--settle", "-d", backend.url]) == 0
        output = capsys.readouterr()
        assert "planned" in output.out and "nothing proves that" in output.err
        assert contents(backend) == before
        with closing(backend.saver()) as saver, closing(OperationLog(default_path(saver.identity))) as log:
            assert log.operations()[0].phase is Phase.PLANNED

    def test_another_address(self, backend: Backend, capsys: Say) -> None:
        """Under another name of the server there are the same tags and operations, and undo works."""
        before = contents(backend)
        assert run(["tag", THEIRS, "@", "good", "-d", backend.url]) == 0
        assert run(["delete", MINE, "--yes", "-d", backend.url]) == 0
        for old, new in self.addresses:
            other = backend._replace(url=backend.url.replace(old, new))
            assert other.url != backend.url
            capsys.readouterr()
            assert run(["show", THEIRS, "tag:good", "-d", other.url]) == 0
            assert run(["operations", "-d", other.url]) == 0
            assert "delete" in capsys.readouterr().out
            assert run(["undo", "--yes", "-d", other.url]) == 0
            assert contents(backend) == before
            assert run(["undo", "--yes", "-d", backend.url]) == 4, "it was undone, whatever it is called"
            assert run(["undo", "2", "--yes", "-d", backend.url]) == 0


def _filled(backend: Backend, *thread_ids: str) -> None:
    with backend.official() as official:
        graph = stopping_deltas(official)
        for thread_id in thread_ids:
            start(graph, thread_id, {"log": ["x"], "n": 1})


def _emptied(backend: Backend, thread_id: str) -> None:
    with backend.official() as official:
        official.delete_thread(thread_id)


def _threads(backend: Backend, capsys: Say, *, fails: bool = False) -> set[str]:
    """The ids of all threads; some databases are none without any."""
    capsys.readouterr()
    code = run(["threads", "-d", backend.url])
    assert code == 0 or fails
    return {line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()}
