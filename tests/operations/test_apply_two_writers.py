"""An application writes with the real saver while ckpt changes the same database: nothing is lost or half done."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import pytest

from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, Plan, Ref, WriteKey
from ckpt_cli.operations.apply import apply, basis_of
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Phase
from ckpt_cli.plans import fork
from ckpt_cli.plans.mint import Mint
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec

APPLICATION = """
import operator, sqlite3, sys
from typing import Annotated, TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

class State(TypedDict):
    log: Annotated[list, operator.add]

builder = StateGraph(State)
builder.add_node("a", lambda state: {"log": ["a"]})
builder.add_node("b", lambda state: {"log": ["b"]})
builder.add_edge(START, "a")
builder.add_edge("a", "b")
connection = sqlite3.connect(sys.argv[1], check_same_thread=False)
graph = builder.compile(checkpointer=SqliteSaver(connection))

def turn(thread, number):
    graph.invoke({"log": [number]}, {"configurable": {"thread_id": thread}})

for number in range(20):
    turn("old", number)
    turn(f"junk-{number}", number)
print("ready", flush=True)
for number, line in enumerate(sys.stdin):
    for _ in range(int(line)):
        turn("live", number)
    print(number, flush=True)
state = graph.get_state({"configurable": {"thread_id": "live"}})
print(len(state.values["log"]), len(list(graph.get_state_history({"configurable": {"thread_id": "live"}}))), flush=True)
connection.close()
"""


class Application:
    """A process that runs a graph on the database, so many turns at each word."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", APPLICATION, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.answer() == "ready"

    def turns(self, number: int) -> None:
        """Let it run some turns; `answer` waits for their end."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        """The next line it says."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def end(self) -> str:
        """Let it finish, without an error, and give its last word."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        last = self.answer()
        assert self._process.wait(30) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()
        return last


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shared.sqlite"


@contextmanager
def ckpt(path: Path) -> Iterator[tuple[Reader, OperationLog]]:
    """The database as ckpt has it open, and its log."""
    log = OperationLog(path.parent / "state" / "x" / "log.sqlite")
    with closing(open_file(path)) as saver, closing(log):
        yield Reader(saver, Codec()), log


def forking(reader: Reader) -> Plan:
    """A fork of a thread at rest."""
    return fork.plan(reader, reader.resolve("old", "@~1"), Mint())


def editing(reader: Reader) -> Plan:
    """A change of one row in place."""
    (stored,) = reader.saver.checkpoints([reader.resolve("old", "step:3").ref])
    metadata = reader.codec.encode({**reader.value(stored.metadata), "edited": True}, like=stored.metadata)
    record: Checkpoint = stored._replace(metadata=metadata)
    return Plan("", replace=(record,), basis=(basis_of(reader.saver, stored.row.ref),), verb="edit")


def deleting(reader: Reader, thread: str) -> Plan:
    """A whole thread goes."""
    refs = tuple(row.ref for row in reader.saver.rows(thread))
    writes = tuple(WriteKey(w.ref, w.task_id, w.idx) for w in reader.saver.writes(thread, values=0))
    return Plan("", remove=(*refs, *writes), basis=(basis_of(reader.saver, Ref(thread, "*", "")),), verb="delete")


def test_both_write_and_nothing_is_lost(path: Path) -> None:
    """While the application runs, forks, edits and deletes all happen whole, and all its turns are there."""
    application, clicks = Application(path), count()
    with ckpt(path) as (reader, log):
        application.turns(60)
        for number in range(20):
            for make in (forking, editing, lambda r, n=number: deleting(r, f"junk-{n}")):
                apply(reader.saver, log, reader.moment(lambda m=make: m(reader)), at=float(next(clicks)))
        assert application.answer() == "0"
        assert application.end() == f"{60 * 3} {60 * 4}"
        assert {operation.phase for operation in log.operations()} == {Phase.DONE}
        assert {thread.thread_id for thread in reader.saver.threads()} == {"old", "live"}
        assert reader.moment(lambda: sum(s.source == "fork" for s in states(reader, "old"))) == 20
        assert reader.moment(lambda: sum("edited" in s.metadata for s in states(reader, "old"))) == 1
        assert not list(reader.saver.writes("junk-3"))


def states(reader: Reader, thread: str) -> Iterator[object]:
    """All states of a thread."""
    return reader.states(row.ref for row in reader.saver.rows(thread))


@pytest.mark.parametrize("thread_id", ["live", "old"])
def test_where_they_collide_ckpt_gives_way(path: Path, thread_id: str) -> None:
    """A plan is refused and changes nothing if the application continued its thread; other plans are applied."""
    application = Application(path)
    application.turns(1)
    assert application.answer() == "0"
    with ckpt(path) as (reader, log):
        plan = reader.moment(lambda: deleting(reader, thread_id))
        application.turns(1)
        assert application.answer() == "1"
        before = reader.saver.totals()
        if thread_id == "live":
            with pytest.raises(
                Refused, match="thread 'live' has changed since the plan was begun; nothing was written"
            ):
                apply(reader.saver, log, plan, at=1.0)
            assert (reader.saver.totals(), log.operations()) == (before, [])
        else:
            apply(reader.saver, log, plan, at=1.0)
            assert reader.saver.thread("old") is None
        assert application.end() == "6 8"
