"""A trace as Chrome trace JSON (Trace Event Format), which ui.perfetto.dev and chrome://tracing open."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ckpt_cli.history.lineage.ids import unix_time
from ckpt_cli.output.line import Line
from ckpt_cli.output.text.contributors import name_of
from ckpt_cli.views.trace import TaskLine, TraceStep, TraceView

_MICROSECONDS = 1_000_000
_WAITS, _TASKS = "waits", "task"


class _Event(NamedTuple):
    """A complete event, on the track with this kind and number of this process."""

    pid: int
    kind: str
    number: int
    begin: int
    duration: int
    fields: dict[str, Any]


def source(view: TraceView) -> Iterator[Line]:
    """One event on each line: a process for each graph, tracks for tasks that ran beside each other, and for waits."""
    yield [("", '{"displayTimeUnit":"ms","traceEvents":[')]
    events = list(_events(view))
    for place, event in enumerate(events):
        yield [("", json.dumps(event, separators=(",", ":")) + ("," if place < len(events) - 1 else ""))]
    yield [("", "]}")]


def _events(view: TraceView) -> Iterator[dict[str, Any]]:
    graphs = {path: number for number, path in enumerate(dict.fromkeys(step.path for step in view.steps), 1)}
    for path, pid in graphs.items():
        yield _named("process_name", pid, pid, path.replace("|", " > ") or view.thread_id)
    placed = list(_placed(view, graphs))
    tracks = sorted({(one.pid, one.kind != _WAITS, one.number): one.kind for one in placed}.items())
    tids = {(pid, kind, number): tid for tid, ((pid, _, number), kind) in enumerate(tracks, 1)}
    for (pid, kind, number), tid in tids.items():
        yield _named("thread_name", pid, tid, f"{kind} {number}" if kind == _TASKS or number > 1 else kind)
    for pid, kind, number, begin, duration, fields in placed:
        yield {"ph": "X", "ts": begin, "dur": duration, "pid": pid, "tid": tids[pid, kind, number], **fields}


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _placed(view: TraceView, graphs: Mapping[str, int]) -> Iterator[_Event]:
    """The events by time, each on the first track of its process that is free.

    Events of a track must not overlap; a subgraph that several tasks called at once has tracks for each call.
    """
    timed = [(*_times(step), step) for step in view.steps if step.started is not None and step.seconds is not None]
    free: dict[tuple[int, str], list[int]] = {}
    for begin, end, step in sorted(timed, key=lambda one: one[:2]):
        for kind, fields in _step(step):
            ends = free.setdefault((graphs[step.path], kind), [])
            number = next((n for n, until in enumerate(ends) if until <= begin), len(ends))
            ends[number : number + 1] = [max(end, begin + 1)]
            yield _Event(graphs[step.path], kind, number + 1, begin, end - begin, fields)


def _times(step: TraceStep) -> tuple[int, int]:
    begin, end = (round((unix_time(one or "") or 0) * _MICROSECONDS) for one in (step.checkpoint_id, step.made))
    return begin, max(begin, end)


def _step(step: TraceStep) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of one superstep: its tasks have the same begin and end, because writes bear no times."""
    about = {"checkpoint": step.checkpoint_id, "step": step.step}
    if step.spent != "running":
        yield _WAITS, {"name": step.spent, "cat": "wait", "args": about}
    if step.spent != "between" or step.ran_nodes:
        for task in (one for one in step.tasks if one.kind != "none" and not one.kept):
            yield (
                _TASKS,
                {
                    "name": name_of("", task.node, task.kind),
                    "cat": step.spent,
                    "args": {**about, **_about(task)},
                },
            )


def _about(task: TaskLine) -> dict[str, Any]:
    return {name: value for name, value in task._asdict().items() if name not in ("node", "kind")}
