"""A checkpointer's objects aren't made: no module that a payload names is imported, and every class keeps its name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.savers.custom.inert import InertSerializer, inert
from tests.databases import unpacked

OPENED = """
import sqlite3
from langgraph.checkpoint.sqlite import SqliteSaver

saver = SqliteSaver(sqlite3.connect({path!r}, check_same_thread=False))
saver.is_setup = True
"""


def ckpt(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "ckpt_cli", *words, "-d", "opened:saver"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=env)


def test_classes_keep_their_names(tmp_path: Path) -> None:
    """Objects of missing classes are shown with class and fields, and LangGraph prints no warning about them."""
    (tmp_path / "x.sqlite").write_bytes(unpacked("real"))
    (tmp_path / "opened.py").write_text(OPENED.format(path=str(tmp_path / "x.sqlite")))
    done = ckpt(tmp_path, "show", "types-all", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert '"$type": "lgtypes.Person"' in done.stdout
    assert '"$type": "uuid.UUID"' in done.stdout
    assert ckpt(tmp_path, "threads", "--limit", "0").stderr == ""


def test_no_module_is_imported(tmp_path: Path) -> None:
    """A module that a payload names isn't imported, even if it is on the path."""
    (tmp_path / "named.py").write_text("open('mark', 'w').close()\nclass Bird:\n    def __init__(self, *words): ...\n")
    (tmp_path / "opened.py").write_text(
        "from langgraph.checkpoint.memory import InMemorySaver\n"
        "import ormsgpack\n"
        "bird = ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(['named', 'Bird', 'x'])))\n"
        "saver = InMemorySaver()\n"
        "config = {'configurable': {'thread_id': 't', 'checkpoint_ns': ''}}\n"
        "checkpoint = {'v': 4, 'id': '1', 'ts': '', 'channel_values': {'bird': 0, 'old': 0},\n"
        "    'channel_versions': {'bird': '1', 'old': '1'}, 'versions_seen': {}}\n"
        "saver.put(config, checkpoint, {'source': 'input', 'step': -1}, {'bird': '1', 'old': '1'})\n"
        "saver.blobs['t', '', 'bird', '1'] = ('msgpack', bird)\n"
        "saver.blobs['t', '', 'old', '1'] = ('pickle', b'cnamed\\nBird\\n.')\n"
    )
    done = ckpt(tmp_path, "show", "t")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Bird" in done.stdout
    assert "a pickle of" in done.stdout
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("tag", ["msgpack", "json"])
def test_bytes_stay(tag: str) -> None:
    """A value that is read and written again has the same bytes, whatever objects it holds."""
    data = {
        "msgpack": JsonPlusSerializer().dumps_typed({"path": Path("/x"), "raw": b"\xff", "deep": [{1, 2}, None]})[1],
        "json": b'{"a": [{"lc": 2, "type": "constructor", "id": ["uuid", "UUID"], "args": ["x"]}]}',
    }[tag]
    serde = InertSerializer()
    assert serde.dumps_typed(serde.loads_typed((tag, data))) == (tag, data)


def test_the_named_one_stays_as_it_is() -> None:
    """The copy shares all of the checkpointer except its serializer; a serializer of the user's own isn't replaced."""

    class Own(JsonPlusSerializer):
        """A serializer of the user's own."""

    saver, other = InMemorySaver(), InMemorySaver(serde=Own())
    assert inert(saver).storage is saver.storage  # type: ignore[attr-defined]
    assert type(saver.serde) is JsonPlusSerializer
    assert inert(other) is other


def test_a_payload_that_lies_about_its_length_is_not_handed_on() -> None:
    """LangGraph's serializer would pass it to whichever decoder is installed."""
    with pytest.raises(ValueError, match="claims more"):
        InertSerializer().loads_typed(("msgpack", b"\xdd\xff\xff\xff\xff" + b"\xc0" * 100))
