"""What ``module:attribute`` and langgraph.json may name, and the errors for other things."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.errors import CkptError, DatabaseUnreachable, NotSupported
from ckpt_cli.reading import Reader
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from tests.graphs.building import line, on

PROJECT = """
import asyncio, os, sys
from contextlib import asynccontextmanager, contextmanager

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
import beside

print("what programs print")
PATH = os.path.join(os.path.dirname(__file__), "agent.sqlite")
LEFT = os.path.join(os.path.dirname(__file__), "left")


def left():
    with open(LEFT, "a") as file:
        file.write("x")


import sqlite3
instance = SqliteSaver(sqlite3.connect(PATH, check_same_thread=False))


class Holder:
    saver = instance
    checkpointer = instance


graph = Holder()


def factory():
    return instance


class Own(SqliteSaver):
    def __init__(self, size=3):
        super().__init__(sqlite3.connect(PATH, check_same_thread=False))


def manager():
    return SqliteSaver.from_conn_string(PATH)


def generator():
    try:
        yield instance
    finally:
        left()


@contextmanager
def decorated():
    yield from generator()


@asynccontextmanager
async def entered():
    async with AsyncSqliteSaver.from_conn_string(PATH) as saver:
        try:
            yield saver
        finally:
            await asyncio.sleep(0)
            left()


async def agenerator():
    async with AsyncSqliteSaver.from_conn_string(PATH) as saver:
        yield saver


async def coroutine():
    return entered()


class ByThread(Own):
    def list(self, config, **words):
        return super().list({"configurable": {"thread_id": config["configurable"]["thread_id"]}}, **words)


class Failing(Own):
    def get_tuple(self, config):
        raise ConnectionError("gone away\\nfor good")


def needs_url(url, more=1): ...
def raises(): return 1 / 0
def leaves(): sys.exit("no configuration")
def gives(): return 42
def endless(): return endless
from_environment = os.environ.get("CKPT_TEST_VARIABLE", "")
def by_environment(): return instance if os.environ["CKPT_TEST_VARIABLE"] == beside.EXPECTED else 42
"""

WAYS = {
    "instance": False,
    "graph": False,
    "graph.saver": False,
    "factory": False,
    "Own": False,
    "manager": False,
    "generator": True,
    "decorated": True,
    "entered": True,
    "agenerator": False,
    "coroutine": True,
}
"""Attributes that lead to the checkpointer, and whether leaving it is noted."""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A program with a checkpointer and a database of one thread."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "memory.py").write_text(PROJECT)
    (folder / "beside.py").write_text("EXPECTED = 'expected'")
    with SqliteSaver.from_conn_string(str(folder / "agent.sqlite")) as saver:
        line(saver, "a", "b").invoke({"log": ["x"]}, on("t"))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith(("memory", "beside", "ckpt_custom")):
            del sys.modules[name]


def shown(database: str) -> list[object]:
    with closing(open_database(database, str)) as saver:
        reader = Reader(saver, Codec())
        return [(thread.thread_id, reader.values(thread.head)) for thread in saver.threads()]


def failure(database: str) -> CkptError:
    with pytest.raises(CkptError) as caught:
        shown(database)
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.parametrize("attribute", WAYS)
@pytest.mark.filterwarnings("default::ResourceWarning")
def test_ways(project: Path, attribute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of attribute leads to a checkpointer, by file and by module, and is closed at the end."""
    paths = list(sys.path)
    expected = [("t", {"log": ["x", "a", "b"]})]
    assert shown(f"{project}/memory.py:{attribute}") == expected
    assert (project / "left").exists() is WAYS[attribute]
    monkeypatch.chdir(project)
    assert shown(f"memory:{attribute}") == expected
    assert shown(f"memory.py:{attribute}") == expected
    assert sys.path == paths


MISTAKES = {
    "needs_url": "needs the arguments url",
    "raises": "ZeroDivisionError: division by zero (memory.py, line",
    "leaves": "SystemExit: no configuration (memory.py",
    "gives": "is int, not a BaseCheckpointSaver",
    "endless": "is function, not a BaseCheckpointSaver",
    "PATH": "is str, not a BaseCheckpointSaver",
    "nothing": "has no nothing",
    "graph.nothing": "has no graph.nothing",
    "Failing": "ConnectionError: gone away for good (memory.py",
}


@pytest.mark.parametrize("attribute", MISTAKES)
@pytest.mark.filterwarnings("default::ResourceWarning")
def test_mistakes(project: Path, attribute: str) -> None:
    """An error in the user's program is one line that ends with its place, and exit code 3."""
    error = failure(f"{project}/memory.py:{attribute}")
    assert MISTAKES[attribute] in error.message
    assert error.exit_code == 3


def test_no_module(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing module or file, or one that can't be imported, is named."""
    monkeypatch.chdir(project)
    assert "no such file" in failure("nowhere.py:saver").message
    missing = failure("no_such_package.memory:saver")
    assert "No module named 'no_such_package'" in missing.message
    assert "ckpt's own Python" in missing.hint
    (project / "wrong.py").write_text("saver = ")
    assert "SyntaxError" in failure("wrong.py:saver").message
    assert "wrong" not in sys.modules


@pytest.mark.filterwarnings("default::ResourceWarning")
def test_threads_by_name_only(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A checkpointer that lists one thread at a time shows it, and says that it can't list all."""
    database = f"{project}/memory.py:ByThread"
    assert isinstance(failure(database), NotSupported)
    assert run(["log", "t", "-d", database]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert run(["threads", "-d", database]) == 6


@pytest.mark.filterwarnings("default::ResourceWarning")
def test_commands(project: Path) -> None:
    """Every reading command works; every change is refused with the reason; stdout has only ckpt's data."""
    database = f"{project}/memory.py:entered"

    def ckpt(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "ckpt_cli", *words, "-d", database]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    for words in (["info"], ["threads"], ["log", "t"], ["tree", "t"], ["show", "t"], ["writes", "t"], ["grep", "x"]):
        done = ckpt(*words)
        assert (done.returncode, done.stderr) == (0, "")
        assert "programs print" not in done.stdout
    assert json.loads(ckpt("threads", "--json").stdout)["threads"][0]["thread_id"] == "t"
    refused = ckpt("fork", "t", "@", "--yes")
    assert refused.returncode == 6
    assert "can't be written" in refused.stderr


CONFIGS: dict[str, Callable[[Path], object]] = {
    "relative": lambda folder: {"checkpointer": {"path": "./memory.py:instance"}},
    "module": lambda folder: {"checkpointer": {"path": "memory:instance"}, "dependencies": ["langchain", "."]},
    "folder": lambda folder: {"checkpointer": {"path": "inner:instance"}, "dependencies": ["./src"]},
    "variables": lambda folder: {
        "checkpointer": {"path": "./memory.py:by_environment"},
        "env": {"CKPT_TEST_VARIABLE": "expected"},
    },
    "file": lambda folder: {"checkpointer": {"path": "./memory.py:by_environment"}, "env": ".env"},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_langgraph_json(project: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """langgraph.json's checkpointer opens from any folder, with the file's import folders and variables."""
    monkeypatch.setenv("CKPT_TEST_VARIABLE", "")
    monkeypatch.delenv("CKPT_TEST_VARIABLE")
    (project / ".env").write_text("# a comment\nexport OTHER=1\nCKPT_TEST_VARIABLE='expected' # why\n")
    (project / "src").mkdir()
    (project / "src" / "inner.py").write_text("from memory import instance")
    config = project / "langgraph.json"
    config.write_text(json.dumps(CONFIGS[name](project)))
    assert shown(str(config)) == [("t", {"log": ["x", "a", "b"]})]
    os.environ.pop("OTHER", None)
    sys.modules.pop("inner", None)


def test_langgraph_json_without(project: Path) -> None:
    """A langgraph.json without a checkpointer gets a hint how to name one, or where ``langgraph dev`` left its own."""
    config = project / "langgraph.json"
    for text, said in (
        ("{}", "names no checkpointer"),
        ('{"checkpointer": "x"}', "names no checkpointer"),
        ("[", "not valid JSON"),
        ("[]", "holds no JSON object"),
        ('{"checkpointer": {"path": "memory"}}', "neither module:attribute"),
    ):
        config.write_text(text)
        error = failure(str(config))
        assert said in error.message
        assert isinstance(error, DatabaseUnreachable)
    config.write_text("{}")
    (project / ".langgraph_api").mkdir()
    assert ".langgraph_api" in failure(str(config)).hint


def test_encrypted_values_are_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Values that a checkpointer decrypts are shown without a key, also in odd encodings of its own serializer."""
    (project / "locked.py").write_text(
        "from langgraph.checkpoint.memory import InMemorySaver\n"
        "from langgraph.checkpoint.serde.encrypted import EncryptedSerializer\n"
        "from tests.graphs.building import line, on\n"
        "import json\n"
        "class Old:\n"
        "    def dumps(self, value): return json.dumps(value, default=list).encode()\n"
        "    def loads(self, data): return json.loads(data)\n"
        "saver = InMemorySaver(serde=EncryptedSerializer.from_pycryptodome_aes(key=b'0123456789abcdef'))\n"
        "old = InMemorySaver(serde=Old())\n"
        "for each in (saver, old):\n"
        "    line(each, 'a').invoke({'log': ['secret']}, on('t'))\n"
    )
    for name in ("saver", "old"):
        assert run(["get", "t", "log[0]", "-d", f"{project}/locked.py:{name}"]) == 0
        assert "secret" in capsys.readouterr().out
    sys.modules.pop("locked", None)
