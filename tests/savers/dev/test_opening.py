"""What a path may name, the errors for other paths, and that pickles run nothing."""

import gzip
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.app import run
from ckpt_cli.errors import DatabaseDamaged, DatabaseUnreachable, UsageError
from ckpt_cli.inspection import Inspection
from ckpt_cli.reading import Reader
from ckpt_cli.savers.dev import open_path
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from tests.graphs.building import line, on
from tests.graphs.lines import asking, chat_graph
from tests.savers.dev.storage import NAME, fill, server, sync
from tests.truth_rendering import rendered

DATA = Path(__file__).parents[2] / "data" / "langgraph_api"


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """The files that a run of ``langgraph dev`` left."""
    folder = tmp_path / "project" / ".langgraph_api"
    folder.mkdir(parents=True)
    for file in DATA.iterdir():
        (folder / file.name.removesuffix(".gz")).write_bytes(gzip.decompress(file.read_bytes()))
    return folder


def threads(place: str | Path) -> list[str]:
    saver = open_database(str(place), lambda _: None)
    return [thread.thread_id for thread in saver.threads()]


def test_names_of_the_same(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder, the project that has it, its first file, and no name at all inside the project are the same."""
    expected = threads(served)
    assert len(expected) == 3
    for place in (served, f"{served}/", served.parent, served / NAME.format(1)):
        assert threads(place) == expected
    identities = {open_database(str(place), str).identity for place in (served, served.parent)}
    messages: list[str] = []
    monkeypatch.chdir(served.parent)
    assert {open_database(None, messages.append).identity} == identities
    assert messages == ["database: .langgraph_api"]


def test_one_among_others_is_not_chosen(served: Path, monkeypatch: pytest.MonkeyPatch, database: Any) -> None:
    """With another database beside it, neither is chosen."""
    database("legacy/py-0.6.11").rename(served.parent / "agent.sqlite")
    monkeypatch.chdir(served.parent)
    with pytest.raises(UsageError) as caught:
        open_database(None, str)
    assert caught.value.candidates == ("agent.sqlite", ".langgraph_api")


SAID = ("please confirm this", "hello")


def test_a_real_server(served: Path) -> None:
    """A run of the server is read completely: values, next nodes, interrupts and metadata."""
    reader = Reader(open_path(served), Codec())
    heads = [reader.head(thread.thread_id).ref for thread in reader.saver.threads()]
    shots = [Inspection(reader, ref).snapshot() for ref in heads]
    assert [str(shot.status) for shot in shots] == ["done", "waiting", "done"]
    assert [[i.value for i in shot.interrupts] for shot in shots] == [[], [{"q": "sure?"}], []]
    messages = [[m["content"] for m in rendered(Inspection(reader, ref).values())["messages"]] for ref in heads]
    assert messages[1:] == [[f"{prefix}{text} {n}" for n in "01" for prefix in ("", "echo: ")] for text in SAID]
    assert {reader.state(ref).metadata["graph_id"] for ref in heads} == {"agent"}
    assert reader.saver.totals()[:3] == (3, 23, 30)


def by_name(three: list[Any]) -> dict[str, Any]:
    return dict(zip(("storage", "writes", "blobs"), three, strict=True))


def test_the_pickle_of_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines in ``docs/databases.md`` that save what an InMemorySaver holds make a file that is read."""
    page = (Path(__file__).parents[3] / "docs" / "databases.md").read_text(encoding="utf-8")
    [lines] = [block for block in page.split("```") if block.startswith("python\nstorage = ")]
    monkeypatch.chdir(tmp_path)
    saver = InMemorySaver()
    asking(saver).invoke({"log": []}, on("t"))
    exec(lines.removeprefix("python\n"), {"pickle": pickle, "saver": saver})
    reader = Reader(open_path(tmp_path / "memory.pickle"), Codec())
    assert Inspection(reader, reader.head("t").ref).values() == {"log": ["write"]}


@pytest.mark.parametrize("pickled", [tuple, list, by_name])
def test_one_pickle_of_all(tmp_path: Path, pickled: Callable[[Any], Any]) -> None:
    """The three dicts of a saver in one pickle, by name or in their order, are read too, also with numbers for ids."""
    with server(tmp_path / "x") as saver:
        asking(saver).invoke({"log": []}, on("t"))
        saver.storage[7] = saver.storage["t"]  # type: ignore[index]
        three = [dict(part) for part in (saver.storage, saver.writes, saver.blobs)]
    three[0] = {t: {ns: dict(space) for ns, space in spaces.items()} for t, spaces in three[0].items()}
    path = tmp_path / "memory.pickle"
    path.write_bytes(pickle.dumps(pickled(three)))
    reader = Reader(open_path(path), Codec())
    assert sorted(threads(path)) == ["7", "t"]
    assert Inspection(reader, reader.head("t").ref).values() == {"log": ["write"]}


def test_files_alone(tmp_path: Path) -> None:
    """A storage without its writes and blobs shows what it has: ids, parents, metadata."""
    with server(tmp_path / "x") as saver:
        line(saver, "a").invoke({"log": ["x"]}, on("t"))
    for number in (2, 3):
        (tmp_path / "x" / NAME.format(number)).unlink()
    assert run(["log", "t", "-d", str(tmp_path / "x")]) == 0
    assert Reader(open_path(tmp_path / "x"), Codec()).saver.totals()[:3] == (1, 3, 0)


def test_a_running_server_is_read_anew(tmp_path: Path) -> None:
    """An open folder shows what its server has written meanwhile."""
    with server(tmp_path / "x") as saver:
        graph = line(saver, "a")
        graph.invoke({"log": []}, on("t"))
        sync(saver)
        opened = open_path(tmp_path / "x")
        assert opened.moment(lambda: opened.count("t")) == 3
        graph.invoke({"log": []}, on("t"))
        sync(saver)
        assert opened.moment(lambda: opened.count("t")) == 6


def test_objects(tmp_path: Path) -> None:
    """Messages come out of msgpack blobs with class and fields."""
    with server(tmp_path / "x") as saver:
        chat_graph(saver).invoke({"messages": [HumanMessage("hi", id="h")]}, on("t"))
    reader = Reader(open_path(tmp_path / "x"), Codec())
    assert [m["id"] for m in rendered(Inspection(reader, reader.head("t").ref).values())["messages"]] == ["h", "ai-1"]


def test_it_is_read_only(served: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change is refused with exit code 6 and the reason, and no byte of the folder changes."""
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in served.iterdir()}
    thread = threads(served)[0]
    for words in (["fork", thread, "@"], ["delete", thread], ["update", thread, "--values", "{}", "--as-node", "bot"]):
        assert run([*words, "-d", str(served), "--yes"]) == 6
        assert "can't be written: its server" in capsys.readouterr().err
    for words in (["info"], ["threads"], ["tree", thread], ["show", thread], ["writes", thread], ["grep", "hello"]):
        assert run([*words, "-d", str(served)]) == 0
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in served.iterdir()} == before


def test_an_empty_folder(tmp_path: Path) -> None:
    """A folder without checkpoints says when they are written."""
    (tmp_path / ".langgraph_api").mkdir()
    with pytest.raises(DatabaseUnreachable, match="holds no checkpoints") as caught:
        open_path(tmp_path / ".langgraph_api")
    assert "Ctrl+C" in caught.value.hint


class Attack:
    """A pickle that runs a command when it is loaded."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


def laughs(levels: int = 40) -> Any:
    """A list that holds itself twice, many times over."""
    value: Any = ["ha"]
    for _ in range(levels):
        value = [value, value]
    return value


def deep(levels: int) -> bytes:
    """Lists in lists, deeper than Python recurses."""
    return b"\x80\x02" + b"]" * levels + b"a" * (levels - 1) + b"."


MEMO_BOMB = b"\x80\x02r\xff\xff\xff\x7f."
"""Nine bytes that let an Unpickler allocate gigabytes: a memo index of two thousand million."""

STORED = (("msgpack", b"\x80"), ("msgpack", b"\x80"), None)


@pytest.mark.parametrize("at", ["whole", "thread", "parent", "body", "key"])
@pytest.mark.parametrize("protocol", [2, 4])
def test_pickles_run_nothing(tmp_path: Path, at: str, protocol: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A call in a pickle is never made, wherever it is: the storage is refused in one line."""
    mark = tmp_path / "mark"
    attack = Attack(os.system, f"touch {mark}")
    storage: Any = {
        "whole": attack,
        "thread": {"t": attack},
        "parent": {"t": {"": {"1": (*STORED[:2], attack)}}},
        "body": {"t": {"": {"1": (("msgpack", attack), *STORED[1:])}}},
        "key": {("a", attack): {"": {"1": STORED}}},
    }[at]
    fill(tmp_path / "x", [storage, {}, {}], protocol)
    is_checkpoint = at in ("parent", "key")  # whose parent or thread is an object
    assert run(["threads", "-d", str(tmp_path / "x")]) == (0 if is_checkpoint else 3)
    assert ("holds no checkpoints" in capsys.readouterr().err) is not is_checkpoint
    assert not mark.exists()


@pytest.mark.parametrize("part", [0, 1, 2])
def test_bombs(tmp_path: Path, part: int) -> None:
    """Lists that grow beyond all bounds, nest without end or address huge memos are refused, in each of the files."""
    ending = pickle.dumps({"t": {"": {"1": STORED}}}, 2)[:-9]
    for data in (pickle.dumps({"t": laughs()}, 2), deep(100_000), MEMO_BOMB, b"\x80\x02", ending, b"\x80\x02}."):
        fill(tmp_path / "x", [{"t": {"": {"1": STORED}}}, {}, {}])
        (tmp_path / "x" / NAME.format(part + 1)).write_bytes(data)
        if data == b"\x80\x02}.":
            assert threads(tmp_path / "x") == ([] if part == 0 else ["t"])
            continue
        with pytest.raises(DatabaseUnreachable):
            open_path(tmp_path / "x")


def test_a_cut_file_is_damaged(served: Path) -> None:
    """A file that ends too early is called damaged, with its name."""
    path = served / NAME.format(1)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DatabaseDamaged, match=r"langgraph_checkpoint\.1"):
        open_path(served)


def test_hostile_values(tmp_path: Path) -> None:
    """A payload that is a pickle or names a module is shown, not run, as in every other database."""
    mark = tmp_path / "mark"
    body = JsonPlusSerializer().dumps_typed({"v": 4, "id": "1", "ts": "", "channel_versions": {"bad": 1, "odd": [1]}})
    blob = ("pickle", pickle.dumps(Attack(os.system, f"touch {mark}")))
    three = [{"t": {"": {"1": (body, ("msgpack", b"\x80"), None)}}}, {}, {("t", "", "bad", 1): blob}]
    fill(tmp_path / "x", three)
    assert run(["show", "t", "-d", str(tmp_path / "x"), "--full"]) == 0
    assert not mark.exists()
