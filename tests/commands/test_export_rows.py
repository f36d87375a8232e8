"""`ckpt export --format`: whole states as rows; what they hold is what LangGraph's own saver gives."""

import csv
import json
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import SecretStr

from ckpt_cli.app import run
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Checkpoint, Ref
from ckpt_cli.queries.rebuilt_notes import rebuilt_notes
from ckpt_cli.reading import Reader
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsonform import to_json
from tests.copying.official import plain
from tests.graphs import SCENARIOS
from tests.graphs.building import line, on
from tests.truth_rendering import rendered

DB = "agents.sqlite"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def exported(name: str, *words: str, code: int = 0) -> None:
    assert run(["export", "-d", DB, "-o", name, "--format", name.rpartition(".")[2], *words]) == code


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in Path(name).read_text().splitlines()]


def _known(value: Any) -> Any:
    """A value; of a delta channel whose reducer nothing proves, what its writes come to by appending."""
    if isinstance(value, dict) and value.keys() <= {"value", "writes"} and "writes" in value:
        return [*value.get("value", ()), *(one for write in value["writes"] for one in write)]
    return value


def test_rows_are_the_states(here: Path, capsys: Captured) -> None:
    """Every checkpoint of every namespace, delta channels rebuilt, oldest first; CSV has the same in cells."""
    with SqliteSaver.from_conn_string(DB) as saver:
        graphs = [made for name in ("deltas", "subgraphs", "chats") for made in SCENARIOS[name](saver)]
        exported("all.jsonl")
        exported("all.csv")
        rows = {(row["thread_id"], row["ns"], row["checkpoint_id"]): row for row in lines("all.jsonl")}
        assert len(rows) == len(list(saver.list(None)))
        for one in saver.list(None):
            own = one.config["configurable"]
            row = rows[own["thread_id"], own["checkpoint_ns"], own["checkpoint_id"]]
            parent = (one.parent_config or {}).get("configurable") or {}
            assert (row["parent_id"], row["time"]) == (parent.get("checkpoint_id"), one.checkpoint["ts"])
            assert (row["step"], row["source"]) == (one.metadata.get("step"), one.metadata.get("source", ""))
            assert (row["metadata"], row["problem"]) == (one.metadata, None)
        for thread_id, graph in graphs:
            for state in graph.get_state_history(on(thread_id)):
                found = rows[thread_id, "", state.config["configurable"]["checkpoint_id"]]["values"]
                own = {
                    name: value for name, value in state.values.items() if name in found or value
                }  # LangGraph adds []
                assert {name: _known(rendered(from_json(found[name]))) for name in own} == plain(own)
    with Path("all.csv").open(newline="") as file:
        for cells, row in zip(csv.DictReader(file), rows.values(), strict=True):
            values = {name.partition(".")[2]: one for name, one in cells.items() if name.startswith("values.") and one}
            assert {name: json.loads(one) for name, one in values.items()} == row["values"]
            assert json.loads(cells["metadata"]) == row["metadata"] and cells["checkpoint_id"] == row["checkpoint_id"]
    assert Path("all.jsonl").stat().st_mode & 0o77 == 0
    assert sorted(one.name for one in here.iterdir()) == [DB, "all.csv", "all.jsonl"]


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
def test_secrets_and_redaction(name: str, capsys: Captured) -> None:
    """A `SecretStr` is masked unless --reveal; what is redacted is nowhere in the file, and the audit is the same."""
    with SqliteSaver.from_conn_string(DB) as saver:
        line(saver, "a").invoke(
            {"log": [SecretStr("hunter2"), "mail ann@example.com"]}, on("ann@example.com", who="ann")
        )
    exported(name)
    assert "hunter2" not in Path(name).read_text()
    exported(f"open-{name}", "--reveal")
    assert "hunter2" in Path(f"open-{name}").read_text()
    capsys.readouterr()
    exported(f"shared-{name}", "--redact-pattern", "(?i)ann", "--reveal", "--json")
    assert not {"ann", "hunter2"} & {word for word in ("ann", "hunter2") if word in Path(f"shared-{name}").read_text()}
    said = json.loads(capsys.readouterr().out)
    assert said["redaction"]["rules"][0]["matches"] and said["file"] == f"shared-{name}" and said["checksum"]


def test_what_is_refused(here: Path, capsys: Captured) -> None:
    """An existing file, a bundle's name, --remove, a path that leads nowhere: nothing is left behind."""
    assert run(["demo", DB]) == 0
    before = sorted(here.iterdir())
    exported("x.jsonl", "--remove", "--yes", code=2)
    assert run(["export", "-d", DB, "-o", "x.ckpt", "--format", "csv"]) == 2
    exported("x.jsonl", "--redact", "no.such.path", code=4)
    exported("no/x.jsonl", code=3)
    exported("x.jsonl", "--dry-run")
    assert sorted(here.iterdir()) == before
    exported("x.jsonl", "support-42")
    content = Path("x.jsonl").read_bytes()
    exported("x.jsonl", code=7)
    assert "exists already" in capsys.readouterr().err and Path("x.jsonl").read_bytes() == content


def test_a_state_that_cannot_be_read(capsys: Captured) -> None:
    """Its row has the ids and the problem, and the others have their states."""
    with SqliteSaver.from_conn_string(DB) as saver:
        line(saver, "a").invoke({"log": ["x"]}, on("t"))
        second_id = sorted(one.checkpoint["id"] for one in saver.list(on("t")))[1]
        saver.conn.execute("UPDATE checkpoints SET checkpoint = x'c1' WHERE checkpoint_id = ?", [second_id])
        saver.conn.commit()
    exported("x.jsonl")
    first, second, third = lines("x.jsonl")
    assert second["problem"] and second["values"] == {} and second["parent_id"] == first["checkpoint_id"]
    assert first["problem"] is third["problem"] is None and third["values"]["log"] == ["x", "a"]


def test_each_row_is_what_show_gives() -> None:
    """The values that follow from those of the parent are those that are rebuilt for one checkpoint alone."""
    with SqliteSaver.from_conn_string(DB) as saver:
        threads = {thread_id for thread_id, _ in SCENARIOS["deltas"](saver)}
    exported("x.jsonl")
    with closing(open_database(DB, lambda _: None)) as opened:
        reader, rebuilt = Reader(opened, Codec()), 0
        for row in lines("x.jsonl"):
            ref = Ref(row["thread_id"], row["ns"], row["checkpoint_id"])
            deltas = {name: delta.value for name, delta in Inspection(reader, ref).deltas().items()}
            assert row["notes"] == [*rebuilt_notes(reader, ref, deltas)]
            assert {name: row["values"][name] for name in deltas} == to_json(deltas)
            rebuilt += len(deltas)
    assert rebuilt and threads == {row["thread_id"] for row in lines("x.jsonl")}


@pytest.mark.parametrize("frequency", [1000, 7])
def test_a_long_thread_is_read_once(frequency: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoints that are decoded grow as the thread does, also if none stores a value of a delta channel."""
    short, long = (_decoded(runs, frequency, monkeypatch) for runs in (20, 40))
    assert short <= 4 * 4 * 20 and long < 3 * short  # between two stored values, what `get` reads is read once too


def _decoded(runs: int, frequency: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many checkpoints an export decodes of a thread that has four of each run."""
    for name in (DB, "x.jsonl"):
        Path(name).unlink(missing_ok=True)
    channel = Annotated[list[Any], DeltaChannel(_extend, snapshot_frequency=frequency)]
    with SqliteSaver.from_conn_string(DB) as saver:
        graph = line(saver, "a", "b", schema=TypedDict("Deltas", {"log": channel}))  # type: ignore[operator]
        for turn in range(runs):
            graph.invoke({"log": [turn]}, on("t"))
    decoded, decode = list[Ref](), Reader.decode

    def counted(self: Reader, checkpoint: Checkpoint) -> Any:
        decoded.append(checkpoint.row.ref)
        return decode(self, checkpoint)

    with monkeypatch.context() as patched:
        patched.setattr(Reader, "decode", counted)
        exported("x.jsonl")
    assert [row["values"].get("log") for row in lines("x.jsonl")][-1] is not None
    assert {*decoded} == {Ref(row["thread_id"], row["ns"], row["checkpoint_id"]) for row in lines("x.jsonl")}
    return len(decoded)


def _extend(current: list[Any], writes: list[list[Any]]) -> list[Any]:
    return [*current, *(item for write in writes for item in write)]


def test_delta_channels_behind_a_state_that_cannot_be_read() -> None:
    """Only rows that need it say so, until a value is stored again; the others have their values, or how they came."""
    with SqliteSaver.from_conn_string(DB) as saver:
        [*_] = SCENARIOS["deltas"](saver)
        exported("good.jsonl", "delta")
        good = {row["checkpoint_id"]: row for row in lines("good.jsonl")}
        damaged = "UPDATE checkpoints SET checkpoint = x'c1' WHERE thread_id = 'delta' AND checkpoint_id = ?"
        broken = [*good][6]
        assert saver.conn.execute(damaged, [broken]).rowcount == 1
        saver.conn.commit()
    exported("x.jsonl", "delta")
    rows = {row["checkpoint_id"]: row for row in lines("x.jsonl")}
    assert [*rows] == [*good]
    behind = [i for i, row in rows.items() if row["problem"]]
    at = [*good].index(behind[0])
    assert behind[0] == broken and behind == [*good][at : at + len(behind)] and 1 < len(behind) < 8
    assert all(f"checkpoint {broken} can't be decoded" in rows[i]["problem"] for i in behind)
    for checkpoint_id in rows.keys() - {*behind}:
        now, then = rows[checkpoint_id]["values"], good[checkpoint_id]["values"]
        assert {**now, "log": _joined(now.get("log"))} == {**then, "log": _joined(then.get("log"))}


def _joined(value: Any) -> Any:
    if isinstance(value, dict) and value.get("$type") == "DeltaChannel":
        return [*value.get("seed", ()), *(one for write in value["writes"] for one in write)]
    return value
