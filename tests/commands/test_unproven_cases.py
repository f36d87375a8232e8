"""Delta channels whose writes do what no stored value shows: a key or an id again, a list as long as none before.

Each reducer here looks like one that ckpt knows as long as nothing of this comes.
"""

import csv
import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.blame import blame
from tests import golden
from tests.commands.asking import at
from tests.graphs.waiting import until_stored

ON: Any = {"configurable": {"thread_id": "t"}}
STEPS = 9
FREQUENCY = 5


def capped(current: list[str], writes: list[list[str]]) -> list[str]:
    """The last six items; an append until the seventh."""
    return [*current, *(item for write in writes for item in write)][-6:]


def appended(current: list[str], writes: list[list[str]]) -> list[str]:
    """A list that grows."""
    return [*current, *(item for write in writes for item in write)]


def counted(current: dict[str, int], writes: list[dict[str, int]]) -> dict[str, int]:
    """A sum for each key; a dict union until a key comes again."""
    total = dict(current)
    for write in writes:
        for key, number in write.items():
            total[key] = total.get(key, 0) + number
    return total


def upserted(current: list[dict[str, int]], writes: list[list[dict[str, int]]]) -> list[dict[str, int]]:
    """One item for each id; an append until an id comes again."""
    return [*{item["id"]: item for part in (current, *writes) for item in part}.values()]


class State(TypedDict, total=False):
    recent: Annotated[list, DeltaChannel(capped, snapshot_frequency=FREQUENCY)]
    hits: Annotated[dict, DeltaChannel(counted, snapshot_frequency=FREQUENCY)]
    docs: Annotated[list, DeltaChannel(upserted, snapshot_frequency=FREQUENCY)]
    n: int


def work(state: State) -> dict[str, Any]:
    """One more item, a key again and an id again after six steps."""
    n = state.get("n", 0)
    return {"recent": [f"c{n}"], "hits": {f"k{n % 6}": 1}, "docs": [{"id": n % 6, "v": n}], "n": n + 1}


def graph(saver: SqliteSaver, *, broken: bool = False, steps: int = STEPS) -> Any:
    """One node in a loop; with `broken`, two nodes run in the end, of which one fails."""

    def fail(_: Any) -> dict[str, Any]:
        until_stored(saver)
        raise ValueError("broken")

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_node("last", work)
    builder.add_node("fail", fail)
    builder.add_edge(START, "work")
    end: Any = ["last", "fail"] if broken else END
    builder.add_conditional_edges("work", lambda s: "work" if s["n"] < steps else end, ["work", "last", "fail", END])
    return builder.compile(checkpointer=saver)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A thread that has ended, with one stored value in its middle."""
    file = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(file)) as saver:
        graph(saver).invoke({"n": 0}, ON)
    return file


def real(path: Path, step: int | None = None) -> dict[str, Any]:
    """What the graph reads at the head, or at a step."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        states = [one for one in graph(saver).get_state_history(ON) if step in (None, one.metadata["step"])]
        values: dict[str, Any] = states[0].values
        return values


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    """What a command says, as JSON."""
    capsys.readouterr()
    assert run([*words, "--json"]) == code
    view: dict[str, Any] = json.loads(capsys.readouterr().out)
    return view


def is_unproven(value: Any) -> bool:
    """Whether a value is shown as its writes."""
    return isinstance(value, dict) and value.get("$type") == "DeltaChannel"


def test_no_case_is_guessed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At each step, what comes again is either shown as it is, or as writes; what was shown keeps its value."""
    unknown = set()
    for step in range(1, STEPS + 1):
        values = real(path, step)
        for channel in ("hits", "docs"):
            value = said(capsys, "get", "t", channel, "--at", f"step:{step}", "-d", str(path))["value"]
            assert is_unproven(value) or value == values[channel]
            unknown |= {(channel, step)} if is_unproven(value) else set()
    assert unknown == {(channel, step) for channel in ("hits", "docs") for step in (7, 8, 9)}
    for channel in ("hits.k0", "docs[0].v"):
        assert run(["get", "t", channel, "-d", str(path)]) == 5
        assert run(["get", "--each", channel, "-d", str(path)]) == 5
    assert run(["blame", "t", "hits", "-d", str(path)]) == 5
    note = said(capsys, "show", "t", "-d", str(path))["channels"]["docs"]["note"]
    assert note.endswith(
        "side by side: no snapshot that was read shows what becomes of an item whose 'id' it has already"
    )


def test_a_size_is_marked(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list longer than every stored one is shown with a note; one that isn't, without. A stored value has none."""
    for step in range(1, STEPS + 1):
        view = said(capsys, "get", "t", "recent", "--at", f"step:{step}", "-d", str(path))
        assert view["value"] == real(path, step)["recent"] or view["notes"]
        assert bool(view["notes"]) == (step > FREQUENCY)
    [note] = view["notes"]
    assert note.split(" at ")[0] == "recent"
    assert "is rebuilt by append, as 1 stored value shows; none has so many elements" in note
    for words in (["blame", "t", "recent"], ["blame", "t", "recent", "--history"], ["diff", "t"]):
        assert note in said(capsys, *words, "-d", str(path))["notes"]
        run([*words, "-d", str(path)])
        assert note in capsys.readouterr().err
    assert said(capsys, "diff", "t", "step:2", "step:3", "-d", str(path))["notes"] == []
    [each] = said(capsys, "get", "--each", "recent", "-d", str(path))["values"]
    assert each["note"] == note
    assert said(capsys, "blame", "t", "recent", "--reducer", "recent=append", "-d", str(path))["notes"] == []


def test_exported_rows_have_the_notes_of_get(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row of `export --format` marks the values that `get` marks, in the same words; stderr counts the rows."""
    file = path.with_suffix(".jsonl")
    assert run(["export", "t", "-o", str(file), "--format", "jsonl", "-d", str(path)]) == 0
    assert f"{STEPS - FREQUENCY} states have a rebuilt value that no stored one proves" in capsys.readouterr().err
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        at, own = row["checkpoint_id"], {"recent", "hits", "docs"} & row["values"].keys()
        notes = [one for c in own for one in said(capsys, "get", "t", c, "--at", at, "-d", str(path))["notes"]]
        assert sorted(row["notes"]) == sorted(notes)
    file = path.with_suffix(".csv")
    assert run(["export", "t", "-o", str(file), "--format", "csv", "-d", str(path)]) == 0
    cells = list(csv.DictReader(file.read_text().splitlines()))
    assert [one["notes"] for one in cells] == ["; ".join(row["notes"]) for row in rows]


def test_the_step_that_wrote_an_element_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the list isn't known between two stored values, a step in between whose write shows the element counts."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph(saver, steps=4 * FREQUENCY + 2).invoke({"n": 0}, ON)
    ids = {}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for one in graph(saver).get_state_history(ON):
            ids[one.metadata["step"]] = one.config["configurable"]["checkpoint_id"]
    lines = said(capsys, "blame", "t", "recent", "--at", f"step:{4 * FREQUENCY}", "-d", str(path))["lines"]
    assert [line["value"] for line in lines] == real(path, 4 * FREQUENCY)["recent"]
    for line in lines:
        since, wrote = line["since"], ids[int(line["value"][1:]) + 1]
        assert wrote in (since["checkpoint_id"], *since["or_at"])
        assert since["node"] == "work" or since["candidates"] == ["work"]
        assert "aren't stored" not in since["why"]
    assert any("isn't known at the checkpoints in between" in line["since"]["why"] for line in lines)


def test_a_narrow_terminal_shows_what_blame_could_not_read(tmp_path: Path) -> None:
    """At 80 columns each row says how many checkpoints weren't read, and a reason that many share is said once."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph(saver, steps=4 * FREQUENCY + 2).invoke({"n": 0}, ON)
    view = at(path, blame, "t", "recent", at=f"step:{4 * FREQUENCY}")
    shown = golden.lines(view, 80)
    assert [
        f"? not read: {one.unread_before} before it" in line for one, line in zip(view.lines, shown[1:], strict=False)
    ] == [bool(one.unread_before) for one in view.lines]
    assert not any(line.endswith("…") for line in shown)
    reasons = {one.problem for one in view.unread}
    assert len(view.unread) > len(reasons) == len([line for line in shown if line.startswith("not read: ")])


def test_bisect_says_that_its_verdict_isnt_proven(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list that keeps its last items looks like an append; that none was seen to be so long is said with it."""
    longest = max(len(real(path, step).get("recent", ())) for step in range(STEPS))
    test = f"import json,sys; sys.exit(len(json.load(sys.stdin)['recent']) > {longest})"
    for how in (["--where", f"len(recent) > {longest}"], ["--run", shlex.join([sys.executable, "-c", test])]):
        assert run(["bisect", "t", "--good", "step:1", "-d", str(path), *how]) == 0
        said = capsys.readouterr().err
        assert "recent at " in said and "so it isn't proven" in said
    assert run(["show", "t", "-c", "recent", "-d", str(path)]) == 0
    assert "by append, not proven: " in capsys.readouterr().out


def test_an_unproven_value_isnt_called_damaged(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal has a kind of its own, and says what isn't shown."""
    assert run(["blame", "t", "hits", "--json", "-d", str(path)]) == 5
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["kind"] == "value-unknown"
    assert (
        "no stored value that was read shows what its reducer does with a key under which it has already"
        in error["message"]
    )


CHANGES: dict[str, tuple[list[str], Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "prune": (["prune", "t", "--keep-last", "1", "--snapshot"], lambda s: s),
    "rollback": (["rollback", "t", "step:8"], lambda s: s),
    "edit of the past": (["edit", "t", "step:8", "--set", "n=50"], lambda s: {**s, "n": 50}),
    "edit": (["edit", "t", "--set", "n=50"], lambda s: {**s, "n": 50}),
    "edit of a whole value": (["edit", "t", "--set", 'recent=["x"]'], lambda s: {**s, "recent": ["x"]}),
    "copy": (["fork", "t", "step:8"], lambda s: s),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_keeps_the_librarys_value(path: Path, change: str) -> None:
    """After it the graph reads what it read before."""
    words, expected = CHANGES[change]
    before = real(path, 8 if "step:8" in words else None)
    assert run([*words, "-d", str(path), "--yes"]) == 0
    assert real(path) == expected(before)


@pytest.mark.parametrize(
    "words",
    [
        ["edit", "t", "--set", 'recent[0]="x"'],
        ["edit", "t", "--append", 'recent="x"'],
        ["edit", "t", "--set", "hits.k0=5"],
        ["fork", "t", "--to", "u", "--shallow"],
        ["delete", "t", "step:8"],
        ["update", "t", "step:5", "--values", '{"hits": {"k0": 1}}', "--as-node", "work", "--next", "work"],
        ["update", "t", "step:5", "--values", '{"recent": ["x", "y"]}', "--as-node", "work", "--next", "work"],
    ],
    ids=lambda words: " ".join(words[:4]),
)
def test_what_must_store_the_value_is_refused(path: Path, words: list[str]) -> None:
    """Nothing is written."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        before = list(saver.list(None))
        assert run([*words, "-d", str(path), "--yes"]) != 0
        assert list(saver.list(None)) == before


@pytest.mark.parametrize(
    "values",
    [{"hits": {"k0": 1}}, {"recent": ["x"]}, {"docs": [{"id": 1, "v": 5}]}],
    ids=lambda values: next(iter(values)),
)
def test_an_update_is_the_librarys(
    path: Path, tmp_path: Path, values: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """The graph reads what its own ``update_state`` gives, and the plan doesn't say that nothing changes."""
    twin = tmp_path / "twin.sqlite"
    shutil.copy(path, twin)
    words = ["update", "t", "--values", json.dumps(values), "--as-node", "work", "--next", "work"]
    words += ["-d", str(path)]
    assert "the same as before" not in json.dumps(said(capsys, *words, "--dry-run"))
    assert run([*words, "--yes"]) == 0
    with SqliteSaver.from_conn_string(str(twin)) as saver:
        app = graph(saver)
        app.update_state(ON, values, as_node="work")
    assert real(path) == real(twin)


def test_a_commit_is_refused_or_true(tmp_path: Path) -> None:
    """A failed step's finished task has written what no stored value shows: nothing false is stored."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver, pytest.raises(ValueError, match="broken"):
        graph(saver, broken=True).invoke({"n": 0}, ON)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        before = graph(saver, broken=True).get_state(ON).values
    assert run(["replay", "t", "--commit", "--yes", "-d", str(path)]) != 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert graph(saver, broken=True).get_state(ON).values == before


def test_a_shown_case_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Once stored values show what a key that comes again becomes, the next one is known."""

    def joined(current: dict[str, int], writes: list[dict[str, int]]) -> dict[str, int]:
        return {key: value for part in (current, *writes) for key, value in part.items()}

    class Union(TypedDict, total=False):
        hits: Annotated[dict, DeltaChannel(joined, snapshot_frequency=FREQUENCY)]
        n: Annotated[int, lambda a, b: a + b]

    builder = StateGraph(Union)
    builder.add_node("work", lambda s: {"hits": {f"k{s['n'] % 3}": s["n"] % 4}, "n": 1})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda s: "work" if s["n"] < 23 else END)
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"n": 0}, {**ON, "recursion_limit": 99})
        before = app.get_state(ON).values
        assert said(capsys, "get", "t", "hits", "-d", str(path))["value"] == before["hits"]
        assert run(["prune", "t", "--keep-last", "1", "--snapshot", "--yes", "-d", str(path)]) == 0
        assert app.get_state(ON).values == before
        assert len(list(saver.list(ON))) == 1


def test_a_named_reducer_is_stored(tmp_path: Path) -> None:
    """With the name of its reducer, a list that grows is stored whole, however long it is."""

    class Log(TypedDict, total=False):
        log: Annotated[list, DeltaChannel(appended, snapshot_frequency=FREQUENCY)]

    builder = StateGraph(Log)
    builder.add_node("work", lambda s: {"log": [f"c{len(s['log'])}"]})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda s: "work" if len(s["log"]) < STEPS - 2 else END)
    path = tmp_path / "t.sqlite"
    words = ["prune", "t", "--keep-last", "1", "--snapshot", "--yes", "-d", str(path)]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"log": []}, ON)
        before = app.get_state(ON).values
        for options, stay in ((words, False), ([*words, "--reducer", "log=append"], True)):
            assert run(options) == 0
            assert (len(list(saver.list(ON))) == 1) == stay
            assert app.get_state(ON).values == before
