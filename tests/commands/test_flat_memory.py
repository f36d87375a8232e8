"""Lists of any length take the same memory."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.model import Ref, Thread
from ckpt_cli.queries.thread_order import sort_threads
from tests.bench.bounds import make_threads
from tests.work import held

_THREADS = 80
_BYTES = 100  # a thread's id in a file's buffer and the like, but neither its view nor its decoded head


def _threads(path: Path, count: int) -> Path:
    make_threads(path, count)
    return path


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pages of few threads, so that few threads show what many take."""
    monkeypatch.setattr("ckpt_cli.queries.thread_pages._AT_ONCE", 10)
    monkeypatch.setattr("ckpt_cli.queries.thread_pages._IN_MEMORY", 10)
    monkeypatch.setattr("ckpt_cli.queries.thread_order._IN_MEMORY", 10)
    yield


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(
    "words",
    [
        ["threads", "--limit", "0"],
        ["threads", "--limit", "0", "--jsonl"],
        ["threads", "--limit", "0", "--sort", "id"],
        ["threads", "--limit", "0", "--sort", "-checkpoints"],
        ["grep", "loop"],
    ],
)
def test_memory_is_flat_in_the_number_of_threads(words: list[str], tmp_path: Path) -> None:
    """Three times as many threads are printed, with the same memory."""
    few, many = (_threads(tmp_path / f"{count}.sqlite", count) for count in (_THREADS, 3 * _THREADS))
    held(lambda: run([*words, "--db", str(few)]))  # imports
    least = held(lambda: run([*words, "--db", str(few)]))
    assert held(lambda: run([*words, "--db", str(many)])) < least + 2 * _THREADS * _BYTES


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("in_memory", [1, 3, 10, 11, 5000])
def test_threads_are_sorted_in_a_file_as_in_memory(
    in_memory: int, reverse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of any length give the order of one stable sort, or all of it the other way round."""
    monkeypatch.setattr("ckpt_cli.queries.thread_order._IN_MEMORY", in_memory)
    keys: list[int | str] = [5, -2, 5, 0, 7, 0, 5, -2, 1, 3]
    names = [f"{key} \ud800 “{place}”" for place, key in enumerate(keys)]
    threads = [Thread(name, Ref(name, "", name)) for name in names]
    ordered = sort_threads(zip(keys, threads, strict=True), reverse=reverse)
    expected = [thread for _, thread in sorted(zip(keys, threads, strict=True), key=lambda pair: pair[0])]
    assert (list(ordered.threads), ordered.number) == (expected[::-1] if reverse else expected, len(keys))


@pytest.mark.usefixtures("small_pages")
def test_a_thread_that_is_deleted_while_the_list_is_printed_is_left_out(tmp_path: Path) -> None:
    """The list has all other threads, each once."""
    from ckpt_cli.commands.threads import threads
    from ckpt_cli.session import Session

    path = _threads(tmp_path / "many.sqlite", 60)
    last = [one.thread_id for one in threads(Session(str(path)), limit=0).threads][-1]
    view = threads(Session(str(path)), limit=0)
    first = next(iter(view.threads))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM checkpoints WHERE thread_id = ?", [last])
        connection.commit()
    listed = [first.thread_id, *(one.thread_id for one in view.threads)]
    assert len(listed) == len(set(listed)) == view.count == 59
