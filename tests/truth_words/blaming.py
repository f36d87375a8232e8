"""Compares what ``blame`` and ``verify`` say of a history that nobody altered with what the library says of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from langgraph.types import StateSnapshot

from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.verify import verify
from ckpt_cli.errors import CkptError
from ckpt_cli.history.state.paths import parse
from ckpt_cli.views.blame import BlameLine, BlameView
from tests.commands.asking import at, look
from tests.truth_words.values import Values, differ, is_empty, ours

ABSENT = object()


def false_faults(path: Path) -> Iterator[str]:
    """What ``verify`` calls proven of a history that nobody altered."""
    for thread in at(path, verify).threads:
        for finding in thread.findings:
            if finding.verdict == "differs":
                yield f"verify {finding.channel} {finding.kind}: {finding.why} {finding.checkpoints}"


def false_origins(
    path: Path, ns: str, states: Mapping[str, Values], truth: Mapping[str, StateSnapshot]
) -> Iterator[str]:
    """Parts of the head's channels that stand since another checkpoint, or of another node, than ``blame`` says."""
    head = max(states)
    for channel, value in states[head].items():
        if is_empty(value):
            continue
        view = look(path, lambda session, channel=channel: _blame(session, channel, ns))[0]
        for line in view.lines if isinstance(view, BlameView) else ():
            if (wrong := _wrong(line, channel, head, states, truth)) is not None:
                yield f"blame {line.path} since {line.since.checkpoint_id}: {wrong}"


def _blame(session: Any, channel: str, ns: str) -> Any:
    try:
        return blame(session, "t", f'["{channel}"]', ns=ns)
    except CkptError:  # a delta channel whose reducer nothing proves
        return None


def _wrong(
    line: BlameLine, channel: str, head: str, states: Mapping[str, Values], truth: Mapping[str, StateSnapshot]
) -> str | None:
    """What the library contradicts in one line; None if nothing."""
    steps, since = parse(line.path)[1:], line.since
    part, at_id = ours(line.value), head
    while True:
        now = states[at_id].get(channel, ABSENT)
        if not _has(now, steps, part):
            return f"{part} isn't in {now} at {at_id}"
        if at_id == since.checkpoint_id:
            break
        at_id = _parent(truth[at_id])
        if at_id not in states:
            return "not on the head's line"
    before = _parent(truth[at_id])
    if before in states and not line.unread_before and _stands(states[before].get(channel, ABSENT), now, steps, part):
        return f"{part} was in {before} already"
    handler = (since.node or "").startswith("__error_handler__")  # the library lists no tasks of handlers
    if (
        since.by == "node"
        and since.node
        and before in truth
        and not handler
        and since.node not in _tasks(truth[before])
    ):
        return f"{since.node} did not run at {before}"
    if since.source != truth[at_id].metadata["source"]:
        return f"{since.source} is {truth[at_id].metadata['source']}"
    return None


def _tasks(snapshot: StateSnapshot) -> set[str]:
    return {task.name for task in snapshot.tasks}


def _parent(snapshot: StateSnapshot) -> str:
    config: Any = snapshot.parent_config or {"configurable": {}}
    parent: str = config["configurable"].get("checkpoint_id", "")
    return parent


def _has(value: Any, steps: list[Any], part: Any) -> bool:
    if isinstance(value, list) and steps:
        return any(not differ(item, part) for item in value)
    return not differ(value.get(steps[0], ABSENT) if isinstance(value, dict) and steps else value, part)


def _stands(before: Any, now: Any, steps: list[Any], part: Any) -> bool:
    """Whether a part was surely there already; of an item, whether the list was exactly the same."""
    if isinstance(now, list) and steps:
        return not differ(before, now)
    if isinstance(before, list) and steps:
        return False
    return before is not ABSENT and _has(before, steps, part)
