"""An application goes on with its threads while ckpt changes them, and ckpt is killed at any time: nothing is lost."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import HumanMessage

from ckpt_cli.app import run
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.model import Ref
from ckpt_cli.operations import bulk
from tests.cross.backend import Backend, Fresh
from tests.cross.fleet import GOOD, KILLS, THREADS, shop
from tests.graphs.building import on

BACK = ["rollback", "--match", "t-*", "--at", "step:0", "--skip-refused", "--yes"]
ENDED = {"done", "undone", "refused", "abandoned"}
THREAD_IDS = [f"t-{number}" for number in range(THREADS)]


class Busy(NamedTuple):
    """A database whose application never rests.

    Attributes:
        written: the file in which the application notes each checkpoint that its saver has stored.
        stop: the application ends once this file exists.
        errors: the file for the errors of a command that is killed.
    """

    backend: Backend
    written: Path
    stop: Path
    errors: Path

    def ckpt(self, *words: str, codes: tuple[int, ...] = (0,), capsys: pytest.CaptureFixture[str]) -> Any:
        """What a command prints as JSON."""
        capsys.readouterr()
        ended = run([*words, "-d", self.backend.url, "--json"])
        printed = capsys.readouterr()
        assert ended in codes, printed.err
        return json.loads(printed.out)

    @contextmanager
    def application(self) -> Iterator[None]:
        """A process that moves the heads of all threads until the block ends."""
        self.stop.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            code = 70
            try:
                code = self._work()
            finally:
                os._exit(code)
        try:
            yield
        finally:
            self.stop.touch()
            _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, "the application failed"

    def _work(self) -> int:
        chance = random.Random(os.getpid())
        with self.backend.official() as official, self.written.open("a") as notes:
            put = official.put

            def noted(config: Any, *args: Any) -> Any:
                stored = put(config, *args)
                notes.write(json.dumps(stored["configurable"]) + "\n")
                notes.flush()
                return stored

            official.put = noted  # type: ignore[method-assign]
            graph = shop(official, lambda: GOOD)
            while not self.stop.exists():
                graph.invoke({"messages": [HumanMessage("and chairs?")]}, on(chance.choice(THREAD_IDS)))
        return 0

    def forks(self) -> set[Ref]:
        """The checkpoints that ckpt made."""
        with self.backend.official() as official:
            listed = (one for thread_id in THREAD_IDS for one in official.list(on(thread_id)))
            made = [one.config["configurable"] for one in listed if one.metadata["source"] == "fork"]
        return {Ref(one["thread_id"], one["checkpoint_ns"], one["checkpoint_id"]) for one in made}

    def must_be_whole(self, capsys: pytest.CaptureFixture[str], *, undone: Collection[Ref] = ()) -> None:
        """Check that the application's checkpoints exist, ckpt's are those in its log, and the library reads all.

        The application may have read one of the `undone` checkpoints just before it was removed.
        """
        with closing(self.backend.saver()) as saver:
            rows = {thread_id: list(saver.rows(thread_id)) for thread_id in THREAD_IDS}
        notes = map(json.loads, self.written.read_text().splitlines())
        noted = {(one["thread_id"], one["checkpoint_id"]) for one in notes}
        assert noted
        assert noted <= {(row.thread_id, row.checkpoint_id) for some in rows.values() for row in some}
        lineages = {thread_id: Lineage(some) for thread_id, some in rows.items()}
        orphans = [row for some in rows.values() for row in some if lineages[row.thread_id].missing(row.checkpoint_id)]
        ends = [(row, Ref(row.thread_id, row.ns, row.parent_id or "")) for row in orphans]
        assert not [row for row, end in ends if (row.thread_id, row.checkpoint_id) not in noted or end not in undone]
        listed = self.ckpt("operations", capsys=capsys)["operations"]
        made: Counter[str] = Counter()
        for one in (one for one in listed if one["command"] == "rollback"):
            parts = self.ckpt("operations", str(one["number"]), capsys=capsys)["threads"]
            assert {part["state"] for part in parts} <= ENDED
            made.update(part["thread_id"] for part in parts if part["state"] == "done")
        with self.backend.official() as official:
            for thread_id in THREAD_IDS:
                metadata = [one.metadata["source"] for one in official.list(on(thread_id))]
                assert (len(metadata), metadata.count("fork")) == (len(rows[thread_id]), made[thread_id])
                assert shop(official, lambda: GOOD).get_state(on(thread_id)).values["messages"]


class BusyFleet:
    """Changes of many threads that never rest, on a backend."""

    @pytest.fixture
    def busy(self, fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Busy:
        """Threads of a graph; an operation log of its own."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setattr(bulk, "_PARTS", 3)  # several pages, also of few threads
        busy = Busy(fresh(), *(tmp_path / name for name in ("written", "stop", "errors")))
        with busy.backend.official() as official:
            for thread_id in THREAD_IDS:
                shop(official, lambda: GOOD).invoke({"messages": [HumanMessage("desk lamps?")]}, on(thread_id))
        return busy

    def test_killed_at_any_time_while_all_threads_move(self, busy: Busy, capsys: pytest.CaptureFixture[str]) -> None:
        """Settled, each thread is whole; the same command goes on with the others, and undo takes back what it can."""
        chance = random.Random(THREADS)
        with busy.application():
            begun = time.monotonic()
            busy.ckpt(*BACK, codes=(0, 7), capsys=capsys)
            lasts = time.monotonic() - begun
            for _ in range(KILLS):
                _kill_after(chance.uniform(0, lasts), [*BACK, "-d", busy.backend.url], busy.errors)
                busy.ckpt("operations", "--settle", capsys=capsys)
                busy.ckpt(*BACK, codes=(0, 7), capsys=capsys)
        busy.must_be_whole(capsys)
        forks = busy.forks()
        with busy.application():
            for one in busy.ckpt("operations", capsys=capsys)["operations"]:
                if one["state"] == "done":
                    undo = ["undo", str(one["number"]), "--skip-refused", "--yes"]
                    _kill_after(chance.uniform(0, lasts), [*undo, "-d", busy.backend.url], busy.errors)
                    busy.ckpt("operations", "--settle", capsys=capsys)
        busy.must_be_whole(capsys, undone=forks)


def _kill_after(seconds: float, words: list[str], errors: Path) -> None:
    """Run a command in a process, and kill it after some time, if it still runs."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            with errors.open("w") as lines, redirect_stderr(lines):
                code = run(words)
        finally:
            os._exit(code)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 7, -signal.SIGKILL), errors.read_text()
