"""``ckpt edit``: by paths, by patches and in an editor; what isn't touched keeps its bytes."""

import io
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckpt_cli.app import run
from ckpt_cli.errors import NotSupported
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Payload
from ckpt_cli.plans import edit
from ckpt_cli.plans.mint import Mint
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.same import same
from tests.commands.stored import database as stored
from tests.databases import KEYS
from tests.hostile import IDS

Ckpt = Callable[..., Any]


def ext(code: int, *parts: bytes) -> bytes:
    """An extension of the library's, of parts that are msgpack already."""
    return ormsgpack.packb(ormsgpack.Ext(code, bytes([0x90 | len(parts)]) + b"".join(parts)))


FLOAT = b"\xca\x3f\x80\x00\x00"  # 1.0 in 32 bits, as nobody here would write it
WIDE = b"\xdb\x00\x00\x00\x02hi"  # a text with a header that is longer than needed
UNKNOWN = ext(5, b"\xa6nobody", b"\xa5Ghost", b"\x83\xa2id\xa1g\xa1f" + FLOAT + b"\xa1t" + WIDE, b"\xa1m")
OPAQUE = ormsgpack.packb(ormsgpack.Ext(99, b"who knows"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A thread ``t`` with values of classes that don't exist here, written in an odd way."""
    raw = {"odd": ormsgpack.Fragment(b"\x91" + FLOAT), "ghost": ormsgpack.Fragment(UNKNOWN)}
    ghosts = ormsgpack.Fragment(b"\x93" + UNKNOWN + WIDE + OPAQUE)
    return stored(tmp_path / "t.sqlite", n=1, text="old", ghosts=ghosts, opaque=ormsgpack.Fragment(OPAQUE), **raw)


@pytest.fixture
def ckpt(path: Path, capsys: pytest.CaptureFixture[str]) -> Ckpt:
    """Runs ``ckpt edit t`` and gives its JSON."""

    def go(*words: str, code: int = 0, thread: str = "t") -> Any:
        assert run(["edit", thread, *words, "-d", str(path), "--json", "--yes"]) == code
        out = capsys.readouterr().out
        return json.loads(out) if out else {}

    return go


def bodies(path: Path, thread: str = "t") -> list[tuple[str, bytes]]:
    """Tags and bytes of all checkpoints of a thread, oldest first."""
    with closing(sqlite3.connect(path)) as connection:
        statement = "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id"
        return connection.execute(statement, (thread,)).fetchall()


def state(path: Path, thread: str = "t") -> dict[str, Any]:
    """What the newest checkpoint holds."""
    tag, data = bodies(path, thread)[-1]
    values: dict[str, Any] = Codec().decode(Payload(tag, data))["channel_values"]
    return values


def test_what_is_not_touched_keeps_its_bytes(ckpt: Ckpt, path: Path) -> None:
    """Objects of unknown classes, extensions nobody knows, and numbers and texts written in an odd way."""
    answer_json = ckpt("--set", "n=2", "--set", 'ghosts[1]="ho"')
    old, new = bodies(path)
    assert old[1] != new[1] and answer_json["applied"]
    for kept in (b"\xa3odd\x91" + FLOAT, b"\xa5ghost" + UNKNOWN, b"\x93" + UNKNOWN + b"\xa2ho" + OPAQUE):
        assert kept in new[1]
    assert b"\xa1n\x02" in new[1] and b"\xa6opaque" + OPAQUE in new[1]


def test_the_fields_beside_an_edited_one_keep_their_bytes(ckpt: Ckpt, path: Path) -> None:
    """Inside an object whose class nobody here knows; its class and method stay as well."""
    ckpt("--set", 'ghost.id="new"', "--set", 'ghosts[0].t="x"')
    first = ext(5, b"\xa6nobody", b"\xa5Ghost", b"\x83\xa2id\xa3new\xa1f" + FLOAT + b"\xa1t" + WIDE, b"\xa1m")
    second = ext(5, b"\xa6nobody", b"\xa5Ghost", b"\x83\xa2id\xa1g\xa1f" + FLOAT + b"\xa1t\xa1x", b"\xa1m")
    assert first in bodies(path)[1][1]
    assert b"\x93" + second + WIDE + OPAQUE in bodies(path)[1][1]


def test_what_is_told(ckpt: Ckpt) -> None:
    """The plan, what it changes, and the config to go on with."""
    answer_json = ckpt("--set", "n=2", "--dry-run", "--reason", "wrong")
    assert answer_json["command"] == "edit" and answer_json["reason"] == "wrong" and not answer_json["applied"]
    assert [row["change"] for row in answer_json["rows"]] == ["add"]
    assert [(one["path"], one["before"], one["after"]) for one in answer_json["changes"]] == [("n", 1, 2)]
    assert answer_json["config"]["configurable"]["checkpoint_id"] > IDS[0]


def test_the_new_checkpoint_is_an_update_that_triggers_nothing(ckpt: Ckpt, path: Path) -> None:
    """Child of the edited one, step + 1, the edited channel's version moved on, ``updated_channels`` null."""
    ckpt("--set", "n=2")
    body = Codec().decode(Payload(*bodies(path)[1]))
    with closing(sqlite3.connect(path)) as connection:
        (parent, metadata) = connection.execute(
            "SELECT parent_checkpoint_id, metadata FROM checkpoints WHERE checkpoint_id = ?", (body["id"],)
        ).fetchone()
    assert (parent, json.loads(metadata)) == (IDS[0], {"source": "update", "step": 0, "parents": {}})
    moved = {channel for channel, version in body["channel_versions"].items() if version > f"{1:032}.0.5"}
    assert moved == {"n"} and body["channel_versions"]["n"].startswith(f"{2:032}.")
    assert body["updated_channels"] is None


def test_an_object_that_becomes_plain_is_told(ckpt: Ckpt) -> None:
    """The graph may not expect it; an object in its typed JSON form stays one."""
    assert "ghost was a nobody.Ghost" in ckpt("--set", "ghost=1", "--dry-run")["notes"][0]
    assert ckpt("--set", 'ghost={"$type": "nobody.Ghost", "id": 2}', "--dry-run")["notes"] == []


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        (['n="2"'], ["n was a number and is text now"]),
        (["n=true", "text=[]"], ["n was a number and is true or false now", "text was text and is a list now"]),
        (["ghost.f={}"], ["ghost.f was a number and is an object now"]),
        (["n=1.5", "text=null", "odd=[]"], []),
        (["odd[0]=true"], ["odd[0] was a number and is true or false now"]),
        (["ghosts[1]=2"], ["ghosts[1] was text and is a number now"]),
        (["odd=[true, true]"], []),
    ],
)
def test_a_value_of_another_kind_is_told(ckpt: Ckpt, words: list[str], notes: list[str]) -> None:
    """Quotes that a shell took away make a number of a text, which nobody meant; null stands for any kind."""
    sets = [part for word in words for part in ("--set", word)]
    assert ckpt(*sets, "--dry-run")["notes"] == notes


def test_nothing_to_change_is_said(ckpt: Ckpt, path: Path) -> None:
    """The same value again writes nothing."""
    answer_json = ckpt("--set", "n=1")
    assert not answer_json["applied"] and not answer_json["rows"] and len(bodies(path)) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--set", "n.x=1"], 4),
        (["--set", "ghost.ide=1"], 4),
        (["--unset", "ghosts[7]"], 4),
        (["--set", "nn=1"], 4),
        (["--set", "n=hello"], 2),
        (["--set", "n"], 2),
        (["--set", "n[=1"], 2),
        (["--set", 'n={"$bytes": "?"}'], 2),
        (["--set", 'n={"a": 1, "a": 2}'], 2),
        (["--set", "n=NaN"], 2),
        (["--set", "n=@nothing.json"], 2),
        (["--set", "n=99999999999999999999999"], 2),
        (["--set", "branch:to:x=null"], 2),
        (["--append", "n=1"], 2),
        (["--patch", "nothing.json"], 2),
    ],
)
def test_what_is_wrong_writes_nothing(ckpt: Ckpt, path: Path, words: list[str], code: int) -> None:
    """Wrong paths are 4, wrong words are 2."""
    ckpt(*words, code=code)
    assert len(bodies(path)) == 1


def test_a_channel_the_thread_never_had_wants_a_word(ckpt: Ckpt, path: Path) -> None:
    """A slip of the pen is no new channel."""
    ckpt("--set", "fresh=1", code=4)
    ckpt("--set", "fresh=1", "--create")
    assert state(path)["fresh"] == 1


def test_values_from_files_and_paths_with_signs(ckpt: Ckpt, path: Path, tmp_path: Path) -> None:
    """``@FILE``, and keys that hold an equals sign."""
    file = tmp_path / "value.json"
    file.write_text('{"a=b": [1]}')
    ckpt("--set", f"n=@{file}")
    ckpt("--append", 'n["a=b"]=2', "--set", 'text="x=y"')
    assert state(path)["n"] == {"a=b": [1, 2]} and state(path)["text"] == "x=y"


def test_unset_channels_are_gone_with_their_versions(ckpt: Ckpt, path: Path) -> None:
    """So that no walk to the ancestors finds what they held."""
    ckpt("--unset", "n")
    body = Codec().decode(Payload(*bodies(path)[1]))
    assert "n" not in body["channel_values"] and "n" not in body["channel_versions"]


SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=5)
ANY = st.recursive(
    SCALARS | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=10,
)


@given(first=st.lists(ANY, min_size=2, max_size=2), second=st.lists(ANY, min_size=2, max_size=2))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_diff_gives_edit_takes(
    first: list[Any], second: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``diff a b --json`` applied to a gives b, whatever they hold."""
    path, patch = tmp_path / "any.sqlite", tmp_path / "patch.json"
    path.unlink(missing_ok=True)
    stored(path, a=first[0], b=first[1])
    capsys.readouterr()
    words = [f"--set={channel}={json.dumps(to_json(value))}" for channel, value in zip("ab", second, strict=True)]
    assert run(["edit", "t", *words, "-d", str(path), "--yes"]) == 0
    if len(bodies(path)) == 1:
        return
    wanted = state(path)
    capsys.readouterr()
    assert run(["diff", "t", "-d", str(path), "--json"]) == 0
    patch.write_text(capsys.readouterr().out)
    assert run(["edit", "t", IDS[0], "--patch", str(patch), "-d", str(path), "--yes"]) == 0
    assert same(state(path), wanted)


def test_a_patch_on_the_command_line(ckpt: Ckpt, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The JSON itself is a patch, unless a file is called so."""
    monkeypatch.chdir(tmp_path)
    ckpt("--patch", '[{"op": "replace", "path": "/n", "value": 2}]')
    assert state(path)["n"] == 2
    (tmp_path / "[]").write_text('{"patch": [{"op": "replace", "path": "/n", "value": 3}]}')
    ckpt("--patch", "[]")
    assert state(path)["n"] == 3
    ckpt("--patch", "[{", code=2)


def test_a_patch_from_stdin(ckpt: Ckpt, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--patch -``; a test that fails refuses all of it."""
    operations = [{"op": "test", "path": "/n", "value": 1}, {"op": "replace", "path": "/n", "value": 5}]
    for code in (0, 7):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(operations).encode())))
        ckpt("--patch", "-", code=code)
    assert state(path)["n"] == 5 and len(bodies(path)) == 2


@pytest.mark.parametrize("name", KEYS)
def test_encrypted_states_stay_encrypted(
    name: str, database: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plaintext of what isn't touched is the same to the byte; without the key nothing is edited."""
    path = database(name)
    with closing(sqlite3.connect(path)) as connection:
        ((thread,),) = connection.execute("SELECT min(thread_id) FROM checkpoints WHERE checkpoint_ns = ''")
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS[name].decode())
    assert run(["show", thread, "-d", str(path), "--json"]) == 0
    channels = json.loads(capsys.readouterr().out)["channels"]
    channel = next(c for c, view in channels.items() if isinstance(view["value"], str | int | list))
    words = ["edit", thread, "-d", str(path), "--yes", "--rerun", "--set", f'{channel}="EDITED"']
    assert run(words) == 0
    codec, (tag, data) = Codec(KEYS[name]), bodies(path, thread)[-1]
    assert tag == "msgpack+aes" and b"EDITED" not in data
    old = codec.decode(Payload(*bodies(path, thread)[-2]))["channel_values"]
    new = codec.decode(Payload(tag, data))["channel_values"]
    assert same(new, {**old, channel: "EDITED"})
    monkeypatch.delenv("LANGGRAPH_AES_KEY")
    assert run(words) == 5


LEGACY = ["legacy/py-0.0.69", "legacy/py-0.2.60", "legacy/py-0.3.21", "legacy/js-0.2.41", "legacy/js-1.4.17", "js"]


def raw(body: Payload) -> Any:
    """A checkpoint as plain data, extensions as their bytes."""
    if body.data[:1] == b"{":
        return json.loads(body.data)
    return ormsgpack.unpackb(body.data, ext_hook=lambda *ext: ext, option=ormsgpack.OPT_NON_STR_KEYS)


@pytest.mark.parametrize("name", LEGACY)
def test_older_generations_keep_their_form(name: str, database: Callable[[str], Path]) -> None:
    """Same tag, same keys, versions of the same kind; what isn't edited stays as it was written."""
    edits = 0
    with closing(open_file(database(name))) as saver:
        for thread in list(saver.threads()):
            reader = Reader(saver, Codec())
            row = reader.head(thread.thread_id, thread.head.ns)
            old = next(saver.checkpoints([row.ref]))
            values = reader.state(row.ref).values if b"serialize" not in old.body.data[:30] else {}
            channel = next((c for c in ("x", "log", "messages") if isinstance(values.get(c), list)), None)
            if channel is None:
                continue
            try:
                plan = edit.plan(
                    reader, row, {**Inspection(reader, row.ref).values(), channel: "EDITED"}, Mint(), rerun=True
                )
            except NotSupported as error:
                assert "Sends" in error.message
                continue
            edits += 1
            saver.apply(plan)
            new = next(saver.checkpoints([plan.add[0].row.ref]))  # type: ignore[union-attr]
            was, now = raw(old.body), raw(new.body)
            assert now.keys() == was.keys() and new.body.tag == old.body.tag
            assert now["channel_values"].pop(channel) == "EDITED"
            was["channel_values"].pop(channel)
            assert repr(now["channel_values"]) == repr(was["channel_values"])
            assert now["versions_seen"] == was["versions_seen"]
            assert _kinds(now["channel_versions"]) == _kinds(was["channel_versions"])
    assert edits > 3


def _kinds(versions: dict[str, Any]) -> set[str]:
    """Whole numbers, or texts by the length after the dot: a hash has 32 digits, a random number fewer."""
    tails = {v.partition(".")[2] for v in versions.values() if isinstance(v, str)}
    return {type(v).__name__ for v in versions.values()} | {str(len(tail) == 32) for tail in tails if tail}


SCRIPT = """
import os, pathlib, subprocess, sys
path = pathlib.Path(sys.argv[-1])
count = pathlib.Path({count!r})
turn = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (turn + 1))
text = path.read_text()
exec({steps!r}[turn])
path.write_text(text)
"""


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[], int]]:
    """Makes a scripted ``$EDITOR``: each time it opens it runs the next step on ``text``; gives how often it opened."""

    def make(*steps: str) -> Callable[[], int]:
        script, count = tmp_path / "editor.py", tmp_path / "count"
        script.write_text(SCRIPT.format(steps=list(steps), count=str(count)))
        monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
        monkeypatch.setenv("TMPDIR", str(tmp_path / "drafts"))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "drafts"))
        (tmp_path / "drafts").mkdir()
        return lambda: len(count.read_text()) if count.exists() else 0

    return make


def drafts(tmp_path: Path) -> list[Path]:
    """The files that are left."""
    return list((tmp_path / "drafts").glob("*/*"))


REPLACED = 'text = text.replace(\'"text": "old"\', \'"text": "new"\')'


def test_in_the_editor(ckpt: Ckpt, path: Path, editor: Callable[..., Any], tmp_path: Path) -> None:
    """What is saved is the state; what is left alone keeps its bytes; the file is private, and gone afterwards."""
    check = "assert path.suffix == '.json' and os.stat(path).st_mode & 0o777 == 0o600"
    opened = editor(f"{check}\n{REPLACED}")
    answer_json = ckpt()
    assert opened() == 1 and answer_json["applied"] and state(path)["text"] == "new"
    assert b"\xa5ghost" + UNKNOWN in bodies(path)[1][1] and b"\x93" + UNKNOWN + WIDE + OPAQUE in bodies(path)[1][1]
    assert drafts(tmp_path) == []


@pytest.mark.parametrize("step", ["pass", "text = ''", "text = text.replace('  ', ' ')"])
def test_left_as_it_was(ckpt: Ckpt, path: Path, editor: Callable[..., Any], tmp_path: Path, step: str) -> None:
    """Nothing is written, and that is no error."""
    editor(step)
    assert not ckpt()["applied"] and len(bodies(path)) == 1 and drafts(tmp_path) == []


@pytest.mark.parametrize(
    ("mistake", "word"),
    [
        ("text = text.replace('\"old\"', '\"new\",,')", "is no JSON"),
        ('text = text.replace(\'"old"\', \'{"$bytes": "?"}\')', "text:"),
        ("text = text.replace('\"text\"', '\"txet\"')", "no channel 'txet'"),
        ("text = '[]'", "must be a JSON object"),
    ],
)
def test_a_mistake_opens_the_editor_again(
    path: Path,
    editor: Callable[..., Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    mistake: str,
    word: str,
) -> None:
    """The editor opens again with the text and the error."""
    again = "assert 'old' not in text or 'txet' in text\n"
    mended = "import json; text = json.dumps({**json.loads(KEPT), 'text': 'new'})"
    kept = json.dumps(shown(path, capsys))
    opened = editor(mistake, again + mended.replace("KEPT", repr(kept)))
    assert run(["edit", "t", "-d", str(path), "--yes"]) == 0
    assert word in capsys.readouterr().err
    assert opened() == 2 and state(path)["text"] == "new" and drafts(tmp_path) == []


def shown(path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """The typed JSON of the newest state."""
    capsys.readouterr()
    return to_json(state(path))


def test_given_up(path: Path, editor: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Leaving the mistake unchanged ends the edit; the text is kept, and its place is printed."""
    editor("text = text.replace('\"old\"', 'MINE')", "pass")
    assert run(["edit", "t", "-d", str(path), "--yes"]) == 7
    (kept,) = drafts(tmp_path)
    assert "MINE" in kept.read_text() and str(kept) in capsys.readouterr().err and len(bodies(path)) == 1


def test_not_confirmed(
    path: Path, editor: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a yes nothing is written, and nothing that was typed is lost."""
    editor(REPLACED)
    assert run(["edit", "t", "-d", str(path)]) == 7
    (kept,) = drafts(tmp_path)
    assert '"new"' in kept.read_text() and str(kept) in capsys.readouterr().err and len(bodies(path)) == 1


def other_edit(path: Path, assignment: str) -> str:
    """A step in which somebody else edits the same thread meanwhile."""
    words = [sys.executable, "-m", "ckpt_cli", "edit", "t", "--set", assignment, "-d", str(path), "--yes"]
    return f"subprocess.run({words!r}, check=True, capture_output=True)\n"


def test_a_thread_that_moved_on(
    path: Path, editor: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The edits are put onto what it is now, shown again, and both are kept."""
    opened = editor(other_edit(path, "n=7") + REPLACED, 'assert \'"n": 7\' in text and \'"text": "new"\' in text')
    assert run(["edit", "t", "-d", str(path), "--yes"]) == 0
    assert "moved on" in capsys.readouterr().err
    assert opened() == 2 and drafts(tmp_path) == []
    assert state(path)["n"] == 7 and state(path)["text"] == "new" and len(bodies(path)) == 3


def test_edits_that_do_not_fit_any_more(
    path: Path, editor: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error says so, nothing is written, and the text is kept."""
    step = "import json; d = json.loads(text); d['ghosts'][1] = 'MINE'; text = json.dumps(d)"
    editor(other_edit(path, 'ghosts="none"') + step)
    assert run(["edit", "t", "-d", str(path), "--yes"]) == 7
    (kept,) = drafts(tmp_path)
    assert "MINE" in kept.read_text() and "don't fit" in capsys.readouterr().err and len(bodies(path)) == 2


def test_an_editor_that_fails(
    path: Path, editor: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Or isn't there, or isn't named: nothing is written, nothing is left."""
    editor("sys.exit(3)")
    assert run(["edit", "t", "-d", str(path), "--yes"]) == 7
    for named in ("/no/such/editor", "'"):
        monkeypatch.setenv("EDITOR", named)
        assert run(["edit", "t", "-d", str(path), "--yes"]) == 2
    monkeypatch.delenv("EDITOR")
    assert run(["edit", "t", "-d", str(path), "--yes"]) == 2
    assert len(bodies(path)) == 1 and drafts(tmp_path) == []


def test_secrets_are_masked_in_the_editor_and_kept(
    tmp_path: Path, editor: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each stays where its mask stands; one that is written over without a word about it is a mistake."""
    one, two = (ext(0, b"\xa8pydantic", b"\xa9SecretStr", b"\xa3" + word) for word in (b"psh", b"xyz"))
    path = stored(tmp_path / "s.sqlite", keys=ormsgpack.Fragment(b"\x92" + one + two), n=1)
    swap = "import json; d = json.loads(text); d['keys'].reverse(); text = json.dumps(d)"
    opened = editor(f"assert 'psh' not in text and 'xyz' not in text\n{swap.replace('reverse()', 'pop(0)')}")
    assert run(["edit", "t", "-d", str(path), "--yes"]) == 0
    assert b"\xa4keys\x91" + two in bodies(path)[1][1] and opened() == 1
    assert "psh" not in capsys.readouterr().out
