"""Lists of any length take the same memory."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.model import Ref, Thread
from ckpt_cli.queries.thread_order import sort_threads
from ckpt_cli.savers.url import open_database
from ckpt_cli.session import Session
from tests.bench.bounds import chain, make, make_threads
from tests.commands.listing import threads
from tests.work import held

_THREADS = 80
_BYTES = 120  # a thread's id in a file's buffer and the like, but neither its view nor its decoded head


def _threads(path: Path, count: int) -> Path:
    make_threads(path, count)
    return path


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pages of few threads, so that few threads show what many take."""
    monkeypatch.setattr("ckpt_cli.queries.thread_pages._AT_ONCE", 10)
    monkeypatch.setattr("ckpt_cli.queries.thread_pages._IN_MEMORY", 10)
    monkeypatch.setattr("ckpt_cli.queries.thread_order._IN_MEMORY", 40)
    monkeypatch.setattr("ckpt_cli.queries.quick_threads._AT_ONCE", 10)
    monkeypatch.setattr("ckpt_cli.queries.quick_snapshot._SHAPES", 10)
    monkeypatch.setattr("ckpt_cli.output.stdout._BLOCK", 1000)
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


_ROW = 900  # the ids of a checkpoint, by which the tree is known, but neither its metadata, its writes nor its line
_ROW_OF_A_TREE = 1_500  # and its place in the drawing


@pytest.mark.parametrize(
    "words",
    [
        ["log", "t", "-n", "0"],
        ["log", "t", "-n", "0", "--json"],
        ["log", "t", "-n", "0", "--all", "--jsonl"],
    ],
)
def test_a_log_keeps_no_more_of_a_checkpoint_than_its_ids(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times as many checkpoints are printed; only the tree of their ids grows."""
    monkeypatch.setattr("ckpt_cli.queries.checkpoint_list._AT_ONCE", 10)
    few, many = tmp_path / "few.sqlite", tmp_path / "many.sqlite"
    make(few, chain(_THREADS))
    make(many, chain(3 * _THREADS))
    held(lambda: run([*words, "--db", str(few)]))  # imports
    least = held(lambda: run([*words, "--db", str(few)]))
    assert held(lambda: run([*words, "--db", str(many)])) < least + 2 * _THREADS * _ROW


@pytest.mark.parametrize("words", [["tree", "t", "--full"], ["tree", "t", "--full", "--json"]])
def test_a_whole_tree_keeps_no_more_of_a_checkpoint_than_its_ids(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times as many checkpoints are drawn; only the tree of their ids grows, and how it is laid out."""
    monkeypatch.setattr("ckpt_cli.queries.tree_outline._WHOLE", 0)
    monkeypatch.setattr("ckpt_cli.commands.tree._WHOLE", 0)
    monkeypatch.setattr("ckpt_cli.commands.tree._AT_ONCE", 10)
    few, many = tmp_path / "few.sqlite", tmp_path / "many.sqlite"
    make(few, chain(_THREADS))
    make(many, chain(3 * _THREADS))
    held(lambda: run([*words, "--db", str(few)]))  # imports
    least = held(lambda: run([*words, "--db", str(few)]))
    assert held(lambda: run([*words, "--db", str(many)])) < least + 2 * _THREADS * _ROW_OF_A_TREE


@pytest.mark.parametrize("name", ["real", "legacy/py-0.0.48"])
def test_a_log_in_pages_has_the_lines_of_a_log_in_one(
    name: str, database: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every namespace, as text and as JSON, with and without the other branches and a choice of channels."""
    path, words = database(name), [["--all"], ["--all", "--graph"], ["--channel", "messages"], ["--source", "loop"]]
    with closing(open_database(str(path), print)) as saver:
        places = [(thread.thread_id, ns) for thread in saver.threads() for ns in saver.namespaces(thread.thread_id)[:2]]

    def printed() -> list[tuple[int, str]]:
        outputs = []
        for thread_id, ns in places:
            for options in [[], *words]:
                for form in ([], ["--json"]):
                    with redirect_stdout(StringIO()) as out:
                        code = run(["log", thread_id, "--ns", ns, "-n", "0", *options, *form, "--db", str(path)])
                    outputs.append((code, out.getvalue()))
        return outputs

    whole = printed()
    monkeypatch.setattr("ckpt_cli.queries.checkpoint_list._AT_ONCE", 3)
    assert printed() == whole


@pytest.mark.parametrize("name", ["real", "legacy/py-0.0.48", "legacy/py-0.2.60"])
def test_a_tree_in_pages_has_the_lines_of_a_tree_in_one(
    name: str, database: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every namespace, as text and as JSON, folded and whole."""
    path = database(name)
    with closing(open_database(str(path), print)) as saver:
        places = [(thread.thread_id, ns) for thread in saver.threads() for ns in saver.namespaces(thread.thread_id)[:2]]

    def printed() -> Iterator[tuple[list[str], str]]:
        for thread_id, ns in places:
            for options in ([], ["--json"], ["--full"], ["--full", "--json"], ["--full", "--format", "dot"]):
                words = ["tree", thread_id, "--ns", ns, *options]
                with redirect_stdout(StringIO()) as out:
                    assert run([*words, "--db", str(path)]) == 0
                yield words, out.getvalue()

    whole = {tuple(words): text for words, text in printed()}
    monkeypatch.setattr("ckpt_cli.queries.tree_outline._WHOLE", 0)
    monkeypatch.setattr("ckpt_cli.queries.tree_outline._AT_ONCE", 7)
    monkeypatch.setattr("ckpt_cli.commands.tree._WHOLE", 0)
    monkeypatch.setattr("ckpt_cli.commands.tree._AT_ONCE", 3)
    assert [(words, text) for words, text in printed() if whole[tuple(words)] != text] == []


def test_a_checkpoint_that_is_deleted_while_a_log_is_printed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has all other checkpoints, each once."""
    monkeypatch.setattr("ckpt_cli.queries.checkpoint_list._AT_ONCE", 10)
    make(path := tmp_path / "t.sqlite", chain(60))
    steps = iter(log(Session(str(path)), "t", limit=0).steps)
    first = next(steps)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM checkpoints WHERE parent_checkpoint_id IS NULL")
        connection.commit()
    listed = [first.step, *(step.step for step in steps)]
    assert listed == list(range(58, -1, -1))


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
    path = _threads(tmp_path / "many.sqlite", 60)
    last = [one.thread_id for one in threads(Session(str(path)), limit=0).threads][-1]
    view = threads(Session(str(path)), limit=0)
    first = next(iter(view.threads))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM checkpoints WHERE thread_id = ?", [last])
        connection.commit()
    listed = [first.thread_id, *(one.thread_id for one in view.threads)]
    assert len(listed) == len(set(listed)) == view.count == 59
