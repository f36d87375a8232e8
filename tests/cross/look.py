"""Real graphs on a real saver: everything ckpt says of every checkpoint is what the graph itself says."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import StateSnapshot

from ckpt_cli.app import run as ckpt
from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.verify import verify
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.reducers.reducers import ABSENT, APPEND
from ckpt_cli.history.state.channels import ERROR, INTERRUPT
from ckpt_cli.history.state.paths import spell
from ckpt_cli.history.tasks.snapshot import Status, Task
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK, Payload, Ref
from ckpt_cli.queries.fleet_status import FleetStatus
from ckpt_cli.reading import Reader
from ckpt_cli.savers.measures import Part
from ckpt_cli.serde.codec import Codec
from ckpt_cli.session import Session
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.same import same
from ckpt_cli.views.blame import BlameLine
from tests.backends_table import broken
from tests.cross.backend import Backend, Fresh
from tests.cross.explained import explained
from tests.graphs import SCENARIOS, Graph
from tests.truth_deviations import differences
from tests.truth_rendering import canonical, rendered


@dataclass(frozen=True)
class Run:
    """A scenario that has run, and its database as ckpt and the graphs read it."""

    backend: Backend
    reader: Reader
    threads: list[tuple[str, Graph]]
    scenario: str

    def states(self) -> Iterator[tuple[Ref, StateSnapshot]]:
        """Every checkpoint of every namespace, as the graph gives it."""
        for thread_id, graph in self.threads:
            for ns in self.reader.saver.namespaces(thread_id):
                config = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}
                for state in graph.get_state_history(config):
                    yield Ref(thread_id, ns, state.config["configurable"]["checkpoint_id"]), state

    def shown(self, thread_id: str, values: Any) -> dict[str, Any]:
        """A state's values by channel, where the graph shows one channel's value bare too."""
        graph = dict(self.threads)[thread_id]
        channel = graph.stream_channels_asis
        return {channel: values} if isinstance(channel, str) else values


STATUSES = {
    "chat": "done",
    "sub-waiting": "waiting",
    "ask-second": "waiting",
    "ask-partial": "waiting",
    "ask-all": "done",
    "before": "unfinished",
    "error": "failed",
    "error-mended": "done",
    "error-retried": "failed",
    "map-asks": "waiting",
    "map-before": "unfinished",
    "flow": "waiting",
    "flow-failed": "failed",
    "deferred": "done",
    "deferred-stopped": "unfinished",
}


class Look:
    """`Reader` gives of each checkpoint what the graph gives."""

    @pytest.fixture(scope="class", params=SCENARIOS)
    @classmethod
    def run(cls, request: pytest.FixtureRequest, fresh: Fresh) -> Iterator[Run]:
        """Each scenario once."""
        backend = fresh()
        with backend.official() as official:
            threads = list(SCENARIOS[request.param](official))
            reader = backend.reader()
            with closing(reader.saver):
                yield Run(backend, reader, threads, request.param)

    def test_checkpoints_and_parents(self, run: Run) -> None:
        """Every checkpoint of every namespace is listed, with its parent, metadata and time."""
        checkpoint_ids: dict[tuple[str, str], set[str]] = {}
        for ref, state in run.states():
            checkpoint_ids.setdefault((ref.thread_id, ref.ns), set()).add(ref.checkpoint_id)
            mine = run.reader.state(ref)
            parent = (state.parent_config or {"configurable": {}})["configurable"].get("checkpoint_id")
            assert (mine.parent_id, mine.ts) == (parent, state.created_at)
            assert not list(differences(rendered(dict(mine.metadata)), rendered(_stored(state.metadata))))
        listed = {
            (t, ns): set(run.reader.lineage(t, ns).rows)
            for t, _ in run.threads
            for ns in run.reader.saver.namespaces(t)
        }
        assert checkpoint_ids == listed

    def test_graph_and_trace(self, run: Run, tmp_path: Path) -> None:
        """The same scenario on SQLite has the same nodes, edges, tasks and sums."""
        if not run.backend.url.startswith(("postgres", "mysql", "redis", "mongodb", "dynamodb")):
            pytest.skip("without task paths, as in Valkey and in memory, nodes of the functional API are unknown")
        path = tmp_path / "same.sqlite"
        with SqliteSaver.from_conn_string(str(path)) as sqlite:
            threads = [thread for thread, _ in SCENARIOS[run.scenario](sqlite)]
        assert explained(run.backend.url, threads) == explained(str(path), threads)

    def test_values(self, run: Run) -> None:
        """The user's channels hold what the graph's state shows, delta channels too."""
        for ref, state in run.states():
            mine = Inspection(run.reader, ref).values()
            shown = run.shown(ref.thread_id, state.values)
            given = {write.channel for write in run.reader.writes(ref) if write.task_id == NULL_TASK}
            assert set(mine) - given <= {*shown, "__end__", "__previous__", *_unlisted(run.reader, ref)}
            for channel, value in shown.items():
                if channel in mine and channel not in given:
                    own = _appended(mine[channel])
                    assert not list(differences(rendered(own), rendered(_stored(value)))), (ref, channel)
                else:
                    assert channel in given or not value, (ref, channel)

    def test_each_value(self, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
        """`get --each` gives of every thread what `get` gives of it, whatever the database reads for it."""

        def printed(*words: str) -> Any:
            capsys.readouterr()
            code = ckpt(["get", *words, "-d", run.backend.url, "--json"])
            return json.loads(capsys.readouterr().out) if code == 0 else None

        heads = {t: run.reader.head(t).ref for t, _ in run.threads if "" in run.reader.saver.namespaces(t)}
        channels = {channel for ref in heads.values() for channel in Inspection(run.reader, ref).values()}
        for channel in sorted(channels):
            one_by_one = {thread_id: printed(thread_id, channel) for thread_id in heads}
            slowly = {thread_id: one["value"] for thread_id, one in one_by_one.items() if one is not None}
            rows = printed("--each", channel)["values"]
            quickly = {row["thread_id"]: row["value"] for row in rows if row["thread_id"] in heads}
            assert quickly == slowly, channel
            assert {row["checkpoint_id"] for row in rows if row["thread_id"] in heads} <= {r[2] for r in heads.values()}

    def test_since_when_each_value_stands(self, run: Run) -> None:
        """`blame` names for each part a checkpoint since which all have it, and before which fewer equal ones were."""
        with closing(Session(run.backend.url)) as session:
            for thread_id, _ in run.threads:
                for ns in run.reader.saver.namespaces(thread_id):
                    head = run.reader.head(thread_id, ns).ref
                    line = list(run.reader.lineage(thread_id, ns).line(head.checkpoint_id))
                    states = {i: Inspection(run.reader, head._replace(checkpoint_id=i)).values() for i in line}
                    for channel, value in states[head.checkpoint_id].items():
                        if is_unproven(value):
                            continue
                        lines = blame(session, thread_id, spell([channel]), ns=ns).lines
                        assert len(lines) == len(_parts(value) or [value])
                        assert not [one for one in lines if bool(one.since.by) == bool(one.since.why)]
                        for part in lines:
                            _check_since(part, channel, states)

    def test_next_and_tasks(self, run: Run) -> None:
        """Tasks have the graph's ids, names, errors and interrupts, and `next` is theirs."""
        for ref, state in run.states():
            shot = Inspection(run.reader, ref).snapshot()
            assert Counter(map(mine, shot.tasks)) == Counter(map(theirs, state.tasks)), ref
            assert shot.complete
            assert sorted(task.node or "" for task in shot.tasks) == sorted(state.next)

    def test_heads(self, run: Run) -> None:
        """Of a thread's head, what still runs and which questions wait is what the graph says now.

        ``get_state`` has no tasks of error handlers, so not their questions either; ``invoke`` returns those.
        """
        for thread_id, graph in run.threads:
            now = graph.get_state({"configurable": {"thread_id": thread_id}})
            shot = Inspection(run.reader, run.reader.head(thread_id).ref).snapshot()
            assert sorted(shot.next or []) == sorted(now.next)
            of_tasks = [one for task in shot.tasks if task.status is Status.WAITING for one in task.open]
            assert sorted(one.id or "" for one in of_tasks) == sorted(one.id for one in now.interrupts)
            of_handlers = [one for task in shot.handlers.values() if task.status is Status.WAITING for one in task.open]
            assert shot.interrupts == ([] if shot.consumed else [*of_tasks, *of_handlers])

    def test_abilities(self, run: Run) -> None:
        """A database made by the official saver of today can do what the README says of its kind."""
        saver = run.reader.saver
        assert not broken(saver.name, saver.abilities)

    def test_stats_count_what_the_library_lists(self, run: Run) -> None:
        """Checkpoints and writes are those of the official saver; the writes on heads show who waits or failed."""
        saver, listed = run.reader.saver, Counter[str]()
        with run.backend.official() as official:
            for _, state in run.states():
                item = official.get_tuple(state.config)
                listed[Part.CHECKPOINT] += 1
                listed[Part.WRITE] += len(item.pending_writes or ()) if item is not None else 0
        counted = Counter[str]()
        for group in saver.groups([]):
            counted[group.part] += group.number
        assert counted[Part.CHECKPOINT] == listed[Part.CHECKPOINT] == saver.totals().checkpoints
        assert counted[Part.WRITE] == saver.totals().writes >= listed[Part.WRITE] > 0
        sizes = [*saver.thread_sizes("")]
        assert sum(one.checkpoints for one in sizes) == counted[Part.CHECKPOINT]
        quick, slow = FleetStatus(run.reader, closely=False), FleetStatus(run.reader, closely=True)
        quick.add(saver.threads_with([INTERRUPT, ERROR]))
        slow.add(saver.threads())
        assert all(quick.statuses[one] == slow.statuses[one] for one in (Status.WAITING, Status.FAILED))
        assert (quick.questions, quick.errors) == (slow.questions, slow.errors)

    def test_no_honest_step_differs(self, run: Run) -> None:
        """`verify` finds no contradiction in what a real run stored, and no step that it suspects of one."""
        with closing(Session(run.backend.url)) as session:
            view = verify(session)
            found = [(t.thread_id, one) for t in view.threads for one in t.findings if one.verdict != "unknown"]
            assert not found
            assert view.steps == sum(view.verdicts.values()) > 0

    def test_statuses(self, run: Run) -> None:
        """A thread's status follows from its head."""
        for thread_id, _ in run.threads:
            status = str(Inspection(run.reader, run.reader.head(thread_id).ref).snapshot().status)
            assert STATUSES.get(thread_id, status) == status


def _unlisted(reader: Reader, ref: Ref) -> set[str]:
    """A bare Pregel graph shows its output channels only."""
    return set() if "__start__" in reader.state(ref).versions else set(reader.state(ref).values)


def mine(task: Task) -> str:
    asked = [[rendered(interrupt.value), interrupt.id] for interrupt in task.interrupts]
    return canonical([task.id, task.node, rendered(task.error), asked])


def theirs(task: Any) -> str:
    asked = [[rendered(_stored(interrupt.value)), interrupt.id] for interrupt in task.interrupts]
    return canonical([task.id, task.name, task.error, asked])


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else list(items(value) or [value])


def _check_since(part: BlameLine, channel: str, states: dict[str, dict[str, Any]]) -> None:
    """The line's states, newest first, have the part as long as `blame` says; before that fewer equal ones.

    If it may have come at one of several checkpoints, that is the oldest of them.
    """
    counts = {i: _equal(states[i].get(channel, ABSENT), part.value) for i in states}
    ids = list(states)
    first = max(map(ids.index, [part.since.checkpoint_id, *part.since.or_at]))
    assert all(counts[i] for i in ids[: first + 1])
    if first + 1 < len(ids) and "is unknown" not in part.since.why:
        assert counts[ids[first + 1]] < counts[ids[first]] or is_unproven(states[ids[first + 1]].get(channel))


def _equal(value: Any, part: Any) -> int:
    if value is ABSENT or is_unproven(value):
        return int(value is not ABSENT)
    return sum(same(one, part) for one in [*_parts(value), *([value] if isinstance(value, list | dict) else [])])


def _appended(value: Any) -> Any:
    """The value of a delta channel whose reducer no stored value proves: the reducers of these graphs append."""
    if not is_unproven(value):
        return value
    return APPEND.replay(value.fields.get("seed", ABSENT), value.fields["writes"])


_SERDE = JsonPlusSerializer()


def _stored(value: Any) -> Any:
    """A live value as the library's own serializer would store it."""
    return Codec().decode(Payload(*_SERDE.dumps_typed(value)))
