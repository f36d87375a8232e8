"""The log is for its owner alone, also where it was there before, and is never reached through somebody's link."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.errors import CkptError, Failed
from ckpt_cli.model import Plan
from ckpt_cli.operations import tags
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.output.editor import Draft
from ckpt_cli.savers.memory import MemorySaver


@pytest.fixture
def log(tmp_path: Path) -> Iterator[OperationLog]:
    """A log that doesn't exist yet."""
    with closing(OperationLog(tmp_path / "state" / "ckpt" / "x" / "log.sqlite")) as made:
        yield made


def change(log: OperationLog) -> None:
    with log.exclusive(needed=True):
        apply(MemorySaver([checkpoint("other", "0")]), log, Plan("", (checkpoint("t", "1"),)), at=1.0)


def modes(log: OperationLog) -> list[int]:
    """Of the file, its lock, its folder, the folder of all logs."""
    places = (log.path, log.path.with_name("lock"), log.path.parent, log.path.parent.parent)
    return [stat.S_IMODE(place.stat().st_mode) for place in places]


@pytest.mark.parametrize("umask", [0, 0o077])
def test_what_is_open_to_others_is_closed(log: OperationLog, umask: int) -> None:
    """Folders of mode 700 and files of mode 600, whatever they were before; the folder above is nobody's business."""
    was = os.umask(umask)
    try:
        change(log)
        assert modes(log) == [0o600, 0o600, 0o700, 0o700]
        above = log.path.parents[2]
        for place, mode in ((log.path, 0o644), (log.path.with_name("lock"), 0o666), (log.path.parent, 0o755)):
            place.chmod(mode)
        log.path.parent.parent.chmod(0o777)
        above.chmod(0o755)
        log.close()
        change(log)
        assert modes(log) == [0o600, 0o600, 0o700, 0o700]
        assert stat.S_IMODE(above.stat().st_mode) == 0o755
    finally:
        os.umask(was)


@pytest.mark.parametrize("linked", ["log.sqlite", "lock", ""], ids=["file", "lock", "folder"])
@pytest.mark.parametrize("dangling", [False, True])
def test_links_are_refused(log: OperationLog, tmp_path: Path, linked: str, dangling: bool) -> None:
    """A link in place of the file, its lock or its folder is refused; what it points at stays as it is."""
    target = tmp_path / "target"
    place = log.path.with_name(linked) if linked else log.path.parent
    place.parent.mkdir(parents=True)
    if not dangling:
        target.write_bytes(b"mine") if linked else target.mkdir()
    place.symlink_to(target)
    with pytest.raises(Failed, match="nothing was written"):
        change(log)
    if linked == "log.sqlite" and not dangling:
        with pytest.raises(CkptError, match="is a symbolic link; put the real file in its place"):
            tags.read_tags(log)
    assert target.exists() is not dangling
    if not dangling:
        assert target.read_bytes() == b"mine" if linked else not list(target.iterdir())


def test_links_above_are_the_persons_own(log: OperationLog, tmp_path: Path) -> None:
    """The folder of all logs, and those above it, may be links that the person made."""
    for place in (log.path.parents[1], log.path.parents[2]):
        (tmp_path / f"real-{place.name}").mkdir()
        if place == log.path.parents[2]:
            place.unlink(missing_ok=True)
            place.symlink_to(tmp_path / f"real-{place.name}")
    log.path.parents[1].symlink_to(tmp_path / "real-ckpt")
    change(log)
    assert (tmp_path / "real-ckpt" / "x" / "log.sqlite").exists()


def test_a_draft_is_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the editor puts another file in its place: it is in a folder of mode 700, which goes with it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\numask 0; echo "{}" > "$1.new"; mv "$1.new" "$1"\n')
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(script))
    draft = Draft('{"a": 1}', "thread")
    assert stat.S_IMODE(draft.path.stat().st_mode) == 0o600
    assert draft.edit() == "{}\n"
    assert draft.worth_keeping
    assert stat.S_IMODE(draft.path.parent.stat().st_mode) == 0o700
    draft.discard()
    assert [one.name for one in tmp_path.iterdir()] == ["editor"]
