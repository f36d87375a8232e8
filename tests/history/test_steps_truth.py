"""The changes of every step of every database agree with the states before and after it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.state import channels
from ckpt_cli.model import Ref
from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.reading import Reader
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State
from ckpt_cli.views.steps import ChangeView, StepView
from tests.databases import DATABASES, KEYS

NOTHING, UNKNOWN = object(), object()
_OF_WRITES = ("wrote", "several", "unread", "unreadable")


def described(reader: Reader) -> Iterator[tuple[StepLines, list[StepView]]]:
    """Every namespace of a database, all of it as `log --all` would show it."""
    for thread in list(reader.saver.threads()):
        for ns in reader.saver.namespaces(thread.thread_id):
            lines = StepLines(reader, thread.thread_id, ns)
            yield lines, list(lines.views(list(lines.lineage.rows)))


def states(lines: StepLines, view: StepView) -> tuple[State | None, State] | None:
    """The states before and after a step; None for no parent, and for both if one can't be read."""
    try:
        after = lines.reader.state(Ref(lines.thread_id, lines.ns, view.checkpoint_id))
        if view.parent_id is None:
            return None, after
        return (None if view.missing else lines.reader.state(Ref(lines.thread_id, lines.ns, view.parent_id))), after
    except PayloadCorrupt:
        return None


def held(state: State | None, channel: str) -> object:
    """The value of a channel, as the library would give it."""
    if state is None or channel not in state.values:
        return UNKNOWN if state is not None and channel in channels.deltas(state) else NOTHING
    return channels.unwrapped(state.values[channel])


@pytest.fixture
def opened(database: Callable[[str], Path]) -> Iterator[Callable[[str], Reader]]:
    """Opens a database of ``tests/data``."""
    savers = []

    def give(name: str) -> Reader:
        savers.append(open_database(str(database(name)), print))
        return Reader(savers[-1], Codec(KEYS.get(name)))

    yield give
    for saver in savers:
        saver.close()


@pytest.mark.parametrize("name", DATABASES)
def test_what_a_line_says_of_a_channel_is_what_the_states_hold(name: str, opened: Callable[[str], Reader]) -> None:
    """Values, differences and counts; and where both states are readable, no line speaks of writes alone."""
    reader, wrong = opened(name), []

    def look() -> None:
        for lines, views in described(reader):
            for view in views:
                if view.changes is None or (both := states(lines, view)) is None:
                    continue
                problems = (_untrue(*both, change, view) for change in view.changes)
                wrong.extend((view.checkpoint_id, problem) for problem in filter(None, problems))

    reader.moment(look)
    assert wrong == []


def _untrue(parent: State | None, state: State, change: ChangeView, view: StepView) -> str | None:
    """What a change says that isn't so."""
    if change.channel == "__pregel_tasks" or view.source == "input" or view.missing:
        return None
    before, after = held(parent, change.channel), held(state, change.channel)
    if change.kind in _OF_WRITES:
        silent = UNKNOWN in (before, after) or after is NOTHING
        return None if silent or view.problem else f"{change.channel} is {before!r} and {after!r}: {change.text}"
    is_true = {
        "same": lambda: same(before, after) and same(change.before, before) and same(change.after, after),
        "changed": lambda: not same(before, after) and same(change.before, before) and same(change.after, after),
        "set": lambda: (UNKNOWN if change.unsure else NOTHING) is before and same(change.after, after),
        "summed": lambda: before + change.after == pytest.approx(after),
        "added": lambda: _grew(before, after, change),
        "edited": lambda: _grew(before, after, change),
        "cleared": lambda: same(change.before, before) and (after is NOTHING or after == []),
        "replaced": lambda: not same(before, after) and same(change.after, after),
    }[change.kind]()
    return None if is_true else f"{change.channel} was {before!r} and is {after!r}: {change.kind} {change.text}"


def _grew(before: object, after: object, change: ChangeView) -> bool:
    """Whether a list has as many items more as a change says, and has the items that the change shows."""
    old = before if isinstance(before, list) else []
    assert isinstance(after, list)
    shown = all(any(same(item, other) for other in after) for item in change.after)
    return shown and len(after) - len(old) == change.added - change.removed


@pytest.mark.parametrize("name", [name for name in DATABASES if name in ("real", "js") or "1." in name])
def test_every_step_has_its_nodes(name: str, opened: Callable[[str], Reader]) -> None:
    """Since langgraph 1.0 each single step whose tasks left writes has its nodes, with or without task paths."""
    reader = opened(name)
    unknown = []

    def look() -> None:
        for lines, _ in described(reader):
            for checkpoint_id in lines.lineage.rows:
                made = lines.attribution.credited(checkpoint_id)
                is_exempt = lines.attribution.spans_steps(checkpoint_id)
                is_exempt |= any(write.channel == "__end__" for write in made or ())
                if lines.attribution.note(checkpoint_id).source == "loop" and made and not is_exempt:
                    nodes = lines.step_nodes.nodes(checkpoint_id)
                    if not nodes or "?" in nodes:
                        unknown.append(Ref(lines.thread_id, lines.ns, checkpoint_id))

    reader.moment(look)
    assert unknown == []
