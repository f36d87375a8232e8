"""``ckpt stats`` counts and measures: its numbers are those of plain SQL and of the real serializer."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import UUID

import ormsgpack
import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.stats import StatsFormat, stats
from ckpt_cli.history.lineage.ids import lowest_id, unix_time
from ckpt_cli.history.state.channels import ERROR, INTERRUPT
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Page
from ckpt_cli.output.printer import render
from ckpt_cli.parameters.conditions import NAMES
from ckpt_cli.parameters.selector import SelectorOptions
from ckpt_cli.queries.fleet_status import FleetStatus, question_text
from ckpt_cli.session import KEY_ENV, Session
from ckpt_cli.views.stats import StatsView
from tests import golden
from tests.databases import DATABASES, KEYS
from tests.graphs.building import Bag, line, on

Database = Callable[[str], Path]
_HOUR = 3600
_KEYS = ormsgpack.OPT_NON_STR_KEYS


def look(path: Path, now: float = golden.NOW, **options: Any) -> StatsView:
    """The view of a database, under a location that is the same everywhere."""
    session = Session(str(path), clock=lambda: now)
    try:
        view = stats(session, **options)
    finally:
        session.close()
    view.location = path.name
    return view


def test_looks(database: Database) -> None:
    """A database with subgraphs, questions and failures; with and without its values."""
    golden.check("stats/real", look(database("real")))
    golden.check("stats/real-values", look(database("real"), values=True, by=["source"]))
    golden.check("stats/js", look(database("js")))


def test_what_is_asked_is_readable_beside_long_names(database: Database) -> None:
    """Ids as applications make them and the nodes of LangChain's middleware leave room for the question and numbers."""
    view = look(database("hitl"))
    named = {one.thread_id: str(UUID(int=n * 0x1234567890ABCDEF1234567)) for n, one in enumerate(view.halted, 1)}
    view.halted = [one._replace(thread_id=named[one.thread_id]) for one in view.halted]
    golden.check("stats/long-names", view)
    lines = [clean_line(line) for line in render(view, Page(80, golden.NOW))]
    assert all(any(name in line for line in lines) for name in named.values())
    assert [line for line in lines if "tool call: delete_user" in line and not line.endswith("…")]


def test_questions_of_one_call_are_counted_by_tool(database: Database) -> None:
    """A question for each call has the call's arguments in its text, and is counted by its tool like the others."""
    texts = [one.text for one in look(database("hitl")).questions]
    assert not [text for text in texts if "requires approval" in text], texts
    approval = {"type": "tool_approval", "name": "send_refund", "args": {"order": 3}, "description": "approve\n3?"}
    assert question_text(approval) == "tool call: send_refund"  # langgraph before 1.2.22 stores no schema


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("question", [[{"pay": 6, "of": {"sku": "a"}}], ["one", 2], 7, 2.5, False, None, [], {}])
def test_a_question_without_keys_has_the_words_of_threads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], question: Any, *, values: bool
) -> None:
    """A list, a number and an empty question look as in ``threads``."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(Bag)
        builder.add_node("ask", lambda _: {"log": [interrupt(question)]})
        builder.add_edge(START, "ask")
        builder.compile(checkpointer=saver).invoke({"log": []}, on("t"))
    [counted] = look(path, values=values).questions
    assert run(["threads", "-d", str(path)]) == 0
    assert f"\task: {counted.text} [" in capsys.readouterr().out


def test_what_a_table_leaves_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 14 threads that wait with 12 questions and 11 that failed, all are counted, named, or said to be more."""

    def halts(state: Bag) -> dict[str, Any]:
        if state["n"] < 0:
            raise ValueError(state["n"])
        return {"log": [interrupt(f"question {state['n'] % 12}?")]}

    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(Bag)
        builder.add_node("halts", halts)
        builder.add_edge(START, "halts")
        graph = builder.compile(checkpointer=saver)
        for n in range(-11, 14):
            with suppress(ValueError):
                graph.invoke({"log": [], "n": n}, {**on(f"t{n}"), "metadata": {"user": f"u{n}"}})
    view = look(path, by=["user"])
    named = Counter(one.status for one in view.halted)
    assert (named["waiting"] + view.more_waiting, named["failed"] + view.more_failed) == (14, 11)
    assert {one.text for one in view.questions} == {f"question {n}?" for n in range(12)}
    assert sum(one.threads for one in view.questions) == 14 and len(view.agents) == 25
    text = "\n".join(clean_line(line) for line in render(view, Page(100, golden.NOW)))
    assert "… 4 more: ckpt threads --status waiting" in text and "… 1 more: ckpt threads --status failed" in text
    assert "… 2 more: --json" in text
    assert run(["stats", "-d", str(path)]) == 0
    assert {"more_waiting\t4", "more_failed\t1"} <= {*capsys.readouterr().out.splitlines()}
    samples = look(path, format_=StatsFormat.OPENMETRICS).samples or []
    assert len([one for one in samples if one.name == "ckpt_threads_by_questions"]) == 10


def test_the_metrics_look_like_openmetrics(database: Database) -> None:
    """Each family has its type and help once, and each label is quoted."""
    path = database("real")
    view = look(path, format_=StatsFormat.OPENMETRICS)
    lines = [
        clean_line(line).replace(str(path), "/data/agents.sqlite") for line in render(view, Page(None, golden.NOW))
    ]
    golden.compare("stats/metrics.piped.txt", lines)
    samples = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r'ckpt_\w+\{\w+="([^"\\]|\\.)*"(,\w+="([^"\\]|\\.)*")*\} [\d.e+]+', one) for one in samples)
    families = [one.split()[2] for one in lines if one.startswith("# TYPE")]
    assert len(families) == len({*families}) and lines[-1] == "# EOF"
    assert {one.partition("{")[0] for one in samples} == {*families}


@pytest.mark.parametrize("name", DATABASES)
def test_counts_and_bytes_are_those_of_the_tables(name: str, database: Database) -> None:
    """Of every generation: records and bytes in all, by channel, by type and by thread."""
    path = database(name)
    view = look(path)
    with sqlite3.connect(path) as tables:
        columns = {row[1] for row in tables.execute("PRAGMA table_info(checkpoints)")}
        metadata = "coalesce(length(CAST(metadata AS BLOB)), 0)" if "metadata" in columns else "0"
        body = f"coalesce(length(CAST(checkpoint AS BLOB)), 0) + {metadata}"
        checkpoints = dict(tables.execute(f"SELECT CAST(thread_id AS TEXT), sum({body}) FROM checkpoints GROUP BY 1"))
        (number,) = tables.execute("SELECT count(*) FROM checkpoints").fetchone()
        try:
            value = "coalesce(length(CAST(value AS BLOB)), 0)"
            writes = tables.execute(f"SELECT CAST(thread_id AS TEXT), channel, {value} FROM writes").fetchall()
        except sqlite3.OperationalError:
            writes = []
    assert (view.threads, view.checkpoints, view.writes) == (len(checkpoints), number, len(writes))
    assert view.bytes == sum(checkpoints.values()) + sum(size for *_, size in writes)
    channels = Counter(channel for _, channel, _ in writes)
    assert {one.name: one.writes for one in view.by_channel if one.writes} == channels
    for table in (view.by_namespace, view.by_node, view.by_type, view.by_period):
        assert sum(one.checkpoints for one in table) == number
        assert sum(one.writes for one in table) == len(writes)
        assert sum(one.bytes or 0 for one in table) == view.bytes
    for thread in view.largest:
        own = [size for thread_id, _, size in writes if thread_id == thread.thread_id]
        assert (thread.writes, thread.bytes) == (len(own), checkpoints[thread.thread_id] + sum(own))


@pytest.mark.parametrize("name", DATABASES)
def test_what_writes_alone_show_is_what_the_heads_show(
    name: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every generation: the threads that wait or failed, their questions and their errors."""
    if name in KEYS:
        monkeypatch.setenv(KEY_ENV, KEYS[name].decode())
    session = Session(str(database(name)), clock=lambda: golden.NOW)
    try:
        reader = session.reader
        quick, slow = FleetStatus(reader, closely=False), FleetStatus(reader, closely=True)
        session.read(lambda _: quick.add(reader.saver.threads_with([INTERRUPT, ERROR])))
        session.read(lambda _: slow.add(reader.saver.threads()))
    finally:
        session.close()
    halted = {status: slow.statuses[status] for status in ("waiting", "failed")}
    assert {status: quick.statuses[status] for status in halted} == halted
    assert (quick.questions, quick.errors) == (slow.questions, slow.errors)


def test_channels_inside_checkpoints_are_measured_as_they_are_encoded(database: Database) -> None:
    """The real serializer's bytes of each channel, and those that are the same as in the checkpoint before."""
    path = database("real")
    view = look(path, values=True)
    with sqlite3.connect(path) as tables:
        columns = "thread_id, checkpoint_ns, checkpoint_id, checkpoint"
        rows = tables.execute(f"SELECT {columns} FROM checkpoints ORDER BY 1, 2, 3").fetchall()
    sizes, repeats = Counter[str](), Counter[str]()
    for _, some in groupby(rows, key=lambda row: row[:2]):
        before: dict[str, bytes] = {}
        for row in some:
            values = ormsgpack.unpackb(row[3], ext_hook=ormsgpack.Ext, option=_KEYS)["channel_values"]
            packed = {channel: ormsgpack.packb(value, option=_KEYS) for channel, value in values.items()}
            for channel, data in packed.items():
                sizes[channel] += len(data)
                repeats[channel] += len(data) if before.get(channel) == data else 0
            before = packed
    assert {one.name: one.bytes for one in view.channels} == dict(sizes)
    assert {one.name: one.repeated_bytes for one in view.channels} == dict(repeats)
    assert view.repeated_bytes == sum(repeats.values()) > 0
    assert view.unread_checkpoints == 0
    assert view.threads == sum((view.done or 0, view.unfinished or 0, view.waiting, view.failed, view.unknown or 0))


def test_a_period_has_the_checkpoints_that_were_made_in_it(database: Database) -> None:
    """By the times in their ids: of each period, of the last hour, and since the newest."""
    path = database("real")
    with sqlite3.connect(path) as tables:
        times = [unix_time(own) or 0.0 for (own,) in tables.execute("SELECT checkpoint_id FROM checkpoints")]
    middle = sorted(times)[len(times) // 2]
    view = look(path, now=middle + _HOUR)
    assert view.rate == sum(1 for when in times if when >= middle)
    for period in view.by_period:
        begin, end = (datetime.fromisoformat(text).timestamp() if text else None for text in (period.begin, period.end))
        made = [when for when in times if when >= (begin or 0.0) and (end is None or when < end)]
        assert period.dated and period.checkpoints == len(made) > 0
    assert lowest_id(middle) == lowest_id(middle)[:18]
    assert look(path, now=max(times) + 90).idle == pytest.approx(90, abs=0.01)


def test_the_selector_chooses_what_is_counted(database: Database) -> None:
    """A thread, or those that fail, alone; the parts add up to the whole."""
    path = database("real")
    whole = look(path)
    with sqlite3.connect(path) as tables:
        ids = [one for (one,) in tables.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1")]
        lost = "thread_id NOT IN (SELECT thread_id FROM checkpoints)"
        statement = f"SELECT coalesce(sum(length(value)), 0) FROM writes WHERE {lost}"
        ((without_checkpoints,),) = tables.execute(statement)
    alone = [look(path, threads=[one]) for one in ids]
    assert sum(one.bytes or 0 for one in alone) + without_checkpoints == whole.bytes
    assert sum(one.waiting for one in alone) == whole.waiting
    assert sum(one.checkpoints for one in alone) == whole.checkpoints
    failed = look(path, selector=SelectorOptions(status=["failed"]))
    assert (failed.threads, failed.failed, failed.selected) == (whole.failed, whole.failed, True)


def test_a_condition_that_does_not_hold_is_named_and_exits_with_1(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that holds is silent; a number that isn't known can't hold; what needs values says so."""
    words = ["stats", "-d", str(database("real"))]
    assert run([*words, "--check", "threads > 0", "--check", "bytes < 10GB"]) == 0
    assert "check failed" not in capsys.readouterr().err
    assert run([*words, "--check", "threads > 0", "--check", "waiting == 99", "--json"]) == 1
    out = capsys.readouterr()
    assert "check failed: waiting == 99 (it is " in out.err
    assert [one["holds"] for one in json.loads(out.out)["checks"]] == [True, False]
    assert run([*words, "--check", "done > 0"]) == 2
    assert "--values" in capsys.readouterr().err
    assert run([*words, "--check", "done > 0", "--values"]) == 0
    assert run([*words, "--check", "oldest_waiting < 2h"]) == 1
    assert re.search(r"oldest_waiting < 2h \(it is \d+d", capsys.readouterr().err)
    assert run([*words, "--check", "waitng == 0"]) == 2
    assert "did you mean waiting" in capsys.readouterr().err


def test_every_name_of_a_condition_is_a_number_of_the_json() -> None:
    """The names that `--check` takes are fields of the view."""
    view = StatsView("here", False, "bytes")
    assert all(hasattr(view, name) for name in NAMES)


def test_agents_are_counted_by_metadata(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """By any key, as plain SQL counts the heads."""
    path = database("real")
    assert run(["stats", "-d", str(path), "--by", "source", "--json"]) == 0
    agents = {one["value"]: one["threads"] for one in json.loads(capsys.readouterr().out)["agents"]}
    with sqlite3.connect(path) as tables:
        heads = tables.execute(
            "SELECT json_extract(CAST(metadata AS TEXT), '$.source'), max(checkpoint_id) FROM checkpoints"
            " WHERE checkpoint_ns = '' GROUP BY thread_id"
        ).fetchall()
    assert agents == Counter(source for source, _ in heads)


def test_an_empty_answer_is_no_error(tmp_path: Path, database: Database) -> None:
    """A selection of no threads has zeros, and nothing is unknown that is known of nothing."""
    view = look(database("real"), selector=SelectorOptions(match="no such thread"))
    assert (view.threads, view.checkpoints, view.bytes, view.waiting, view.oldest_waiting) == (0, 0, 0, 0, 0.0)
    assert view.agents == []


def test_a_failure_in_a_subgraph_has_its_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `log` and `show` do, `stats` names the node inside that failed, also where it reads every head."""

    def fails(_: Bag) -> None:
        raise ValueError("down")

    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for name, nodes in {
            "outer": {"desk": line(None, "load", nodes={"load": fails})},
            "own": {"desk": fails},
        }.items():
            with pytest.raises(ValueError, match="down"):
                line(saver, "desk", nodes=nodes).invoke({"log": []}, on(name))
    for words in ([], ["--values"]):
        assert run(["stats", *words, "-d", str(path), "--json"]) == 0
        view = json.loads(capsys.readouterr().out)
        assert {(one["node"], *one["inside"]) for one in view["errors"]} == {("desk", "load"), ("desk",)}
        assert {one["thread_id"]: one["inside"] for one in view["halted"]} == {"outer": ["load"], "own": []}
    assert run(["stats", "-d", str(path)]) == 0
    assert "desk › load" in capsys.readouterr().out
