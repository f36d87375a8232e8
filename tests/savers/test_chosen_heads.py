"""Threads whose heads the server chooses, in tables of each layout: the same as by reading every head."""

import pytest

from ckpt_cli.app import run

TABLES = [
    *(("postgres", name) for name in ("pg", "pg-shallow", "legacy/pg-shallow-0.2.76", "legacy/js-pg-0.2.41")),
    *(("mysql", name) for name in ("mysql", "mysql-shallow")),
]
WORDS = [
    ["--status", "waiting"],
    ["--status", "failed"],
    ["--where", 'metadata.source == "loop"'],
    ["--where", 'source == "update" and step > 0'],
    ["--where", "step == 2"],
    ["--where", "metadata.step == True"],
    ["--where", "turn == 1.0"],
]


@pytest.mark.parametrize(("kind", "name"), TABLES)
def test_the_same_threads(
    request: pytest.FixtureRequest,
    kind: str,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By status and by metadata."""
    server = request.getfixturevalue(kind)
    url, found = server.url(server.loaded(name)), []
    for is_quick in (True, False):
        if not is_quick:
            monkeypatch.setattr("ckpt_cli.history.state.filters.required_term", lambda _: None)
            monkeypatch.setattr("ckpt_cli.queries.thread_prefilter._MARKS", {})
        for words in WORDS:
            assert run(["threads", *words, "-d", url, "--json"]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
