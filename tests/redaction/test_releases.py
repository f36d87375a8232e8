"""Databases of every release of LangGraph: a redacted word isn't in the bundle, or the thread was refused."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.redaction.langgraph_parts import is_library_class
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Node
from tests.databases import DATABASES, KEYS, unpacked
from tests.redaction.reading import contents, found

_REASONS = ("pickle", "can't be decoded", "JSON can't hold")
"""Why threads are refused."""


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database, with its key in the environment."""
    path = tmp_path / "database.sqlite"
    path.write_bytes(unpacked(request.param))
    if request.param in KEYS:
        monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS[request.param].decode())
    return path


def sentences(value: Any) -> Iterator[str]:
    """The texts in a value that have several words."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str) and len(one.split()) > 2:
            yield one
        elif isinstance(one, Node):
            stack.append(one.state)
        elif isinstance(one, dict | list | tuple):
            stack.extend(one.values() if isinstance(one, dict) else one)


def values_at(reader: Reader, ref: Ref) -> dict[str, Any]:
    """The channels of a checkpoint; {} if it can't be decoded."""
    try:
        state = reader.state(ref)
    except PayloadCorrupt:
        return {}
    return {} if state is None else dict(state.values)


def word_of(path: Path, key: bytes | None) -> str:
    """A long word in small letters of a sentence in some head's state."""
    with closing(open_file(path)) as saver:
        reader = Reader(saver, Codec(key))
        texts = [text for thread in saver.threads() for text in sentences(values_at(reader, thread.head))]
    words = {word for text in texts for word in re.findall(r"\b[a-z]{5,}\b", text)}
    return max(sorted(word for word in words if not is_library_class(word)), key=len, default="")


@pytest.mark.parametrize("database", DATABASES, indirect=True)
def test_a_word_is_gone(
    database: Path, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The word is in no byte, and no command finds it; every thread that is there can be read."""
    key = KEYS.get(request.node.callspec.params["database"])
    word = word_of(database, key)
    if not word:
        pytest.skip("no sentence in it")
    for options in (["--redact-pattern", word], ["--only-structure"]):
        path = tmp_path / f"{options[0]}.ckpt"
        capsys.readouterr()
        assert run(["export", "-d", str(database), "-o", str(path), "--skip-refused", "--json", *options]) == 0
        refused = [one["refused"] for one in json.loads(capsys.readouterr().out)["threads"] if one["refused"]]
        assert not refused or all(any(reason in one for reason in _REASONS) for one in refused), refused
        assert found(word, contents(path)) == set()
        assert run(["grep", "-F", word, "-d", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["hits"] == []
        for verb in ("threads", "verify", "stats"):
            assert run([verb, "-d", str(path)]) in (0, 1), verb
