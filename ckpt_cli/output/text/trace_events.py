"""A trace as Chrome trace JSON (Trace Event Format), which ui.perfetto.dev and chrome://tracing open."""

import json
from collections.abc import Iterator
from typing import Any

from ckpt_cli.history.lineage.ids import unix_time
from ckpt_cli.output.line import Line
from ckpt_cli.output.text.contributors import name_of
from ckpt_cli.views.trace import TaskLine, TraceStep, TraceView

_MICROSECONDS = 1_000_000
_WAITS = 0  # the track of what is no task: waits, and the time between runs


def source(view: TraceView) -> Iterator[Line]:
    """One event on each line: a process for each graph, a track for each task of a superstep, and one for waits."""
    yield [("", '{"displayTimeUnit":"ms","traceEvents":[')]
    events = list(_events(view))
    for place, event in enumerate(events):
        yield [("", json.dumps(event, separators=(",", ":")) + ("," if place < len(events) - 1 else ""))]
    yield [("", "]}")]


def _events(view: TraceView) -> Iterator[dict[str, Any]]:
    graphs = {path: number for number, path in enumerate(dict.fromkeys(step.path for step in view.steps), 1)}
    for path, number in graphs.items():
        name = path.replace("|", " > ") or view.thread_id
        yield {"ph": "M", "name": "process_name", "pid": number, "tid": _WAITS, "args": {"name": name}}
        yield {"ph": "M", "name": "thread_name", "pid": number, "tid": _WAITS, "args": {"name": "waits"}}
    for step in view.steps:
        if step.started is not None and step.seconds is not None:
            yield from _step(step, graphs[step.path])


def _step(step: TraceStep, pid: int) -> Iterator[dict[str, Any]]:
    """The events of one superstep: its tasks have the same begin and end, because writes bear no times."""
    begin, end = (round((unix_time(one or "") or 0) * _MICROSECONDS) for one in (step.checkpoint_id, step.made))
    common = {"ph": "X", "ts": begin, "dur": max(end - begin, 0), "pid": pid}
    about = {"checkpoint": step.checkpoint_id, "step": step.step}
    if step.spent != "running":
        yield {**common, "name": step.spent, "cat": "wait", "tid": _WAITS, "args": about}
    if step.spent != "between":
        tasks = [task for task in step.tasks if task.kind != "none"]
        for track, task in enumerate(tasks, 1):
            name = name_of("", task.node, task.kind)
            yield {**common, "name": name, "cat": step.spent, "tid": track, "args": {**about, **_about(task)}}


def _about(task: TaskLine) -> dict[str, Any]:
    return {name: value for name, value in task._asdict().items() if name not in ("node", "kind")}
