"""Steps of other threads of the same graph as evidence for reducers: what counts, what is read, what is proved."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from ckpt_cli.model import Checkpoint
from ckpt_cli.plans import evidence_window, other_threads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite.saver import SqliteSaver as OurSaver
from ckpt_cli.session import Session
from ckpt_cli.values.state import State
from ckpt_cli.views.replay import PlayedView
from tests.graphs.building import on
from tests.graphs.scored import Best, scored

Threads = Callable[..., None]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database, and a folder for its operation log."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "scores.sqlite"


@pytest.fixture
def threads(path: Path) -> Iterator[Threads]:
    """Runs turns in a thread of the database."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        yield lambda *words, **options: scored(saver, *words, **options)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many checkpoints of each thread are decoded; of `rows` how many skeletons of whole threads are read."""
    counts, decode, rows = Counter[str](), Reader.decode, OurSaver.rows

    def counted(reader: Reader, checkpoint: Checkpoint) -> State:
        counts[checkpoint.row.thread_id] += 1
        return decode(reader, checkpoint)

    def counted_rows(saver: OurSaver, thread_id: str, ns: str | None = None) -> Any:
        counts[f"rows of {thread_id}"] += 1
        return rows(saver, thread_id, ns)

    monkeypatch.setattr(Reader, "decode", counted)
    monkeypatch.setattr(OurSaver, "rows", counted_rows)
    return counts


def update(path: Path, capsys: pytest.CaptureFixture[str], *words: str, values: str = '{"score": 0.2}') -> str:
    """What a planned update of the thread `mine` says on stdout and stderr."""
    capsys.readouterr()
    run(["update", "mine", "--values", values, "--as-node", "judge", "--dry-run", "-d", str(path), *words])
    return " ".join("".join(capsys.readouterr()).split())


def played(path: Path, *named: str) -> PlayedView:
    """The recorded steps of the thread `mine`."""
    session = Session(str(path))
    try:
        view = replay(session, "mine", to="@", reducer=list(named))
        assert isinstance(view, PlayedView)
        view.steps = list(view.steps)
        return view
    finally:
        session.close()


def forge(path: Path, thread_id: str, score: float) -> None:
    """Alter the score at the thread's head."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        tip: Any = saver.get_tuple(on(thread_id))  # type: ignore[arg-type]
        values = {**tip.checkpoint["channel_values"], "score": score}
        saver.put(tip.parent_config, {**tip.checkpoint, "channel_values": values}, tip.metadata, {})


@pytest.mark.parametrize("first", ["mine", "other"])
def test_a_thread_counts_exactly_where_one_is_or_was_where_the_other_is(
    first: str, path: Path, threads: Threads, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nodes and channels must be the same, whichever thread is further; more or other nodes are another graph."""
    nodes = {"mine": "judge", "other": "judge check"}
    threads("mine", 0.3, nodes=nodes[first])
    assert "fit reducers that give different values" in update(path, capsys)
    threads("longer", 0.5, 0.4, nodes=nodes["other" if first == "mine" else "mine"])
    threads("named otherwise", 0.5, 0.4, nodes="judges")
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("UPDATE checkpoints SET metadata = json_set(metadata, '$.graph_id', 'x')")
        connection.commit()
        threads("of no server", 0.5, 0.4, nodes=nodes[first])
    assert "fit reducers that give different values" in update(path, capsys)
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("UPDATE checkpoints SET metadata = json_remove(metadata, '$.graph_id')")
        connection.commit()
    assert "score last value (from 2 threads, 3 steps)" in update(path, capsys)


def test_a_thread_that_took_another_way_excludes_a_reducer(
    path: Path, threads: Threads, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many as the others that support it do; fewer may be of another graph, as they never were where this one is."""
    for name in ("mine", "one", "two"):
        threads(name, 0.5, 0.4)
    for number, expected in enumerate(["(from 3 threads, 6 steps)", "(from 3 threads, 6 steps)", "in 5 threads"]):
        said = update(path, capsys)
        assert expected in said
        threads(f"another way {number}", 0.5, 0.4, nodes="judge check", schema=Best)
    assert "no reducer explains the 10 recorded steps of channel 'score'" in said


def test_a_copy_of_a_thread_is_no_further_evidence(
    path: Path, threads: Threads, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fork to another thread has the same checkpoints: its steps count once."""
    threads("mine", 0.3)
    threads("other", 0.5, 0.4)
    for original, copy in (("mine", "copy of mine"), ("other", "copy of other")):
        assert run(["fork", original, "@", "--to", copy, "-d", str(path), "--yes"]) == 0
    assert "score last value (from 2 threads, 3 steps)" in update(path, capsys)


def test_what_is_read_of_other_threads_is_bounded(
    path: Path,
    threads: Threads,
    reads: Counter[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A head of each thread is read, then the newest steps of the newest threads."""
    threads("mine", 0.3)
    for number in range(8):
        threads(f"other {number}", *[0.5, 0.4] * 6)
    monkeypatch.setattr(other_threads, "THREADS", 6)
    monkeypatch.setattr(evidence_window, "STEPS", 50)
    monkeypatch.setattr(evidence_window, "STEPS_OF_THREAD", 20)
    reads.clear()
    assert "score last value (from 4 threads, 18 steps)" in update(path, capsys)
    others = {name: count for name, count in reads.items() if "other" in name}
    assert {name for name in others if name.startswith("rows")} == set()
    assert set(others) == {f"other {number}" for number in range(2, 8)}
    assert sum(others.values()) <= 6 + 2 * 50  # a state is read again if it is the parent of one read later
    monkeypatch.setattr(evidence_window, "_MOST_BYTES", 12_000)
    reads.clear()
    assert "from 2 threads" in update(path, capsys)
    assert sum(count for name, count in reads.items() if "other" in name) < 6 + 20


def test_other_threads_make_a_step_suspect_and_one_of_them_cancels_it(path: Path, threads: Threads) -> None:
    """Learned evidence never says that a step differs; what a person names does."""
    threads("mine", 0.3, 0.2)
    threads("other", *[0.5, 0.4] * 5)
    forge(path, "mine", 0.9)
    assert [step.verdict for step in played(path).steps][-1] == "unknown"
    threads("third", *[0.5, 0.4] * 5)
    view = played(path)
    assert [(step.verdict, step.otherwise) for step in view.steps if step.verdict != "agrees"] == [
        ("suspect", ["score"])
    ]
    assert (
        view.steps[-1].why
        == "score: not what last value makes of the writes, as it does in the other steps and threads; a reducer that "
        "ckpt doesn't know may do so too"
    )
    assert any(
        words.startswith("score last value") and "from 3 threads, 21 of 22 steps" in words for words in view.reducers
    )
    assert [step.verdict for step in played(path, "score=last").steps][-1] == "differs"
    threads("honest", 0.7, 0.6, schema=Best)
    assert [step.verdict for step in played(path).steps][-1] == "unknown"
