"""The title of a thread whose state has no message, from the input of its first checkpoint."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state import titles
from ckpt_cli.history.state.channels import BRANCH_TO, START, TASKS
from ckpt_cli.history.tasks.metadata_notes import Note, note
from ckpt_cli.history.tasks.step_changes import Change, ChangeKind, is_broken, is_for_state
from ckpt_cli.history.tasks.steps import Steps
from ckpt_cli.history.tasks.task_ids import pull_path
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.model import CheckpointRow, Payload, Ref
from ckpt_cli.output.text.brief import brief
from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.queries.step_reads import VALUE
from ckpt_cli.reading import Reader
from ckpt_cli.savers.head_reads import LoneWrites
from ckpt_cli.values.state import TaskWrite

_INPUT_BYTES = 65536  # a first checkpoint with more bytes isn't read for a title
_START_PATH = pull_path(START)
_TITLES = 1000  # titles that are kept
_TITLE = 120  # a title that is made of an input without text has at most this many terminal cells


def title_of_input(reader: Reader, first: Ref) -> str:
    """The first text of the input that the thread's first checkpoint took in; else the input in short."""
    changes = _legible(StepLines(reader, first.thread_id, first.ns).changes(first.checkpoint_id))
    title = titles.from_changes(changes) or _from_raw_input(reader, first)
    return title or (brief({change.channel: change.after for change in changes}, _TITLE) if changes else "")


def titles_of_inputs(
    reader: Reader, firsts: Mapping[Ref, CheckpointRow], known: Mapping[Ref, Payload] = MappingProxyType({})
) -> dict[Ref, str]:
    """What `title_of_input` gives for many first checkpoints, as far as their own metadata and writes decide it.

    An input without a parent was made by writes that are stored on itself, so no other checkpoint is read. All are read
    at once; left out are checkpoints of another kind, and inputs without a text. `known` metadata isn't read again.
    """
    rows = {ref: row for ref, row in firsts.items() if row.parent_id is None}
    unread = rows.keys() - known.keys()
    stored = [*reader.saver.metadata(unread)] if unread else []
    stored += [(ref, known[ref]) for ref in rows if ref in known] if unread else known.items()
    inputs = {ref: value for ref, data in stored if _is_input(value := reader.value(data))}
    title_of, found, others = _GivenTitles(reader.codec.decode), dict[Ref, str](), list[Ref]()
    for ref, given in reader.saver.lone_writes(list(inputs), _START_PATH, without=BRANCH_TO, values=VALUE):
        title = title_of(given) if given is not None else None
        if title is None:
            others.append(ref)
        elif title:
            found[ref] = title
    if others:
        found |= _titles_by_steps(reader, rows, {ref: inputs[ref] for ref in others})
    return found


def _titles_by_steps(reader: Reader, rows: dict[Ref, CheckpointRow], inputs: Mapping[Ref, Any]) -> dict[Ref, str]:
    """Titles of inputs to which other tasks wrote too, or Sends, by the metadata of each."""
    stored: dict[Ref, list[TaskWrite]] = {}
    for write in reader.saver.writes_on(list(inputs), values=VALUE):
        stored.setdefault(write.ref, []).append(TaskWrite(write, reader.codec.decode))
    others = {ref: own for ref, own in stored.items() if _have_paths(own)}
    steps, names = _steps(rows, {ref: note(inputs[ref], ref.checkpoint_id) for ref in others}, others)
    by_ref = {ref: titles.from_changes(_legible(steps.changes(name) or ())) for ref, name in names.items()}
    return {ref: title for ref, title in by_ref.items() if title}


def _is_input(metadata: Any) -> bool:
    """Whether an input made a checkpoint, and its metadata doesn't repeat what was written."""
    return isinstance(metadata, dict) and metadata.get("source") == "input" and metadata.get("writes") is None


class _GivenTitles:
    """Gives the titles of inputs that a graph's ``__start__`` task alone wrote, without attributing the writes.

    All writes of this task made the input, so each channel was given what the task wrote to it. A title is kept by the
    bytes of the writes: many threads begin with the same input.
    """

    def __init__(self, decode: Callable[[Payload], Any]) -> None:
        self._decode = decode
        self._titles: dict[tuple[tuple[str, Payload], ...], str] = {}

    def __call__(self, writes: LoneWrites) -> str | None:
        """The title, "" if there is none; None if a Send is among these writes."""
        given: list[tuple[str, Payload]] = []
        unread = set[str]()
        for channel, payload in writes:
            if channel == TASKS:
                return None
            if not is_for_state(channel):
                continue
            if payload is None:
                unread.add(channel)
            else:
                given.append((channel, payload))
        key = tuple(given) if not unread else tuple(one for one in given if one[0] not in unread)
        title = self._titles.get(key)
        if title is None:
            title = titles.from_channels(self._values(key))
            if len(self._titles) >= _TITLES:
                self._titles.clear()
            self._titles[key] = title
        return title

    def _values(self, given: Iterable[tuple[str, Payload]]) -> dict[str, Any]:
        """What was given to each channel, a list of what was given to it several times; nothing that is damaged."""
        by_channel: dict[str, list[Any]] = {}
        for channel, payload in given:
            by_channel.setdefault(channel, []).append(self._decode(payload))
        return {
            channel: values if len(values) > 1 else values[0]
            for channel, values in by_channel.items()
            if not any(map(is_broken, values))
        }


def _steps(
    rows: dict[Ref, CheckpointRow], notes: dict[Ref, Note], writes: dict[Ref, list[TaskWrite]]
) -> tuple[Steps, dict[Ref, str]]:
    """The steps of checkpoints of different threads, and the names by which they are kept apart."""
    names = {ref: str(number) for number, ref in enumerate(writes)}
    attribution = WriteAttribution(Lineage(rows[ref]._replace(checkpoint_id=name) for ref, name in names.items()))
    attribution.fill({names[ref]: notes[ref] for ref in names}, {names[ref]: writes[ref] for ref in names})
    return Steps(attribution), names


def _have_paths(writes: Sequence[TaskWrite]) -> bool:
    """Whether the order of these writes is known without the tasks of other checkpoints."""
    return all(write.row.task_path for write in writes) or len({write.task_id for write in writes}) == 1


def _legible(changes: Iterable[Change]) -> list[Change]:
    return [change for change in changes if change.kind not in (ChangeKind.UNREAD, ChangeKind.UNREADABLE)]


def _from_raw_input(reader: Reader, ref: Ref) -> str:
    """A title from the raw input, which is only stored in the first checkpoint."""
    row = reader.saver.row(ref)
    if row is None or (row.size or 0) > _INPUT_BYTES:
        return ""
    try:
        values = reader.state(ref).values
    except PayloadCorrupt:
        return ""
    value = values.get("__start__")
    return titles.from_input(value) or ("" if value in (None, {}, []) else brief(value, _TITLE))
