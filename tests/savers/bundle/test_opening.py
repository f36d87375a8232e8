"""A bundle is opened where it is named, by its first bytes; it is never found, and never changed."""

from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance.records import checkpoint
from tests.savers.bundle.making import make_bundle


@pytest.mark.parametrize("name", ["some.ckpt", "some.db", "some"])
def test_a_bundle_is_known_by_its_bytes(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its name is, it opens as a bundle."""
    path = make_bundle(tmp_path / name, [checkpoint("support-42", "1")])
    assert run(["threads", "-d", str(path)]) == 0
    assert "support-42" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["some.ckpt", "some.db"])
def test_no_bundle_is_found(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `--db`, a folder with a bundle has no database, and one with a database has one."""
    monkeypatch.chdir(tmp_path)
    make_bundle(tmp_path / name, [checkpoint("t", "1")])
    assert run(["threads"]) == 2
    assert run(["demo"]) == 0
    assert run(["threads"]) == 0
    assert "database: ckpt-demo.sqlite" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["delete", "t", "--yes"], ["fork", "t", "@", "--yes"], ["rollback", "t", "@", "--yes"]]
)
def test_a_bundle_is_not_changed(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change is refused as one that this kind of database can't do, and no byte differs."""
    path = make_bundle(tmp_path / "some.ckpt", [checkpoint("t", "1")])
    before = path.read_bytes()
    assert run([*words, "-d", str(path)]) == 6
    assert "bundle can't be written" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["some.ckpt"]
