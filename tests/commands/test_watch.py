"""`ckpt watch` on a SQLite file: events, statuses, what ends it, and where it delivers."""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.commands.watch import parse_stops, watch
from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage import ids
from ckpt_cli.model import Ref
from ckpt_cli.output.deliveries import AT_ONCE, Deliveries
from ckpt_cli.parameters.conditions import parse_condition
from ckpt_cli.parameters.selector import SelectorOptions
from ckpt_cli.queries.seen_checkpoints import SeenCheckpoints
from ckpt_cli.queries.watch_counts import NAMED, WatchCounts
from ckpt_cli.savers.redis.events import patterns
from ckpt_cli.session import Session
from ckpt_cli.views.watch import EventView
from tests.commands import support_agent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of the support agent, in which one customer waits."""
    with SqliteSaver.from_conn_string(str(tmp_path / "agent.sqlite")) as saver:
        support_agent._say(
            support_agent.build(saver), support_agent._customer("old", "u-1"), "Refund order 1021, a refund"
        )
    return tmp_path / "agent.sqlite"


def say(path: Path, thread_id: str, text: str) -> None:
    """A customer's message, answered by the real agent."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        support_agent._say(support_agent.build(saver), support_agent._customer(thread_id, "u-2"), text)


@contextmanager
def watching(path: Path, *threads: str, **options: Any) -> Iterator[Any]:
    """A watch that has begun."""
    session = Session(str(path))
    try:
        yield watch(session, list(threads), every=0.1, **options)
    finally:
        session.close()


def test_a_named_thread_that_waits_stops_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The present status of a named thread counts; its question is in the line, and the exit code is 0."""
    assert run(["watch", "old", "--stop-when", "status=waiting", "-d", str(path)]) == 0
    row = capsys.readouterr().out.rstrip("\n").split("\t")
    assert (row[0], row[1], row[2]) == ("old", "status", "waiting")
    assert "Refund 89.00 EUR" in row[7]


@pytest.mark.parametrize("form", ["--json", "--jsonl"])
def test_json_is_an_object_a_line(path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    """Both forms print one event a line, with a row of `log` in it."""
    assert run(["watch", "old", "-n", "1", "-d", str(path), form]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    event = json.loads(line)
    assert set(event) == set(EventView._fields)
    assert (event["event"], event["checkpoint"]["ns"], event["statuses"]) == ("status", "", ["waiting"])


def test_an_answer_and_an_error_are_events_without_a_checkpoint(path: Path) -> None:
    """A status that changes by writes alone is shown once; one that is not asked for is not."""
    from langgraph.types import Command

    with watching(path, "old", limit=3, selector=SelectorOptions(status=["waiting,failed"])) as view:
        assert next(view.events).statuses == ["waiting"]
        support_agent.Crm.up = False
        with SqliteSaver.from_conn_string(str(path)) as saver, pytest.raises(TimeoutError):
            support_agent.build(saver).invoke(
                Command(resume={"approved": True, "by": "dana"}), support_agent._customer("old", "u-1")
            )
        support_agent.Crm.up = True
        failed = next(view.events)
    assert failed.statuses == ["failed"]
    assert "TimeoutError" in failed.text


def test_selected_threads(path: Path) -> None:
    """Only events of threads that fit all options are shown."""
    options = SelectorOptions(match="live*", where='user_id == "u-2"', status=["done"])
    with watching(path, selector=options, limit=1) as view:
        say(path, "other", "Where is order 1050?")
        say(path, "live", "Where is order 1050?")
        (event,) = view.events
    assert (event.thread_id, event.event, event.statuses) == ("live", "checkpoint", ["done"])


def test_conditions_count_what_status_leaves_out(path: Path) -> None:
    """``--status`` chooses what is shown: one that is done ends the watch, and none that waits is counted twice."""
    for stop in ("checkpoints >= 3", "done > 0", "status=done"):
        waiting = SelectorOptions(status=["waiting"])
        with watching(path, selector=waiting, stop_when=[stop], alert=["waiting > 1", "idle > 9s"]) as view:
            say(path, f"live {stop}", "Where is order 1050?")
            assert [event.text for event in view.events] == []
            assert not view.alerted


def test_a_named_thread_is_shown_as_it_is_now(path: Path) -> None:
    """Also where ``--status`` doesn't show such events later."""
    with watching(path, "old", limit=1, selector=SelectorOptions(status=["done"])) as view:
        assert next(view.events).statuses == ["waiting"]


@pytest.mark.parametrize("statement", ["DELETE FROM checkpoints WHERE thread_id = 'gone'", "VACUUM"])
def test_rows_that_get_other_numbers(path: Path, statement: str) -> None:
    """After a deletion or VACUUM, which give used row numbers to new rows, each checkpoint is still shown once.

    So is one with the id of a slow clock.
    """
    say(path, "gone", "Where is order 1050?")
    say(path, "kept", "Where is order 1050?")
    with watching(path) as view:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM checkpoints WHERE thread_id = 'gone'")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("DELETE FROM checkpoints WHERE thread_id = 'kept'")
            connection.execute(statement)
        with SqliteSaver.from_conn_string(str(path)) as saver:
            config = {"configurable": {"thread_id": "slow", "checkpoint_ns": ""}}
            late = {**empty_checkpoint(), "id": ids.lowest_id(time.time() - 3000)}
            saver.put(config, late, {"source": "loop", "step": 1}, {})
        say(path, "new", "Where is order 1050?")
        slow = next(view.events)
        assert (slow.thread_id, slow.checkpoint.checkpoint_id) == ("slow", late["id"])
        shown = [next(view.events)]
        while shown[-1].statuses != ["done"]:
            shown.append(next(view.events))
    with closing(sqlite3.connect(path)) as connection:
        stored = connection.execute(
            "SELECT checkpoint_id FROM checkpoints WHERE thread_id = 'new' ORDER BY 1"
        ).fetchall()
    assert [(event.checkpoint.checkpoint_id,) for event in shown] == stored


def test_an_alert_ends_it_with_exit_code_1(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An alert is an event of its own, the last."""
    assert run(["watch", "old", "--alert", "waiting >= 1", "-d", str(path), "--json"]) == 1
    *_, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (last["event"], last["text"]) == ("alert", "waiting >= 1: waiting is 1")


def test_rates_need_their_time() -> None:
    """A low rate is no alert before its window is over; then it is counted in that window."""
    slow, fast = parse_condition("rate < 1/m", NAMED), parse_condition("rate > 2/m", NAMED)
    hourly = parse_condition("rate < 2/h", NAMED)
    counts = WatchCounts(0.0, [slow, fast, hourly])
    assert counts.holds(slow, 59.0) is None
    assert counts.holds(slow, 60.0) == 0.0
    for second in (61.0, 62.0, 63.0):
        counts.add("t", [], second, is_new=True, between=1.0)
    assert counts.holds(slow, 64.0) is None
    assert counts.holds(fast, 64.0) == 180.0
    assert counts.holds(slow, 124.0) == 0.0
    assert counts.holds(hourly, 1801.0) is None
    assert counts.holds(hourly, 1864.0) == 0.0


def test_what_was_seen_is_bounded() -> None:
    """Beyond the bound the oldest are forgotten, and what is as old as these is no longer new; nothing is new twice."""
    seen = SeenCheckpoints(most=100)
    refs = [Ref("t", "", f"{ids.lowest_id(1_700_000_000 + n)}-8000-000000000000") for n in range(1000)]
    for ref in refs:
        assert seen.is_new(ref)
        seen.add([ref], 0.0)
    assert not any(map(seen.is_new, refs))
    assert len(seen._times) <= 100
    late = Ref("t", "", f"{ids.lowest_id(1_700_000_990.5)}-8000-000000000000")
    assert seen.is_new(late)


def test_the_lowest_id_of_a_time() -> None:
    """An id made at that time isn't lower, one made before it is."""
    assert ids.unix_time(f"{ids.lowest_id(1_700_000_000.25)}-8000-000000000000") == 1_700_000_000.25
    assert ids.lowest_id(1_700_000_000.25) < ids.lowest_id(1_700_000_000.26)


@pytest.mark.parametrize(
    "words",
    [
        ["--stop-when", "status=asleep"],
        ["--stop-when", "status=stuck"],
        ["--alert", "bytes > 1"],
        ["--exec", "no-such-program-at-all"],
        ["--exec", "echo 'open"],
        ["--post", "file:///etc/passwd"],
        ["--post", "ftp://host/x"],
    ],
)
def test_wrong_options(path: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """What can't be meant is refused before anything is read, with a hint or the reason."""
    assert run(["watch", *words, "-d", str(path)]) == 2
    assert not capsys.readouterr().out


def test_an_unknown_thread(path: Path) -> None:
    """A named thread must exist; a pattern also fits threads that come."""
    assert run(["watch", "odl", "-d", str(path)]) == 4


def test_stops() -> None:
    """Statuses and conditions, in both spellings of equality."""
    statuses, conditions = parse_stops(["status=waiting,failed", "status == done", "done >= 3"], 0.0)
    assert statuses == ["waiting", "failed", "done"]
    assert [one.text for one in conditions] == ["done >= 3"]
    with pytest.raises(UsageError):
        parse_stops(["waiting"], 0.0)


EVENT = EventView("alert", None, (), None, 0, "failed > 0: failed is 1", None)


def test_commands_get_the_event_and_are_few_at_once(tmp_path: Path) -> None:
    """Each command reads its event, in words that no shell expands; no more than the bound run at once."""
    script = tmp_path / "note.py"
    script.write_text(
        "import os, sys, pathlib\n"
        "place = pathlib.Path(sys.argv[1])\n"
        "(place / f'run-{os.getpid()}').touch()\n"
        "(place / f'most-{os.getpid()}').write_text(str(len(list(place.glob('run-*')))))\n"
        "(place / f'out-{os.getpid()}').write_text(sys.argv[2] + sys.stdin.read())\n"
        "(place / f'run-{os.getpid()}').unlink()\n"
    )
    import sys

    said: list[str] = []
    deliveries = Deliveries(f"{sys.executable} {script} {tmp_path} '$HOME'", "", said.append)
    for _ in range(AT_ONCE * 2):
        deliveries.send(EVENT)
    deliveries.close()
    outs = [one.read_text() for one in tmp_path.glob("out-*")]
    assert len(outs) == AT_ONCE * 2
    assert all(out.startswith("$HOME{") and json.loads(out.removeprefix("$HOME"))["event"] == "alert" for out in outs)
    assert max(int(one.read_text()) for one in tmp_path.glob("most-*")) <= AT_ONCE
    assert said == []


class _Web(HTTPServer):
    """A web server that gives these answers, one after the other, and keeps what it got."""

    def __init__(self, answers: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.got = answers, list[tuple[str, str, dict[str, Any]]]()


class _Handler(BaseHTTPRequestHandler):
    server: _Web

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers.get("Authorization", ""), json.loads(body)))
        self.send_response(self.server.answers.pop(0))
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("answers", "remark"),
    [([200], ""), ([503, 200], ""), ([302], "HTTP status 302"), ([404], "HTTP status 404")],
)
def test_posts(answers: list[int], remark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event is posted with the URL's login; a busy server is asked again, a redirect is not followed.

    A remark shows neither login nor path.
    """
    monkeypatch.setattr("ckpt_cli.output.deliveries._PAUSE", 0.0)
    web, said = _Web(list(answers)), list[str]()
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    try:
        Deliveries("", f"http://me:s3cret@127.0.0.1:{web.server_port}/T0/pass?x=1", said.append).send(EVENT)
    finally:
        web.shutdown()
        thread.join()
        web.server_close()
    assert [path for path, _, _ in web.got] == ["/T0/pass?x=1"] * len(answers)
    assert {(login, body["text"]) for _, login, body in web.got} == {("Basic bWU6czNjcmV0", EVENT.text)}
    assert said == ([f"http://127.0.0.1:{web.server_port} didn't take an event: {remark}"] if remark else [])


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", []),
        ("Kx", []),
        ("KEA", ["__keyspace@0__:checkpoint*"]),
        ("Kd", ["__keyspace@0__:checkpoint*"]),
        ("Ed", ["__keyevent@0__:json.*"]),
    ],
)
def test_keyspace_events_that_help(flags: str, expected: list[str]) -> None:
    """Messages are used where the server's own setting sends those about documents."""
    assert patterns(flags, 0, ["checkpoint"]) == expected
