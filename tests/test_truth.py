"""What ckpt reads of every generation's SQLite database equals what the library that wrote it read (``truth_*.py``)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.tasks.snapshot import Task
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form
from tests.databases import KEYS, LEGACY, truth, unpacked
from tests.truth_deviations import differences
from tests.truth_rendering import canonical, enveloped, rendered

Found = Iterator[tuple[str, Any, Any]]


@dataclass(frozen=True)
class Recorded:
    """A database and what its own library read of it."""

    name: str
    reader: Reader
    threads: dict[str, dict[str, dict[str, Any]]]

    def checkpoints(self) -> Iterator[tuple[Ref, dict[str, Any]]]:
        """Every checkpoint that the library could read; of an upgraded database, its last state."""
        for thread_id, namespaces in self.threads.items():
            for ns, known in namespaces.items():
                for recorded in known["checkpoints"]:
                    if "unreadable_by_own_library" not in recorded:
                        yield Ref(thread_id, ns, recorded["checkpoint_id"] or ""), {**recorded, **_in_the_end(recorded)}


def _in_the_end(recorded: dict[str, Any]) -> dict[str, Any]:
    """Writes may have grown since; where not, the record counts: the last library doesn't open lc:2 any more."""
    writes = (recorded.get("final") or {}).get("pending_writes", [])
    return {"pending_writes": writes} if len(writes) > len(recorded.get("pending_writes") or []) else {}


@pytest.fixture(scope="module", params=LEGACY)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Each generation's database with its truth."""
    path: Path = tmp_path_factory.mktemp("truth") / "database.sqlite"
    path.write_bytes(unpacked(request.param))
    reader = Reader(open_file(path), Codec(KEYS.get(request.param)))
    yield Recorded(request.param, reader, truth(request.param)["threads"])
    reader.saver.close()


def test_threads_namespaces_checkpoints_and_parents(recorded: Recorded) -> None:
    """Exactly the threads, namespaces, checkpoints and parents of the truth are read, the highest id first."""
    stored = {t: {ns: k for ns, k in nss.items() if k["checkpoints"]} for t, nss in recorded.threads.items()}
    stored = {thread_id: namespaces for thread_id, namespaces in stored.items() if namespaces}
    assert sorted(t.thread_id for t in recorded.reader.saver.threads()) == sorted(stored)
    for thread_id, namespaces in stored.items():
        assert recorded.reader.saver.namespaces(thread_id) == sorted(namespaces)
        for ns, known in namespaces.items():
            rows = list(recorded.reader.saver.rows(thread_id, ns))
            want = [(c["checkpoint_id"] or "", c["parent_checkpoint_id"]) for c in known["checkpoints"]]
            assert [(row.checkpoint_id, row.parent_id) for row in reversed(rows)] == want


def test_checkpoints(recorded: Recorded) -> None:
    """Format, time, step, source, metadata, versions, what nodes have seen, values and Sends are the library's."""
    assert not list(_every(recorded, _checkpoint_differences))


def test_writes(recorded: Recorded) -> None:
    """The writes stored on each checkpoint are the library's, by task, channel and value."""
    assert not list(_every(recorded, _write_differences))


def _every(recorded: Recorded, compare: Any) -> Iterator[tuple[Any, ...]]:
    for ref, known in recorded.checkpoints():
        if known.get("v") is not None:
            yield from ((*_named(ref), *found) for found in compare(recorded.reader, ref, known))


def _named(ref: Ref) -> tuple[str, str, str]:
    return ref.thread_id, ref.ns, ref.checkpoint_id


def _checkpoint_differences(reader: Reader, ref: Ref, known: dict[str, Any]) -> Found:
    state = reader.state(ref)
    got = {
        "v": state.v,
        "ts": state.ts,
        "step": state.step,
        "source": state.source or None,
        "metadata": rendered(dict(state.metadata)),
        "channel_versions": dict(state.versions),
        "versions_seen": {node: dict(seen) for node, seen in state.seen.items()},
        "channel_values": {channel: rendered(value) for channel, value in state.values.items()},
        "pending_sends": rendered(state.sends, place="__pregel_tasks"),
        "updated_channels": state.updated,
    }
    want = {**dict.fromkeys(got), "pending_sends": [], **{key: known[key] for key in got if key in known}}
    yield from differences(got, {**want, "metadata": want["metadata"] or {}})


def _write_differences(reader: Reader, ref: Ref, known: dict[str, Any]) -> Found:
    writes = [[w.task_id, w.channel, rendered(w.value, place=w.channel)] for w in reader.writes(ref)]
    yield from differences(
        sorted(writes, key=canonical), sorted(known["pending_writes"] or [], key=canonical), "writes"
    )


def test_what_the_library_could_not_serialize_is_reported(recorded: Recorded) -> None:
    """A LangGraph.js checkpoint that is only the words "[unable to serialize …]" says so, and no more."""
    for ref, known in recorded.checkpoints():
        if known.get("v") is None:
            with pytest.raises(PayloadCorrupt, match="unable to serialize"):
                recorded.reader.state(ref)


NOT_JSON = {("legacy/js-0.2.3", "values-nan")}
"""LangGraph.js 0.2.3 wrote bare NaN, holes in lists and undefined: no JSON. All but the holes is read here."""


def test_what_its_own_library_cannot_read_is_read_here(recorded: Recorded) -> None:
    """Rows that the writing library fails on hold what the program put in, in their state or among their writes."""
    for thread_id, namespaces in recorded.threads.items():
        for ns, known in namespaces.items():
            for row in known["checkpoints"]:
                if "unreadable_by_own_library" in row:
                    _holds_the_original(recorded, Ref(thread_id, ns, row["checkpoint_id"]))


def _holds_the_original(recorded: Recorded, ref: Ref) -> None:
    if (recorded.name, ref.thread_id) in NOT_JSON:
        _tells_what_is_missing(recorded.reader, ref)
        return
    values = [*recorded.reader.values(ref).values(), *(write.value for write in recorded.reader.writes(ref))]
    shown = {canonical(show(value)) for value in values for show in (rendered, enveloped)}
    assert canonical(truth(recorded.name)["original"][ref.thread_id]) in shown, _named(ref)


def _tells_what_is_missing(reader: Reader, ref: Ref) -> None:
    values = [*reader.values(ref).values(), *(write.value for write in reader.writes(ref))]
    read = next(value for value in values if isinstance(value, dict) and "ok" in value)
    assert [rendered(read[key]) for key in ("n", "f", "ok")] == ["nan", "-inf", 1]
    assert [read["s"][0], read["s"][2]] == [1, 3]
    assert {read["s"][1].form, read["fn"].form} == {Form.BROKEN}


def test_next(recorded: Recorded) -> None:
    """The next nodes of each checkpoint are those of the library, or unknown; never another name."""
    unknown = 0
    for ref, known in _with_state(recorded):
        shot = recorded.reader.snapshot(ref)
        names = [task.node for task in shot.tasks]
        named = [name for name in names if name is not None]
        if shot.complete and len(named) == len(names):
            assert sorted(named) == sorted(known["state"]["next"]), _named(ref)
        else:
            unknown += 1
            assert _within(named, known["state"]["next"]), _named(ref)
    assert unknown == UNKNOWN.get(recorded.name, 0)


UNKNOWN: dict[str, int] = {
    "legacy/js-0.0.34": 13,
    "legacy/js-0.2.3": 13,
    "legacy/js-0.2.41": 20,
    "legacy/js-1.4.17": 1,
    "legacy/js-pg-0.2.41": 19,
    "legacy/js-pg-1.4.17": 1,
    "legacy/pg-0.2.3": 16,
    "legacy/pg-0.2.76": 19,
    "legacy/pg-shallow-0.2.76": 23,
    "legacy/py-0.0.38": 14,
    "legacy/py-0.0.48": 13,
    "legacy/py-0.0.69": 15,
    "legacy/py-0.1.19": 15,
    "legacy/py-0.1.19-async": 15,
    "legacy/py-0.2.22-core0.2": 19,
    "legacy/py-0.2.28": 19,
    "legacy/py-0.2.28-async": 19,
    "legacy/py-0.2.3": 16,
    "legacy/py-0.2.60": 20,
    "legacy/py-0.2.76": 20,
    "legacy/py-0.2.76-async": 20,
    "legacy/py-0.3.21": 20,
    "legacy/py-0.6.11": 1,
    "legacy/py-0.6.11-async": 1,
    "legacy/py-1.0.10": 1,
    "legacy/py-upgraded": 1,
}
"""How many checkpoints of each database leave open what is next.

In v 1 and 2 the thread's data are the same whether a run ended at a node or stopped before one that never ran. Since
then only the name of an entrypoint that never finished is missing, where the database has no task paths.
"""


def _within(some: list[str], whole: list[str]) -> bool:
    return all(some.count(name) <= whole.count(name) for name in some)


def test_tasks(recorded: Recorded) -> None:
    """Tasks have the library's ids, nodes, errors and interrupts; an id that is not known is not made up."""
    for ref, known in _with_state(recorded):
        shot = recorded.reader.snapshot(ref)
        tasks = {task.id: task for task in shot.tasks}
        for want in known["state"].get("tasks") or []:
            task = tasks.get(want["id"])
            if task is None:
                allowed = None in tasks or not shot.complete or recorded.name in OTHER_IDS
                assert allowed and (not shot.complete or _by_name(tasks, want["name"])), _named(ref)
            elif not known.get("final", {}).get("pending_writes"):
                assert not list(_task_differences(task, want)), _named(ref)


OTHER_IDS = {"legacy/js-0.2.3", "legacy/pg-upgraded", "legacy/py-upgraded"}
"""Where the recorded ids count: the getState of LangGraph.js 0.2.3 computes others than its runs had, and a task that a
newer version resumes gets a new one."""


def _by_name(tasks: dict[str | None, Task], node: str) -> bool:
    return any(task.node in (None, node) for task in tasks.values())


def _task_differences(task: Task, want: dict[str, Any]) -> Found:
    if task.node not in (None, want["name"]):
        yield "node", task.node, want["name"]
    yield from differences(rendered(task.error), want["error"], "error")
    asked = [(rendered(interrupt.value), interrupt.id, interrupt.ns) for interrupt in task.interrupts]
    recorded = [(i.get("$interrupt", i.get("value")), i.get("id"), i.get("ns")) for i in want["interrupts"]]
    for (value, own_id, ns), (their_value, their_id, their_ns) in zip(asked, recorded, strict=True):
        yield from differences(value, their_value, "interrupt")
        if their_id not in (None, own_id, "placeholder-id") or their_ns not in (None, ns):
            yield "interrupt", (own_id, ns), (their_id, their_ns)


def test_values(recorded: Recorded) -> None:
    """The user's channels are those that the graph's state shows; one that was never written is not in the data."""
    for ref, known in _with_state(recorded):
        values, want = recorded.reader.values(ref), known["state"]["values"]
        if recorded.reader.state(ref).metadata.keys() and isinstance(want, dict) and "__end__" not in values:
            versions = recorded.reader.state(ref).versions
            shown = {channel: rendered(value) for channel, value in values.items()}
            stored = {channel: value for channel, value in want.items() if channel in shown or channel in versions}
            assert not list(differences({c: shown[c] for c in shown if c in want}, stored)), _named(ref)


def _with_state(recorded: Recorded) -> Iterator[tuple[Ref, dict[str, Any]]]:
    return ((ref, known) for ref, known in recorded.checkpoints() if known.get("v") is not None and known.get("state"))
