"""New branches and answers in threads of LangGraph.js: versions of their own, and sentences that hold there."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from ckpt_cli.app import run
from ckpt_cli.plans.branch_versions import above_other_branches
from ckpt_cli.session import Session
from ckpt_cli.values.decisions import summaries
from ckpt_cli.values.questions import tool_question
from tests.servers.postgres import PostgresServer


def test_one_version_is_above_all_others(database: Callable[[str], Path]) -> None:
    """LangGraph.js goes on from the highest version, so a value's version rises; who had seen the old saw the new."""
    with closing(Session(str(database("legacy/js-1.4.17")))) as session:
        reader = session.reader
        state = reader.state(reader.head("chat").ref)
    body = {
        "channel_values": {"branch:to:a": None, "room": "hall"},
        "channel_versions": {"__start__": 2, "branch:to:a": 2, "room": 2},
        "versions_seen": {"__interrupt__": {"room": 2, "__start__": 1}, "a": {"branch:to:a": 1}},
    }
    assert above_other_branches(body, state, 6) == {
        "channel_versions": {"__start__": 2, "branch:to:a": 2, "room": 7},
        "versions_seen": {"__interrupt__": {"room": 7, "__start__": 1}, "a": {"branch:to:a": 1}},
    }
    assert above_other_branches(body, state, 1) == above_other_branches(body, state, 0) == {}


def versions(url: str) -> dict[str, dict[str, int]]:
    """The channel versions of each checkpoint of the thread."""
    with psycopg.connect(url) as connection:
        sql = "SELECT checkpoint_id, checkpoint->'channel_versions' FROM checkpoints WHERE thread_id = 'chat'"
        return dict(connection.execute(sql + " AND checkpoint_ns = ''").fetchall())


def test_a_new_branch_on_postgres(postgres: PostgresServer, capsys: Any) -> None:
    """After `rollback`, `fork` or `edit` of an earlier checkpoint, the new head has the highest version of all."""
    url = postgres.url(postgres.loaded("legacy/js-pg-1.4.17"))
    earlier = sorted(versions(url))[2]
    for words in (["rollback"], ["fork"], ["edit", "--set", "messages=[]"]):
        verb, *rest = words
        before = versions(url)
        assert run([verb, "chat", earlier, *rest, "--yes", "-d", url]) == 0, capsys.readouterr()
        [new] = [own for name, own in versions(url).items() if name not in before]
        assert max(new.values()) > max(max(own.values()) for own in before.values())


def test_a_call_beside_a_rejected_one() -> None:
    """LangChain.js takes the other calls out of the message as soon as one is rejected; LangChain keeps them."""
    requests = [{"name": "pay", "args": {"amount": 5}}, {"name": "mail", "args": {}}]
    allowed = [{"actionName": one["name"], "allowedDecisions": ["approve", "edit", "reject"]} for one in requests]
    asked = tool_question({"actionRequests": requests, "reviewConfigs": allowed})
    assert asked is not None and asked.javascript
    edit = {"type": "edit", "editedAction": {"name": "pay", "args": {"amount": 99}}}
    dropped = summaries(asked, {"decisions": [edit, {"type": "reject"}]})
    assert dropped == ['edit pay {"amount": 5}: LangChain.js drops it, as another call is rejected', "reject mail {}"]
    assert "calls pay" in summaries(asked, {"decisions": [edit, {"type": "approve"}]})[0]


def test_a_hint_that_leads_somewhere(database: Callable[[str], Path], capsys: Any) -> None:
    """An edit beside finished work doesn't suggest `replay --commit`, which refuses threads of LangGraph.js."""
    path = str(database("legacy/js-1.4.17"))
    hints = []
    with closing(Session(path)) as session:
        threads = [thread.thread_id for thread in session.reader.saver.threads()]
    for thread in threads:
        capsys.readouterr()
        if run(["edit", thread, "--set", "zzz=1", "--create", "--dry-run", "--json", "-d", path]) == 7:
            hints.append(json.loads(capsys.readouterr().err)["error"]["hint"])
    assert any("--rerun lets" in hint for hint in hints) and not any("--commit" in hint for hint in hints)
