"""kill -9 at any moment: the database is as before the plan or as after it, and the log can tell which."""

import os
import random
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Write, WriteKey
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Phase
from ckpt_cli.operations.settle import settle
from ckpt_cli.savers.half_written import HalfWrittenError
from ckpt_cli.savers.sqlite import SqliteSaver, open_file
from tests.operations.databases import make

KILLS = int(os.environ.get("CKPT_KILLS", "60"))
"""Each for a database in WAL mode and one with a rollback journal; hundreds were, once."""
_ROWS = 6
_BODY = Payload("bytes", random.Random(1).randbytes(9000))


def batch(number: int) -> tuple[Checkpoint | Write, ...]:
    """All records of one state of the database; each tells the number."""
    found: list[Checkpoint | Write] = []
    for place in range(_ROWS):
        ref = Ref("t", "", f"{number:06}-{place}")
        found.append(Checkpoint(CheckpointRow("t", "", ref.checkpoint_id, None), _BODY, Payload("json", b"{}")))
        found.append(Write("t", "", ref.checkpoint_id, "task", 0, "c", "", _BODY, len(_BODY.data)))
    return tuple(found)


def counter(number: int) -> Checkpoint:
    """The one record that every plan replaces."""
    return Checkpoint(CheckpointRow("counter", "", "1", None), Payload("bytes", b"%d" % number), Payload("json", b"{}"))


def plan(number: int) -> Plan:
    """From one state to the next: rows added, replaced and removed."""
    gone: list[Ref | WriteKey] = []
    for place in range(_ROWS):
        ref = Ref("t", "", f"{number - 1:06}-{place}")
        gone += [ref, WriteKey(ref, "task", 0)]
    return Plan("", batch(number), (counter(number),), tuple(gone), verb="step", summary=str(number))


def go_on(path: Path, log_path: Path, say: Callable[[], None]) -> None:
    """Apply one plan after another, until killed; `say` is called before the first one and after each."""
    saver, log = open_file(path), OperationLog(log_path)
    number = state(path)
    while True:
        say()
        number += 1
        apply(saver, log, plan(number), at=float(number))


def mended(path: Path) -> SqliteSaver:
    """The database as a changing command opens it."""
    try:
        return open_file(path)
    except HalfWrittenError as error:
        error.mend()
        return open_file(path)


def state(path: Path) -> int:
    """The number that the database is at, after a look at every row of it."""
    with closing(open_file(path)) as saver:
        (checkpoint,) = saver.checkpoints([Ref("counter", "", "1")])
        number = int(checkpoint.body.data)
        assert [*saver.checkpoints(row.ref for row in saver.rows("t"))] == [
            _measured(record) for record in batch(number) if isinstance(record, Checkpoint)
        ]
        assert [*saver.writes("t")] == [record for record in batch(number) if isinstance(record, Write)]
        return number


def _measured(record: Checkpoint) -> Checkpoint:
    row = record.row
    sized = CheckpointRow(row.thread_id, row.ns, row.checkpoint_id, None, len(record.body.data))
    return Checkpoint(sized, record.body, record.metadata)


def killed(path: Path, log_path: Path, whole: int | None, share: float, pace: float) -> float:
    """Kill a process of its own, forked warm, in the midst of an operation; gives how many seconds one takes.

    That is after `whole` operations, or, where that is None, wherever it is from its start on; and then after a `share`
    of the time that an operation takes, which was `pace` when it was seen last: a slow machine kills later.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons don't like fork beside threads
        child = os.fork()
    if child == 0:
        try:
            go_on(path, log_path, lambda: os.write(writing, _DONE) and None)
        except BaseException:
            os.write(writing, traceback.format_exc().encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        said, begun = [], time.monotonic()
        for number in range(0 if whole is None else whole + 1):
            said.append(pipe.read(1))
            begun = begun if number else time.monotonic()
        pace = (time.monotonic() - begun) / whole if whole else pace
        time.sleep(share * pace)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        words = b"".join([*said, pipe.read()]).replace(_DONE, b"").decode()
    assert os.WIFSIGNALED(status) and not words, f"it failed before it was killed: {words}"
    return pace


_DONE = b"\0"


@pytest.mark.slow
@pytest.mark.parametrize("wal", [True, False], ids=["wal", "journal"])
def test_before_or_after_and_the_log_knows(tmp_path: Path, wal: bool) -> None:
    """After every kill the rows are those of one whole plan, which is the newest that the log says was done."""
    path, log_path = tmp_path / "x.sqlite", tmp_path / "state" / "x" / "log.sqlite"
    make(path, "E", [], wal=wal)
    with closing(open_file(path)) as saver:
        saver.apply(Plan("", (*batch(0), counter(0))))
    chance = random.Random(7)
    interrupted = applied = kills = 0
    pace = killed(path, log_path, 2, 0.0, 0.0)
    while kills < KILLS or interrupted < KILLS // 5:
        kills += 1
        assert kills < 10 * KILLS, "the kills came between plans, not into them"
        whole = 1 if kills % 4 == 0 else None
        pace = killed(path, log_path, whole, chance.uniform(0.0, 1.5 if whole is None else 1.0), pace)
        with closing(OperationLog(log_path)) as log, closing(mended(path)) as saver:
            interrupted += len(settle(saver, log))
            now = state(path)
            done = [operation for operation in log.operations() if operation.phase is Phase.DONE]
            assert now == (int(done[0].summary) if done else 0)
            assert [int(operation.summary) for operation in done] == list(range(now, 0, -1))
            assert all(operation.phase in (Phase.DONE, Phase.ABANDONED) for operation in log.operations())
            assert now >= applied + (whole or 0), "what was done is there"
            applied = now
