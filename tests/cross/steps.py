"""A plan is killed between every two rows: settled, the database is as before it, and the log says so."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.model import RowChange
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.log_paths import default_path
from ckpt_cli.operations.operation import Phase
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver
from tests.cross.backend import Backend, Fresh
from tests.cross.travel import MINE, THEIRS, contents, start, stopping_deltas

COMMANDS = {
    "delete": ["delete", MINE],
    "delete of the last steps": ["delete", MINE, "--after", "step:0"],
    "fork of a thread": ["fork", THEIRS, "@", "--to", "another"],
}


class Steps:
    """SIGKILL in the middle of writing."""

    @pytest.fixture
    def backend(self, fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backend:
        """A database with two threads, and an operation log of its own."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        backend = fresh()
        with backend.official() as official:
            graph = stopping_deltas(official)
            for thread_id in (MINE, THEIRS):
                start(graph, thread_id, {"log": ["x"], "n": 1})
        return backend

    @pytest.mark.parametrize("name", COMMANDS)
    def test_killed_at_every_step(self, name: str, backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
        """The next read reports a half-written plan, and the next change undoes it; then the plan can be made."""
        before = contents(backend)
        with closing(backend.saver()) as saver:
            log = OperationLog(default_path(saver.identity))
            atomic = Ability.ATOMIC in saver.abilities
        for rows in moments(atomic=atomic):
            code = killed(backend, COMMANDS[name], rows)
            if code == 0:
                break
            assert code == -signal.SIGKILL
            capsys.readouterr()
            assert run(["threads", "-d", backend.url]) == 0
            assert ("half of it" in capsys.readouterr().err) is not atomic
            assert run(["operations", "--settle", "-d", backend.url]) == 0
            assert contents(backend) == before, f"{rows} rows were written before the kill"
            with closing(log):
                assert log.operations()[0].phase is Phase.ABANDONED
        assert rows > 1, "the plan has too few rows to be killed between them"
        after = contents(backend)
        assert after != before
        assert run(["undo", "-d", backend.url, "--yes"]) == 0
        assert contents(backend) == before


_MOST = 200


def moments(*, atomic: bool) -> list[int]:
    """After how many rows to kill: after each; inside one transaction, which is taken back whole, after 0, 1, 2, 4, 8 …

    With ``CKPT_KILLS`` set, after each row in any case.
    """
    if atomic and "CKPT_KILLS" not in os.environ:
        return [0, *(1 << power for power in range(_MOST.bit_length()))]
    return list(range(_MOST))


def killed(backend: Backend, words: list[str], rows: int) -> int:
    """Run a command in a process that is killed once so many rows were changed; its exit code, or minus the signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            with closing(backend.saver()) as saver:
                _die_after(type(saver), rows)
            code = run([*words, "-d", backend.url, "--yes"])
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _die_after(kind: type[Saver], rows: int) -> None:
    change = kind.change

    def counted(changes: Iterable[RowChange]) -> Iterator[RowChange]:
        for number, one in enumerate(changes):
            if number == rows:
                os.kill(os.getpid(), signal.SIGKILL)
            yield one

    def dying(saver: Saver, changes: Iterable[RowChange]) -> None:
        change(saver, counted(changes))

    kind.change = dying  # type: ignore[method-assign]
