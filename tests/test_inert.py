"""Opening a database runs nothing from it: an audit hook watches every verb read payloads that attack."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ckpt_cli.app import VERBS, run
from tests import hostile

COMMANDS: dict[str, list[list[str]]] = {
    "threads": [["threads", "-n", "0"]],
    "log": [["log", "{thread}"]],
    "tree": [["tree", "{thread}"]],
    "show": [["show", "{thread}"], ["show", "{thread}", "--full"], ["show", "{thread}", "--raw"]],
    "get": [["get", "{thread}", "bad"], ["get", "{thread}", "bad.command"]],
    "diff": [["diff", "{thread}", "@^", "@"], ["diff", "{thread}", "@", "--meta"]],
    "writes": [["writes", "{thread}"]],
    "grep": [["grep", "touch"]],
    "verify": [["verify"]],
    "stats": [["stats"], ["stats", "--values", "--by", "source", "--advise"]],
    "graph": [["graph"], ["graph", "{thread}", "--format", "dot"]],
    "trace": [["trace", "{thread}", "--values"]],
    "blame": [["blame", "{thread}", "bad"], ["blame", "{thread}", "bad", "--history"]],
    "bisect": [["bisect", "{thread}", "--good", "@^", "--bad", "@", "--where", "bad == 1"]],  # `EXPRESSION`
    "watch": [["watch", "{thread}", "--limit", "1"]],
    "info": [["info"]],
    "fork": [["fork", "{thread}", "@", "--dry-run"], ["fork", "{thread}", "@", "--to", "elsewhere", "--dry-run"]],
    "replay": [
        ["replay", "{thread}"],
        ["replay", "{thread}", "--commit", "--dry-run"],
        ["replay", "{thread}", "--to", "@"],
    ],
    "rollback": [["rollback", "{thread}", "@^", "--dry-run"]],
    "resume": [["resume", "{thread}"], ["resume", "{thread}", "--value", "true", "--dry-run"]],
    "edit": [["edit", "{thread}", "--set", "bad=1", "--dry-run"], ["edit", "{thread}", "--unset", "bad", "--dry-run"]],
    "update": [["update", "{thread}", "--values", '{"bad": 1}', "--as-node", "a", "--next", "END", "--dry-run"]],
    "delete": [["delete", "{thread}", "--dry-run"], ["delete", "{thread}", "--after", "@^", "--dry-run"]],
    "prune": [["prune", "{thread}", "--keep-tips", "--dry-run"], ["prune", "{thread}", "--keep-inputs", "--dry-run"]],
    "repair": [["repair", "--answer", "no"], ["repair", "--drop-calls", "--dry-run"]],
    "export": [
        ["export", "{thread}", "-o", "incident.ckpt", "--dry-run"],
        ["export", "{thread}", "-o", "shared.ckpt", "--dry-run", "--skip-refused", "--redact-pattern", "x"],
        ["export", "{thread}", "-o", "shape.ckpt", "--dry-run", "--skip-refused", "--only-structure"],
    ],
    "import": [["import", "{bundle}", "--dry-run", "--skip-refused"]],
    "copy": [["copy", "{database}", "{other}", "--dry-run"]],
    "undo": [["undo", "--dry-run"]],
    "operations": [["operations"]],
    "tag": [["tag", "--list"], ["tag", "{thread}", "--list"]],
}
"""Each verb that opens a database, and how it is asked; ``{thread}`` goes through all threads.

``{other}`` is a second database, ``{bundle}`` a bundle of threads.
"""

WATCHED = """
import io, json, sys, traceback
from contextlib import redirect_stderr, redirect_stdout

from ckpt_cli.app import run

database, other, commands, threads = json.load(sys.stdin)
CALLS = {"os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "subprocess.Popen", "pty.spawn",
         "pickle.find_class", "ctypes.dlopen", "socket.connect", "socket.getaddrinfo", "canary", "code.__new__",
         "os.remove", "os.rename", "os.mkdir", "os.chmod", "shutil.rmtree", "sqlite3.enable_load_extension"}
MAKERS = {"dataclasses", "collections", "enum", "typing", "importlib._bootstrap", "importlib._bootstrap_external"}
found = []

def watch(event, words):
    if event in CALLS:
        found.append(f"{event} {words!r}")
    elif event == "import":
        found.append(f"import {words[0]}")
    elif event == "open" and isinstance(words[1], str) and set(words[1]) & set("wax+"):
        found.append(f"open {words[0]} {words[1]}")
    elif event in ("exec", "compile") and not made():
        found.append(f"{event} {words!r}")

def made():
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__") not in MAKERS:
        if "ckpt_cli" in frame.f_globals.get("__name__", "") and frame.f_code.co_name != "<module>":
            return False
        frame = frame.f_back
    return frame is not None

sys.addaudithook(watch)
codes = []
for words in commands:
    for thread in threads if "{thread}" in words else [None]:
        for form in ([], ["--json"]):
            places = {"{thread}": thread or "", "{database}": database, "{other}": other}
            line = [places.get(word, word.replace("{thread}", thread or "")) for word in words] + form
            line += [] if "{database}" in words else ["-d", database]
            out, err = io.StringIO(), io.StringIO()
            with redirect_stdout(out), redirect_stderr(err):
                code = run(line)
            codes.append((code, " ".join(line), err.getvalue() if code not in (0, 1) else ""))
print(json.dumps([found, codes]))
"""

READ_WITH = {
    *("ckpt_cli", "typer", "rich", "sqlite3", "_sqlite3", "ormsgpack", "xxhash", "Crypto", "jmespath", "simpleeval"),
    *(
        "json",
        "_json",
        "struct",
        "_struct",
        "base64",
        "binascii",
        "codecs",
        "encodings",
        "hashlib",
        "_hashlib",
        "hmac",
        "_blake2",
    ),
    *("pickletools", "pickle", "_pickle", "_compat_pickle", "org"),  # org: what pickle tries for the sake of Jython
    *(
        "decimal",
        "_decimal",
        "numbers",
        "zoneinfo",
        "calendar",
        "_strptime",
        "unicodedata",
        "string",
        "_string",
        "html",
    ),
    *("backports", "compression", "_zstd"),  # Python's zstandard, for bundles
    *("heapq", "_heapq", "bisect", "_bisect", "difflib", "ast", "_ast", "tomllib", "shlex"),
}
"""The modules that reading may import: our own, the codecs' and the engine's, and nothing that a payload names."""

CHANGE_WITH = {"random", "_random", "math", "_sha512", "tempfile", "atexit"}
"""What a plan needs beside: chance for its ids, and a place for rows that are more than memory should hold."""

EXPRESSION = "bad == 1"
"""An expression that a person types. The parser of Python reads it, and never runs it."""

CHANGING = {
    "bisect",
    "tag",
    "repair",
    "fork",
    "replay",
    "rollback",
    "resume",
    "edit",
    "update",
    "delete",
    "prune",
    "copy",
    "import",
    "undo",
}


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the databases, and the canary where Python would find it."""
    folder = tmp_path_factory.mktemp("attack")
    hostile.canary(folder)
    hostile.write(folder / "hostile.sqlite", folder / "MARK")
    hostile.write_untyped(folder / "old.sqlite", folder / "MARK")
    packed = ["export", "-o", str(folder / "hostile.ckpt"), "-d", str(folder / "hostile.sqlite"), "--skip-refused"]
    assert run(packed) == 0
    return folder


def test_every_verb_that_reads_is_watched() -> None:
    """A new verb has to be asked here too, one that changes for its plan; `demo` reads nothing."""
    assert set(COMMANDS) | {"demo"} == set(VERBS)


def watched(folder: Path, database: str, verb: str, threads: list[str]) -> tuple[list[str], list[tuple[int, str, str]]]:
    """What an audit hook saw while a verb read every thread, and how each command line ended."""
    other = "old.sqlite" if database == "hostile.sqlite" else "hostile.sqlite"
    commands = [[word.replace("{bundle}", str(folder / "hostile.ckpt")) for word in words] for words in COMMANDS[verb]]
    question = json.dumps([str(folder / database), str(folder / other), commands, threads])
    quiet = {"PYTHONDONTWRITEBYTECODE": "1"}  # what Python itself compiles is no file of the attack's
    env = {**os.environ, **quiet, "PYTHONPATH": f"{folder}:{Path(__file__).parent.parent}"}
    command = [sys.executable, "-c", WATCHED]
    done = subprocess.run(command, input=question, capture_output=True, encoding="utf-8", env=env, check=False)
    assert done.returncode == 0, done.stderr
    found, codes = json.loads(done.stdout)
    return found, codes


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize("database", ["hostile.sqlite", "old.sqlite"])
def test_nothing_is_run(verb: str, database: str, attack: Path) -> None:
    """No module named by a payload is imported, nothing is called, no file appears, and no verb breaks."""
    mark = attack / "MARK"
    count = len(hostile._pickles(mark))
    threads = list(hostile.payloads(mark)) if database == "hostile.sqlite" else [f"pickle {n}" for n in range(count)]
    found, codes = watched(attack, database, verb, threads)
    known = READ_WITH | CHANGE_WITH if verb in CHANGING else READ_WITH
    parsed = f"compile (b{EXPRESSION!r}, '<unknown>')"
    foreign = [
        event
        for event in found
        if event != parsed and (event.split(" ")[0] != "import" or event.split(" ")[1].split(".")[0] not in known)
    ]
    assert foreign == []
    assert not mark.exists()
    ends = (0, 1, 4, 5, 6, 7) if verb in CHANGING else (0, 1, 4, 5)
    ends = (*ends, 2) if verb == "bisect" else ends  # no checkpoint is bad
    assert [(line, said) for code, line, said in codes if code not in ends] == []
    if database == "hostile.sqlite" and verb not in {
        "bisect",
        "replay",
        "rollback",
        "resume",
        "update",
        "undo",
    }:  # nothing to do here
        whole = 1 if verb == "verify" else 0  # their second steps have no new version, which it finds
        assert any(code == whole for code, _, _ in codes)
    assert Counter(path.name for path in attack.iterdir()) == Counter(
        [f"{hostile.CANARY}.py", "hostile.sqlite", "old.sqlite", "hostile.ckpt"]
    )


def test_the_watch_sees_what_it_should(attack: Path) -> None:
    """The hook itself works: the same payloads, unpickled, wake the canary."""
    [call] = [
        data for data in hostile._pickles(attack / "MARK") if data.startswith(f"c{hostile.CANARY}\ncall".encode())
    ]
    script = f"import pickle, sys; sys.addaudithook(lambda e, w: e == 'canary' and print(*w)); pickle.loads({call!r})"
    command = [sys.executable, "-c", script]
    env = {**os.environ, "PYTHONPATH": str(attack), "PYTHONDONTWRITEBYTECODE": "1"}
    assert (
        subprocess.run(command, capture_output=True, encoding="utf-8", env=env, check=True).stdout
        == "imported\ncalled\n"
    )
