"""Errors that occur only where nothing is set up before the first checkpoint."""

import pytest

from ckpt_cli.app import run
from tests.servers.redis import Server


def test_no_checkpoints(valkey_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """Other programs' keys are no checkpoint database; a database without keys may be one, and AgentCore's keys are."""
    url = valkey_server.empty()
    assert run(["threads", "-d", url]) == 0
    capsys.readouterr()
    with valkey_server.client() as client:
        client.set("something", "else")
        assert run(["threads", "-d", url]) == 3
        assert "no LangGraph checkpoints" in capsys.readouterr().err
        assert client.keys("*") == [b"something"]
        client.rpush("agentcore:session:s:a:checkpoints", "1")
        assert run(["threads", "-d", url]) == 0
        assert run(["info", "-d", url]) == 0
        assert "AgentCore" in capsys.readouterr().out
