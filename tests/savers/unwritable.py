"""`refused_before_planning`: the answers of a database that may not be written, the same on every backend."""

import pytest

from ckpt_cli.app import run


def refused_before_planning(
    url: str, thread: str, words: str, capsys: pytest.CaptureFixture[str], *, shown: bool = True
) -> None:
    """``info``, a dry run (both only if `shown`) and a change before planning show `words`."""
    capsys.readouterr()
    assert run(["log", thread, "-d", url]) == 0
    capsys.readouterr()
    assert run(["info", "-d", url]) == 0
    facts = " ".join(capsys.readouterr().out.split())
    assert (words in facts) is shown
    assert "writing" not in facts.rpartition("supports")[2] or not shown
    assert run(["delete", thread, "-d", url, "--dry-run"]) == 0
    assert (words in capsys.readouterr().err) is shown
    for named in (thread, "nobody's"):  # who looks for the thread first would say that there is none
        assert run(["delete", named, "-d", url, "--yes"]) == 7
        assert words in capsys.readouterr().err
    assert run(["delete", thread, "-d", url]) == 7
    stderr = capsys.readouterr().err
    assert words in stderr and "not confirmed" not in stderr
    assert run(["operations", "-d", url, "--json"]) == 0
    assert '"operations": []' in capsys.readouterr().out
