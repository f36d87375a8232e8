"""`ckpt copy` with keys: into encrypted databases, out of them, from key to key; plain only if it is asked for."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from ckpt_cli.app import run
from ckpt_cli.conformance.samples import everything
from tests.copying.official import gone_on, records, states
from tests.cross.backend import Backend
from tests.graphs import SCENARIOS
from tests.graphs.building import line, on
from tests.langgraph.places import PLACES, places

KEY = "0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"
NEEDLE = "what nobody may read"
KINDS = [one for one in PLACES if one != "redis"]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two keys in the environment, and none where LangGraph looks for one."""
    monkeypatch.setenv("KEY", KEY)
    monkeypatch.setenv("OTHER", OTHER)
    monkeypatch.delenv("LANGGRAPH_AES_KEY", raising=False)


def encrypted(saver: Any, key: str = KEY) -> Any:
    """The saver, as it is with LangGraph's own encryption."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=key.encode())
    if hasattr(saver, "serializer"):
        saver.serializer.serde = serde
    else:
        saver.serde = serde
    return saver


def copied(*words: str, code: int = 0, capsys: Any) -> Any:
    """What ``copy`` says as JSON, or its error."""
    capsys.readouterr()
    assert run(["copy", *words, "--yes", "--json"]) == code, capsys.readouterr()
    out, err = capsys.readouterr()
    return json.loads(out or err)


def contents(backend: Backend) -> Any:
    with closing(backend.saver()) as saver:
        return everything(saver)


def plain_source(request: pytest.FixtureRequest, *scenarios: str) -> Backend:
    source = places(request, "sqlite")()
    with source.official() as saver:
        line(saver, "a", "b", interrupt_before=["b"]).invoke({"log": [NEEDLE, b"\1", None]}, on("t", tenant="x"))
        for name in scenarios:
            [*_] = SCENARIOS[name](saver)
    return source


@pytest.mark.parametrize("kind", KINDS)
def test_in_and_out_again(request: pytest.FixtureRequest, kind: str, capsys: Any) -> None:
    """The target's own saver goes on with its key; decrypted, everything is what it was; no value was left plain."""
    scenarios = ["deltas"] if kind == "postgres" else []
    source, target, back = plain_source(request, *scenarios), places(request, kind)(), places(request, "sqlite")()
    said = copied(source.url, target.url, "--encrypt-key-env", "KEY", capsys=capsys)
    assert said["done"] == said["selected"] and "encrypted with the key in $KEY" in said["summary"]
    with closing(target.saver()) as saver:
        assert NEEDLE not in repr(everything(saver)) and "+aes" in repr(everything(saver))
    assert copied(source.url, target.url, "--encrypt-key-env", "KEY", capsys=capsys)["changes"] == 0
    copied(target.url, back.url, "--key-env", "KEY", "--decrypt", capsys=capsys)
    if kind == "sqlite":
        assert contents(back) == contents(source)
    with closing(source.saver()) as saver:
        threads = [one.thread_id for one in saver.threads()]
    with source.official() as here, back.official() as again, target.official() as there:
        encrypted(there)
        for thread_id in threads:
            assert records(again, thread_id, "") == records(here, thread_id, "")
            assert records(there, thread_id, "") == records(here, thread_id, "")
        graph, other = (line(saver, "a", "b") for saver in (here, there))
        assert states(other, "t") == states(graph, "t")
        assert gone_on(other, "t") == gone_on(graph, "t")


def test_plain_only_if_asked(request: pytest.FixtureRequest, capsys: Any) -> None:
    """Encrypted bytes stay what they are in the same layout; other layouts refuse them, and name the options."""
    source, same, other = (places(request, kind)() for kind in ("sqlite", "sqlite", "mysql"))
    with source.official() as saver:
        line(encrypted(saver), "a").invoke({"log": [NEEDLE]}, on("t"))
    copied(source.url, same.url, capsys=capsys)
    assert contents(same) == contents(source)
    view = copied(source.url, other.url, code=7, capsys=capsys)
    assert "is encrypted" in view["threads"][0]["problem"] and "--decrypt" in view["threads"][0]["problem"]
    view = copied(source.url, other.url, "--decrypt", code=2, capsys=capsys)
    assert "there is no key in $LANGGRAPH_AES_KEY" in view["error"]["message"]
    view = copied(source.url, other.url, "--decrypt", "--key-env", "OTHER", code=7, capsys=capsys)
    assert "the key doesn't fit" in view["threads"][0]["problem"]
    copied(source.url, other.url, "--decrypt", "--key-env", "KEY", capsys=capsys)
    with source.official() as here, other.official() as there:
        assert records(there, "t", "") == records(encrypted(here), "t", "")


def test_from_key_to_key(request: pytest.FixtureRequest, capsys: Any) -> None:
    """What one key encrypted is encrypted by the other; what is there already is recognized, and another key isn't."""
    source, target = (places(request, "sqlite")() for _ in range(2))
    with source.official() as saver:
        line(encrypted(saver), "a", "b").invoke({"log": [NEEDLE]}, on("t"))
    words = [source.url, target.url, "--key-env", "KEY", "--encrypt-key-env"]
    copied(*words, "OTHER", capsys=capsys)
    with source.official() as here, target.official() as there:
        assert records(encrypted(there, OTHER), "t", "") == records(encrypted(here), "t", "")
    assert copied(*words, "OTHER", capsys=capsys)["changes"] == 0
    assert copied(*words, "KEY", code=7, capsys=capsys)["refused"] == 1


def test_what_is_there_stays_as_it_is(request: pytest.FixtureRequest, capsys: Any) -> None:
    """What the target has isn't decrypted or encrypted anew, and that is said; where it is as asked, nothing is."""
    source, sealed, plain = (places(request, "sqlite")() for _ in range(3))
    with source.official() as saver:
        line(encrypted(saver), "a").invoke({"log": [NEEDLE]}, on("t"))
    decrypts, encrypts = ["--key-env", "KEY", "--decrypt"], ["--key-env", "KEY", "--encrypt-key-env", "KEY"]
    copied(source.url, sealed.url, capsys=capsys)
    copied(source.url, plain.url, *decrypts, capsys=capsys)
    expected = {
        (sealed.url, "decrypted"): "is encrypted there",
        (plain.url, "encrypted"): "is not encrypted there",
        (sealed.url, "encrypted"): "",
        (plain.url, "decrypted"): "",
    }
    for (url, asked), words in expected.items():
        assert run(["copy", source.url, url, *(decrypts if asked == "decrypted" else encrypts), "--yes"]) == 0
        said = capsys.readouterr().err
        assert words in said and ("stays as it is" in said) == bool(words)


@pytest.mark.slow
def test_redis_has_no_encryption(request: pytest.FixtureRequest, capsys: Any) -> None:
    """Its saver stores checkpoints as JSON, so encrypting them is refused before anything is read."""
    target = places(request, "redis")()
    view = copied(plain_source(request).url, target.url, "--encrypt-key-env", "KEY", code=6, capsys=capsys)
    assert "can't be encrypted" in view["error"]["message"]


@pytest.mark.parametrize("key", [None, "short"])
def test_no_database_is_made_without_its_key(
    key: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A wrong use makes nothing that the user didn't get."""
    monkeypatch.delenv("NO_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("NO_KEY", key)
    assert run(["demo", str(tmp_path / "a.sqlite")]) == 0
    target = tmp_path / "b.sqlite"
    assert run(["copy", str(tmp_path / "a.sqlite"), str(target), "--encrypt-key-env", "NO_KEY", "--yes"]) == 2
    assert "$NO_KEY" in capsys.readouterr().err
    assert not target.exists()
