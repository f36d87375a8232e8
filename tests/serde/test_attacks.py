"""Payloads that made LangGraph itself run code: here they are looked at whole, and nothing happens."""

import json
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values import langgraph_values
from ckpt_cli.values.jsonform import to_json
from tests.serde.samples import parts

MARK = "ckpt-was-here"


def packed(code: int, *fields: Any) -> Payload:
    """One object as msgpack stores it."""
    return Payload("msgpack", ormsgpack.packb({"x": [ormsgpack.Ext(code, ormsgpack.packb(list(fields)))]}))


def json_payload(envelope: dict[str, Any]) -> Payload:
    """One envelope as JSON stores it."""
    return Payload("json", json.dumps({"x": [envelope]}).encode())


def lc2(*path: str, **rest: Any) -> Payload:
    """A constructor envelope."""
    return json_payload({"lc": 2, "type": "constructor", "id": list(path), **rest})


ATTACKS = {
    # CVE-2025-64439: constructors in JSON mode, any importable callable
    "json os.system": lc2("os", "system", args=[f"touch {MARK}"]),
    "json eval": lc2("builtins", "eval", args=["__import__('os').system('id')"]),
    "json keyword arguments": lc2("subprocess", "run", kwargs={"args": ["touch", MARK]}),
    # CVE-2026-28277: objects built from msgpack
    "msgpack single": packed(0, "builtins", "eval", f"open('{MARK}', 'w')"),
    "msgpack positional": packed(1, "os", "system", [f"touch {MARK}"]),
    "msgpack keywords": packed(2, "subprocess", "Popen", {"args": ["touch", MARK]}),
    "msgpack method": packed(3, "pathlib", "Path", MARK, "touch"),
    "msgpack pydantic v1": packed(4, "os", "_wrap_close", {"stream": 1}),
    "msgpack pydantic v2": packed(5, "webbrowser", "open", {"url": "file:///"}, "construct"),
    "msgpack nested": packed(0, "builtins", "set", [ormsgpack.Ext(1, ormsgpack.packb(["os", "system", ["id"]]))]),
    "msgpack module with side effects": packed(0, "antigravity", "fly", None),
    "msgpack array of objects": packed(6, "|O", [1], "C", b"\0" * 8),
    # CVE-2026-27794: pickles where a cache or a fallback loads them
    "pickle": Payload("pickle", f"cos\nsystem\n(S'touch {MARK}'\ntR.".encode()),
    "untagged pickle": Payload("", b"\x80\x02cos\nsystem\nX\x02\0\0\0id\x85R."),
    # CVE-2026-48775: a method named by the payload is called
    "json method": lc2("pathlib", "Path", method="touch", args=[MARK]),
    "json methods": lc2("builtins", "object", method=[None, "__subclasses__"], args=[]),
    # LangChain's own objects, and secrets that name environment variables
    "json lc1": json_payload({"lc": 1, "type": "constructor", "id": ["langchain", "llms", "Bash"], "kwargs": {"x": 1}}),
    "json secret": json_payload({"lc": 1, "type": "secret", "id": ["HOME"]}),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_is_imported_opened_or_run(
    name: str, watch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoding, looking into everything and printing raise no audit event at all, and leave no file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", MARK)
    with watch() as events:
        value = Codec().decode(ATTACKS[name])
        for part in parts(value):
            langgraph_values.text(part)
            langgraph_values.message(part)
            langgraph_values.interrupts(part)
        shown = to_json(value)
    assert events == []
    assert not list(tmp_path.iterdir())
    if name == "json secret":
        assert MARK not in json.dumps(shown)


def test_the_watch_sees_what_it_is_for(watch: Any, tmp_path: Path) -> None:
    """The hook notes an open, an import, a compile and a pickle's global, so that its silence means something."""
    import pickle

    with watch() as events:
        (tmp_path / "file").write_text("")
        compile("1", "x", "eval")
        with pytest.raises(ModuleNotFoundError):
            __import__("no_such_module_of_ours")
        pickle.loads(b"cbuiltins\nlen\n.")
    assert {"open", "compile", "import", "pickle.find_class"} <= {event for event, _ in events}
