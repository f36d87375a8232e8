"""What is told of every step of every database agrees with the states before and after it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.state import channels
from ckpt_cli.history.tasks.step_changes import Change, Kind
from ckpt_cli.model import Ref
from ckpt_cli.queries.step_lines import Describer
from ckpt_cli.reading import Reader
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State
from tests.databases import DATABASES, KEYS


def described(reader: Reader) -> Iterator[Describer]:
    """Every namespace of a database, all of it read as `log --all` would."""
    for thread in list(reader.saver.threads()):
        for ns in reader.saver.namespaces(thread.thread_id):
            describer = Describer(reader, thread.thread_id, ns)
            every = list(describer.lineage.rows)
            describer.read_notes(every)
            describer.read_writes(every)
            describer.read_around(every)
            describer.read_tips(every)
            yield describer


def steps(describer: Describer) -> Iterator[tuple[State, State, list[Change]]]:
    """Each checkpoint that is no input with its parent and what is told of it."""
    for checkpoint_id in describer.lineage.rows:
        parent = describer.lineage.parent(checkpoint_id)
        found = describer.steps.changes(checkpoint_id)
        if parent is None or found is None or describer.steps.note(checkpoint_id).source == "input":
            continue
        try:
            yield (
                describer.reader.state(describer.ref(parent)),
                describer.reader.state(describer.ref(checkpoint_id)),
                found,
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
def test_told_channels_are_those_that_moved(name: str, opened: Callable[[str], Reader]) -> None:
    """None is said to have changed whose version stayed; lists and sums grew by what is told, and what is there, is."""
    reader = opened(name)
    wrong = []

    def look() -> None:
        for describer in described(reader):
            for parent, state, told in steps(describer):
                wrong.extend(_wrong(parent, state, told))

    reader.moment(look)
    assert wrong == []


def _wrong(parent: State, state: State, told: list[Change]) -> Iterator[tuple[Ref, str, str]]:
    mine = set(channels.user_channels(state))
    for change in told:
        channel = change.channel
        if channel in mine and state.versions.get(channel) == parent.versions.get(channel):
            yield state.ref, channel, "did not move"
        before, after = _items(parent.values.get(channel)), _items(state.values.get(channel))
        unknown = after is None or channel in channels.deltas(parent)
        grown = None if unknown else len(after or ()) - len(before or ())
        if change.kind is Kind.ADDED and grown not in (None, change.added - change.removed):
            yield state.ref, channel, f"grew by {grown}, not by {change.added} - {change.removed}"
        yield from ((state.ref, channel, problem) for problem in _untrue(parent, state, change))


_STANDS = (Kind.SET, Kind.CHANGED, Kind.SAME)


def _untrue(parent: State, state: State, change: Change) -> Iterator[str]:
    """What is told of a value and isn't so; old releases kept octets in a state and in a write in two forms."""
    if change.channel not in state.values:
        return
    value = channels.unwrapped(state.values[change.channel])
    octets = isinstance(change.after, bytes) or (isinstance(change.after, Node) and change.after.name == "bytearray")
    if change.kind in _STANDS and not octets and not same(value, channels.unwrapped(change.after)):
        yield f"is {value!r}, not {change.after!r}"
    if change.kind is Kind.SUMMED and value != parent.values.get(change.channel, 0) + change.after:
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
        for describer in described(reader):
            for checkpoint_id in describer.lineage.rows:
                made = describer.steps.credited(checkpoint_id)
                entry = any(write.channel == "__end__" for write in made or ())
                if describer.steps.note(checkpoint_id).source == "loop" and made and not entry:
                    nodes = describer.steps.nodes(checkpoint_id)
                    if not nodes or "?" in nodes:
                        unknown.append(describer.ref(checkpoint_id))

    reader.moment(look)
    assert unknown == []
