"""The changes of every step of every database agree with the states before and after it."""

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.state import channels
from ckpt_cli.history.tasks.step_changes import Change, ChangeKind
from ckpt_cli.model import Ref
from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.reading import Reader
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State
from tests.databases import DATABASES, KEYS


def described(reader: Reader) -> Iterator[StepLines]:
    """Every namespace of a database, all of it read as `log --all` would."""
    for thread in list(reader.saver.threads()):
        for ns in reader.saver.namespaces(thread.thread_id):
            lines = StepLines(reader, thread.thread_id, ns)
            deque(lines.views(list(lines.lineage.rows), compared_updates=[]), maxlen=0)
            yield lines


def steps(lines: StepLines) -> Iterator[tuple[State, State, list[Change]]]:
    """Each checkpoint that is no input, with its parent and its changes."""
    for checkpoint_id in lines.lineage.rows:
        parent = lines.lineage.parent(checkpoint_id)
        changes = lines.steps.changes(checkpoint_id)
        if parent is None or changes is None or lines.attribution.note(checkpoint_id).source == "input":
            continue
        try:
            yield (
                lines.reader.state(Ref(lines.thread_id, lines.ns, parent)),
                lines.reader.state(Ref(lines.thread_id, lines.ns, checkpoint_id)),
                changes,
            )
        except PayloadCorrupt:
            continue


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
def test_changed_channels_are_those_with_new_versions(name: str, opened: Callable[[str], Reader]) -> None:
    """A channel with the same version has no change; lists, sums and values are as the changes say."""
    reader = opened(name)
    wrong = []

    def look() -> None:
        for lines in described(reader):
            for parent, state, changes in steps(lines):
                wrong.extend(_wrong(parent, state, changes))

    reader.moment(look)
    assert wrong == []


def _wrong(parent: State, state: State, changes: list[Change]) -> Iterator[tuple[Ref, str, str]]:
    mine = set(channels.user_channels(state))
    for change in changes:
        channel = change.channel
        if channel in mine and state.versions.get(channel) == parent.versions.get(channel):
            yield state.ref, channel, "did not move"
        before, after = _items(parent.values.get(channel)), _items(state.values.get(channel))
        unknown = after is None or channel in channels.deltas(parent)
        grown = None if unknown else len(after or ()) - len(before or ())
        if change.kind is ChangeKind.ADDED and grown not in (None, change.added - change.removed):
            yield state.ref, channel, f"grew by {grown}, not by {change.added} - {change.removed}"
        yield from ((state.ref, channel, problem) for problem in _untrue(parent, state, change))


_HELD_AFTER = (ChangeKind.SET, ChangeKind.CHANGED, ChangeKind.SAME)


def _untrue(parent: State, state: State, change: Change) -> Iterator[str]:
    """What a change says about a value and isn't true; old releases kept octets in states and writes in two forms."""
    if change.channel not in state.values:
        return
    value = channels.unwrapped(state.values[change.channel])
    octets = isinstance(change.after, bytes) or (isinstance(change.after, Node) and change.after.name == "bytearray")
    if change.kind in _HELD_AFTER and not octets and not same(value, channels.unwrapped(change.after)):
        yield f"is {value!r}, not {change.after!r}"
    if change.kind is ChangeKind.SUMMED and value != parent.values.get(change.channel, 0) + change.after:
        yield f"is {value!r}, which isn't {change.after!r} more"


def _items(value: object) -> list[object] | None:
    if isinstance(value, Node) and value.form is Form.SNAPSHOT:
        value = value.state
    return value if isinstance(value, list) else None


@pytest.mark.parametrize("name", [name for name in DATABASES if name in ("real", "js") or "1." in name])
def test_every_step_has_its_nodes(name: str, opened: Callable[[str], Reader]) -> None:
    """Since langgraph 1.0 each step whose tasks left writes has the nodes that made it, with or without task paths."""
    reader = opened(name)
    unknown = []

    def look() -> None:
        for lines in described(reader):
            for checkpoint_id in lines.lineage.rows:
                made = lines.attribution.credited(checkpoint_id)
                entry = any(write.channel == "__end__" for write in made or ())
                if lines.attribution.note(checkpoint_id).source == "loop" and made and not entry:
                    nodes = lines.step_nodes.nodes(checkpoint_id)
                    if not nodes or "?" in nodes:
                        unknown.append(Ref(lines.thread_id, lines.ns, checkpoint_id))

    reader.moment(look)
    assert unknown == []
