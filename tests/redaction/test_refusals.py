"""What can't be redacted is refused, and nothing is written."""

from pathlib import Path

import pytest

from ckpt_cli.app import run
from tests.databases import KEYS, unpacked

DATABASE = "ckpt-demo.sqlite"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with the demo database."""
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--redact", "order.nothing"], 4, "no thread has a value at order.nothing"),
        (["--redact", "[0].content"], 2, "begins with a channel"),
        (["--redact-pattern", "("], 2, "not a regular expression"),
        (["--redact-pattern", "(.|.)+[§¶]$"], 2, "the pattern takes"),
        (["--redact-pattern", "x", "--salt-env", "NO_SALT"], 2, "no salt in $NO_SALT"),
        (["--redact-pattern", "x", "--salt-env", "SHORT"], 2, "can be guessed"),
        (["--salt-env", "SHORT"], 2, "is for --redact"),
        (["--redact-pattern", "support-.*"], 0, ""),
    ],
)
def test_errors_write_nothing(
    options: list[str],
    code: int,
    message: str,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each has its exit code and leaves no file."""
    monkeypatch.setenv("SHORT", "short")
    assert run(["export", "-o", "some.ckpt", *options]) == code
    assert message in capsys.readouterr().err
    assert bool([*here.glob("some.ckpt*")]) == (code == 0)


def test_what_is_encrypted_needs_its_key(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the key nothing is written; with it, the bundle is encrypted as the database is."""
    name = "legacy/py-1.2.22-enc"
    Path("secret.sqlite").write_bytes(unpacked(name))
    command = ["export", "-d", "secret.sqlite", "-o", "some.ckpt", "--only-structure"]
    assert run(command) == 7 and "--key-env" in capsys.readouterr().err and not Path("some.ckpt").exists()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS[name].decode())
    assert run(command) == 0
    assert run(["verify", "-d", "some.ckpt"]) in (0, 1)
    monkeypatch.delenv("LANGGRAPH_AES_KEY")
    capsys.readouterr()
    assert run(["grep", "x", "-d", "some.ckpt"]) == 5
    assert "encrypted" in capsys.readouterr().err


def test_a_redacted_bundle_is_copied_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    """A copy of a redacted bundle says that it is redacted, and isn't mixed with what isn't."""
    assert run(["export", "-o", "some.ckpt", "--redact", "messages.content"]) == 0
    assert run(["export", "-d", "some.ckpt", "-o", "copy.ckpt"]) == 0
    assert run(["info", "-d", "copy.ckpt"]) == 0 and "not a byte-for-byte copy" in capsys.readouterr().out
    assert run(["export", "-d", DATABASE, "-o", "plain.ckpt"]) == 0
    assert run(["export", "-d", "some.ckpt", "-o", "plain.ckpt"]) == 7
    assert run(["export", "-d", DATABASE, "-o", "copy.ckpt"]) == 7
    assert run(["export", "-d", "copy.ckpt", "-o", "more.ckpt", "--redact-pattern", "lamp"]) == 0
    assert run(["info", "-d", "more.ckpt"]) == 0 and "by path, pattern" in capsys.readouterr().out


def test_the_hint_about_a_pattern_names_an_option_only_where_it_is(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only `grep` has -F; elsewhere a backslash helps."""
    words = {"grep": ["("], "show": ["support-42", "before:text:("], "log": ["support-42", "before:text:("]}
    for verb, given in words.items():
        assert run([verb, *given]) == 2
        said = capsys.readouterr().err
        assert ("-F looks for plain text" in said) == (verb == "grep") != ("takes away a sign's meaning" in said)
