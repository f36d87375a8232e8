"""``ckpt threads`` lists threads and the status of each."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.errors import UsageError
from ckpt_cli.history.state import titles
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.output.text.brief import brief
from ckpt_cli.parameters.statuses import StatusOption
from tests import golden
from tests.commands.asking import look
from tests.commands.listing import threads
from tests.databases import DATABASES, KEYS

Database = Callable[[str], Path]


@pytest.mark.parametrize("name", ["real", "js", "legacy/py-0.2.60", "legacy/py-0.0.26", "legacy/py-upgraded"])
def test_looks(name: str, database: Database) -> None:
    """The first screen of a database: ids, activity, status, what each thread was about."""
    view, _ = look(database(name), lambda session: threads(session, limit=20))
    golden.check(f"threads/{name.replace('/', '-')}", view)


@pytest.mark.parametrize("status", [StatusOption.WAITING, StatusOption.FAILED, StatusOption.STUCK])
def test_who_waits_and_what_failed(status: StatusOption, database: Database) -> None:
    """The question with its interrupt id, or the error, and how to look."""
    view, _ = look(database("real"), lambda session: threads(session, status=[status]))
    golden.check(f"threads/{status.value}", view)


def test_wide_shows_every_column(database: Database) -> None:
    """``--wide`` adds subgraphs, size, head, beginning and metadata."""
    view, said = look(database("real"), lambda session: threads(session, sort="size", limit=8, wide=True))
    golden.check("threads/wide", view)
    assert said == ["sorting by size looks at every thread"]


@pytest.fixture
def found(database: Database) -> Callable[..., list[str]]:
    """The ids that are listed."""
    path = database("real")

    def give(**options: Any) -> list[str]:
        return [one.thread_id for one in look(path, lambda session: threads(session, **options))[0].threads]

    return give


def test_filters_choose_threads(found: Callable[..., list[str]]) -> None:
    """By status, part or pattern of the id, age, and an expression over metadata and state."""
    assert found(status=[StatusOption.FAILED]) == ["error-sibling"]
    assert found(status=[StatusOption.UNFINISHED]) == ["breakpoint-before", "forks"]
    assert found(match="MULTI-") == ["interrupt-multi-resumed", "interrupt-multi-partial"]
    assert found(match="subgraph*") == ["subgraph-stateful", "subgraph-resumed", "subgraph-interrupted", "subgraphs"]
    assert found(since="2025-06-15") == ["long-1000"]
    assert found(where='plan == "pro" and beta') == ["chat-linear"]
    assert found(where='source == "update" and len(messages) > 10') == ["chat-linear"]
    assert found(where='status == "waiting" and "flow" in next') == ["functional"]
    assert found(where='thread_id == "forks" and values.turn == 0 and metadata.step == 1') == ["forks"]


@pytest.mark.parametrize("name", [name for name in DATABASES if name not in KEYS])
def test_a_status_misses_no_thread(name: str, database: Database) -> None:
    """Those found by the marks on their heads are those that have the status in the whole list."""
    path = database(name)
    everything = list(look(path, lambda session: threads(session, limit=10**6))[0].threads)
    for status in (StatusOption.WAITING, StatusOption.FAILED):
        view, _ = look(path, lambda session, status=status: threads(session, status=[status], limit=10**6))  # type: ignore[misc]
        fitting = [one.thread_id for one in view.threads]
        assert fitting == [one.thread_id for one in everything if status in one.statuses]
        view, _ = look(path, partial(threads, where=f"'{status}' in statuses", limit=10**6))
        assert fitting == [one.thread_id for one in view.threads]


WHERE = [
    'metadata.source == "loop"',
    'source == "update"',
    '"pro" == plan and beta',
    'user_id == "小明"',
    'metadata.plan == "nobody"',
    'topic == "cats" and step > 0',
    'len(messages) > 2 and metadata.source == "loop"',
    "step == 1",
    "metadata.step == 2.0 and step > 0",
    "metadata.beta == 1 and True == beta",
    "turn == 1",
]


@pytest.mark.parametrize("name", [name for name in DATABASES if name not in KEYS])
def test_a_filter_misses_no_thread(name: str, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The heads that the database chooses have all the threads that fit, and the complaints are the same."""

    def answer(where: str) -> tuple[list[str], list[str]]:
        view, said = look(path, lambda session: threads(session, where=where))
        return [one.thread_id for one in view.threads], said

    path = database(name)
    quick = list(map(answer, WHERE))
    monkeypatch.setattr("ckpt_cli.history.state.filters.required_term", lambda _: None)
    for (found, said), (all_that_fit, remarks) in zip(quick, map(answer, WHERE), strict=True):
        assert found == all_that_fit
        if not any("can't be read" in line for line in remarks):  # a head that nobody needs isn't read
            assert [o for o in said if o.startswith("--where")] == [o for o in remarks if o.startswith("--where")]


def test_every_status_of_a_thread_is_an_option(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """One that an old thread has as well, of those listed and of those deleted."""
    where = ["-d", str(database("legacy/py-0.2.60"))]
    assert run(["threads", *where, "--json"]) == 0
    statuses = {one["thread_id"]: one["status"] for one in json.loads(capsys.readouterr().out)["threads"]}
    assert set(statuses.values()) - {None} <= {status.value for status in StatusOption}
    unknown = [thread_id for thread_id, status in statuses.items() if status == "unknown"]
    assert unknown
    assert run(["threads", *where, "--status", "unknown"]) == 0
    assert [row.split("\t")[0] for row in capsys.readouterr().out.splitlines()] == unknown
    assert run(["delete", *where, "--status", "unknown", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith(f"delete of {len(unknown)} thread")


def test_order_and_limit(found: Callable[..., list[str]]) -> None:
    """The default order is newest first; a limit of 0 is no limit."""
    assert found(limit=2) == ["long-1000", "small-199"]
    assert found(sort="checkpoints", limit=3) == ["long-1000", "chat-linear", "forks"]
    assert found(sort="step", limit=2) == ["long-1000", "chat-linear"]
    assert found(sort="id", limit=2) == sorted(found(limit=0))[:2]
    assert len(found(limit=0)) == 299
    assert found(sort="-id", limit=2) == sorted(found(limit=0), reverse=True)[:2]
    for order in ("activity", "size", "step", "checkpoints"):
        assert found(sort=f"-{order}", limit=0) == found(sort=order, limit=0)[::-1]
    with pytest.raises(UsageError, match="no order 'age'"):
        found(sort="-age")


@pytest.mark.parametrize("order", ["size", "-size", "-checkpoints"])
def test_the_column_of_the_order_is_shown(order: str, database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """Also on a narrow terminal, and ``-`` before a name is no option."""
    view, _ = look(database("real"), lambda session: threads(session, sort=order, limit=3))
    lines = [plain(line) for line in render(view, Page(60, golden.NOW))]
    assert lines[0].startswith("299 threads · the first 3: ")
    assert order.removeprefix("-") in lines[1]
    assert run(["threads", "--sort", order, "-n", "1", "-d", str(database("real"))]) == 0
    assert capsys.readouterr().out


def test_only_as_many_as_there_are(database: Database) -> None:
    """The view knows whether there are more, also if the limit is reached exactly."""
    path = database("real")
    assert look(path, lambda session: threads(session, limit=1))[0].more
    assert not look(path, lambda session: threads(session, match="forks", limit=1))[0].more


def test_a_mistake_in_a_filter_is_named(database: Database) -> None:
    """An expression that can't be parsed or fails on every thread is a usage error; an unknown name gets a remark."""
    path = database("real")
    view, said = look(path, lambda session: threads(session, where="stpe > 1"))
    assert (view.threads, said[0]) == ([], "--where: no thread has 'stpe'")
    with pytest.raises(UsageError, match="column 6"):
        look(path, lambda session: threads(session, where="step = 1"))
    with pytest.raises(UsageError, match="fails on every thread: '>' not supported"):
        look(path, lambda session: threads(session, where="step > 'a'"))
    assert run(["delete", "-d", str(path), "--where", "step > 'a'", "--dry-run"]) == 2


def test_heads_that_cannot_be_read_are_listed(database: Database) -> None:
    """Without the key there is one note and no status, and the list is complete all the same."""
    view, said = look(database("encrypted"), lambda session: threads(session, limit=30))
    assert [one.status for one in view.threads] == [None] * 30
    assert all("key" in (one.problem or "") for one in view.threads)
    assert len(said) == 1
    assert said[0].startswith("30 threads of those shown can't be read: ")


def test_a_filter_tells_of_what_it_could_not_judge(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the key nobody knows who waits, so an empty answer is an error; metadata is never encrypted."""
    path = database("encrypted")
    filters = ({"status": [StatusOption.WAITING]}, 7), ({"where": "len(messages) > 2"}, session_count(path))
    for asked, unreadable in filters:  # a head without a question's write can't wait, whatever it says
        view, said = look(path, lambda session, asked=asked: threads(session, **asked))  # type: ignore[misc]
        assert (view.threads, view.exit_code) == ([], 5)
        assert view.unreadable == unreadable
        assert len(said) == 1 and "can't be read" in said[0]
    assert look(path, lambda session: threads(session, where="step > 40"))[0].threads[0].step == 48
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS["encrypted"].decode())
    view, said = look(path, lambda session: threads(session, status=[StatusOption.WAITING]))
    assert (len(view.threads), view.unreadable, view.exit_code, said) == (7, 0, 0, [])


def session_count(path: Path) -> int:
    """How many threads there are."""
    return look(path, lambda session: session.reader.saver.totals().threads)[0]


@pytest.mark.parametrize("name", DATABASES)
def test_every_thread_of_every_generation_is_listed(
    name: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread is listed once with the number of its checkpoints; a waiting thread has a question."""
    if name in KEYS:
        monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS[name].decode())
    view, _ = look(database(name), lambda session: threads(session, limit=0))
    ids = [one.thread_id for one in view.threads]
    assert ids
    assert len(set(ids)) == len(ids)
    assert all(one.checkpoints >= one.branches > 0 for one in view.threads)
    assert all(one.interrupts for one in view.threads if one.status == "waiting")
    assert all(one.errors for one in view.threads if one.status == "failed")


@pytest.mark.parametrize("given", [[("user", "My order is late")], ("user", "My order is late"), "My order is late"])
def test_a_thread_that_begins_in_short_form_has_its_title_and_words(given: object, tmp_path: Path) -> None:
    """Messages as texts and pairs, as the application gave them; the graph turned them into objects, or never did."""
    graph = StateGraph(MessagesState)
    graph.add_node("bot", lambda _: {"messages": [("ai", "I will look")]})
    graph.add_edge(START, "bot")
    path = tmp_path / "short.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        compiled = graph.compile(checkpointer=saver)
        compiled.invoke({"messages": given}, {"configurable": {"thread_id": "done"}})  # type: ignore[arg-type]
    view, _ = look(path, threads)
    assert [one.title for one in view.threads] == ["My order is late"]
    steps = look(path, lambda session: log(session, "done"))[0].steps
    change_texts = [change.text for step in steps for change in step.changes or ()]
    stored = json.loads(json.dumps(given))  # a pair is a list there
    shown = brief(stored, 100)
    assert change_texts == ["messages +1 “I will look”", "messages +1 “My order is late”", f"messages {shown}"]
    assert titles.from_input({"messages": stored}) == "My order is late"


def test_wide_keeps_room_for_what_a_thread_is_about(database: Database) -> None:
    """Columns go before the title does; on a wide screen all are there."""
    view, _ = look(database("js"), lambda session: threads(session, wide=True))
    heads = {width: plain(list(render(view, Page(width, golden.NOW)))[1]) for width in (80, 100, 200)}
    assert all("about" in head for head in heads.values())
    assert "metadata" in heads[200] and "metadata" not in heads[80]


def test_an_empty_list_says_why(database: Database) -> None:
    """No thread has the status, no thread fits the filters."""
    for options, said in (
        ({"status": [StatusOption.FAILED], "match": "zzz"}, "no thread fits"),
        ({"match": "zzz"}, "no thread fits"),
    ):
        view, _ = look(database("js"), lambda session, options=options: threads(session, **options))  # type: ignore[misc]
        assert [plain(line) for line in render(view, Page(80, golden.NOW))] == [said]


def test_a_cut_list_counts_what_it_lists(database: Database) -> None:
    """The first line says that it is of those shown, where more wait than are listed."""
    for limit, said in ((1, "the first thread that waits for"), (2, "the first 2 threads that wait for"), (0, None)):
        ask = {"status": [StatusOption.WAITING], "limit": limit}
        view, _ = look(database("real"), lambda session, ask=ask: threads(session, **ask))  # type: ignore[misc]
        first = plain(next(iter(render(view, Page(80, golden.NOW)))))
        assert first == f"{said or f'{len(view.threads)} threads wait for'} an answer"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "299 threads · the first 2: 2 done"),
        ({"sort": "id", "match": "small-*"}, "200 threads · the first 2: 2 done"),
        ({"match": "small-*"}, "more than 2 threads · the first 2: 2 done"),
        ({"since": "1990-01-01"}, "more than 2 threads · the first 2: 2 done"),
        ({"status": ["done,failed"]}, "more than 2 threads · the first 2: 2 done"),
    ],
)
def test_all_threads_are_counted_where_that_is_cheap(options: dict[str, Any], line: str, database: Database) -> None:
    """All threads are counted without a filter, and if they were read anyway; each status only in the threads shown."""
    view, _ = look(database("real"), lambda session: threads(session, limit=2, **options))
    assert plain(next(iter(render(view, Page(80, golden.NOW))))) == line


@pytest.mark.parametrize("form", [[], ["--json"], ["--jsonl"]])
def test_a_cut_list_is_announced_in_pipes_and_json(
    form: list[str], database: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Piped or as JSON, stderr says that there are more threads; a whole list is silent."""
    path = str(database("real"))
    assert run(["threads", "-d", path, "--limit", "3", *form]) == 0
    assert "only the first 3 of 299 threads: --limit 0 lists all" in capsys.readouterr().err
    assert run(["threads", "-d", path, "--limit", "0", *form]) == 0
    assert capsys.readouterr().err == ""


def test_metadata_beside_an_unreadable_state(database: Database) -> None:
    """The source and step of a head whose state can't be read are those that `log` shows; filters see them too."""
    path = database("legacy/js-0.2.41")
    (step, *_) = look(path, lambda session: log(session, "values-bigint"))[0].steps
    for where in (None, 'source == "loop" and step == 2 and "parents" in metadata'):
        views = look(path, lambda session, where=where: threads(session, where=where, limit=0))[0].threads  # type: ignore[misc]
        (view,) = (view for view in views if view.thread_id == "values-bigint")
        assert (view.source, view.step, view.status) == (step.source, step.step, None) == ("loop", 2, None)


def test_sorted_by_the_step_that_is_shown(tmp_path: Path) -> None:
    """A fork's id counts a step less than its metadata, which is the step in the list."""
    path = tmp_path / "t.sqlite"
    graph = StateGraph(MessagesState)
    for node, before in (("a", START), ("b", "a")):
        graph.add_node(node, lambda _: {})
        graph.add_edge(before, node)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver)
        for thread_id in ("forked", "copied", "plain"):
            app.invoke({"messages": ["hello"]}, config := {"configurable": {"thread_id": thread_id}})
            if thread_id == "copied":
                app.update_state(app.get_state(config).config, None, as_node="__copy__")
    assert run(["fork", "forked", "@", "--yes", "-d", str(path)]) == 0
    steps = [one.step for one in look(path, lambda session: threads(session, sort="step"))[0].threads]
    assert steps == [3, 3, 2]
    backwards = [one.step for one in look(path, lambda session: threads(session, sort="-step"))[0].threads]
    assert backwards == [2, 3, 3]


def test_a_channel_with_the_name_of_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`values` and `metadata` are the whole, also where the state has a channel of that name."""
    for name in ("values", "metadata"):
        path = str(tmp_path / f"{name}.sqlite")
        schema: Any = TypedDict("schema", {name: list[int], "x": int}, total=False)  # type: ignore[misc]
        with SqliteSaver.from_conn_string(path) as saver:
            graph = StateGraph(schema).add_node("n", lambda _, name=name: {name: [1]}).add_edge(START, "n")
            graph.compile(checkpointer=saver).invoke({"x": 3}, {"configurable": {"thread_id": "t"}})
        key = f'values["x"] == 3 and values["{name}"] == [1] and metadata["step"] == 1'
        assert run(["threads", "--where", key, "-d", path, "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["threads"]) == 1
