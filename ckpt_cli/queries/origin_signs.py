"""What a checkpoint's records show of who changed a channel: gaps before it, writers, candidates."""

from collections.abc import Sequence

from ckpt_cli.history.state.channels import START, unwrapped
from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.history.tasks.steps import begins_with_update
from ckpt_cli.history.tasks.value_credit import Credit, Writer
from ckpt_cli.history.tasks.write_makers import is_command, is_update
from ckpt_cli.history.tasks.write_signs import Explains
from ckpt_cli.queries.edited_siblings import edited_sibling, older_siblings
from ckpt_cli.queries.line_moments import Moment
from ckpt_cli.queries.step_reads import StepReads
from ckpt_cli.values.state import State, TaskWrite


def gap_before(reads: StepReads, checkpoint_id: str, moment: Moment, *, begins_late: bool) -> str:
    """Why the change may have been made before this checkpoint; "" if it was made here."""
    if (missing := reads.lineage.missing(checkpoint_id)) is not None:
        return f"the checkpoint before it, {missing}, isn't stored"
    if reads.lineage.circular(checkpoint_id):
        return "its parent is also its descendant"
    if moment.unknown_before:
        return f"the value at the checkpoint before it is unknown: {moment.unknown_before}"
    return "no checkpoint before it is recorded" if begins_late else ""


def begins_late(reads: StepReads, checkpoint_id: str, channel: str) -> bool:
    """Whether more than one step may have made a channel of a thread's first checkpoint, as those before it are gone.

    A channel without a version was never written; see `default_of`.
    """
    note = reads.attribution.note(checkpoint_id)
    if reads.lineage.parent(checkpoint_id) is not None or note.step is None or note.step < 0:
        return False
    if note.source != "update":
        return True
    states = (state for _, state, _ in reads.reader.readable([reads.ref(checkpoint_id)]))
    own = [state for state in states if isinstance(state, State)]
    return not any(channel in state.versions and begins_with_update(state) for state in own)


def default_of(reads: StepReads, checkpoint_id: str, channel: str) -> Credit | None:
    """The credit of a channel that has a value and no version: nothing was written to it, so it is the default.

    Python's releases before 0.3 and LangGraph.js store defaults. None of other releases, where this is no default. That
    of a later checkpoint isn't proved: an edit may leave it, too.
    """
    own = next((state for _, state, _ in reads.reader.readable([reads.ref(checkpoint_id)])), None)
    if not isinstance(own, State) or channel not in own.values or not (own.v < 2 or is_javascript(own)):
        return None
    is_first = reads.lineage.parent(checkpoint_id) is None
    return Credit("default") if is_first else Credit(why=_NEW_DEFAULT)


_NEW_DEFAULT = "the channel has no version here, so no write made it; the default of a channel that is new is stored so"


def other_causes(reads: StepReads, moment: Moment, *, is_first: bool) -> list[str]:
    """What else may be behind a value that the writes don't explain.

    `is_first` if nothing was written before them, and no default is stored there.

    Two branches share a version that is a number, and the saver keeps the value that came first; see `SharedVersions`.
    """
    is_shared = reads.reader.saver.form.apart and type(moment.version) is int and bool(reads.lineage.forks)
    default, shared = (
        "a default that isn't stored",
        "a branch that made the same version (one value is stored for both)",
    )
    return [*[default] * is_first, *[shared] * is_shared]


def edited_from(reads: StepReads, checkpoint_id: str) -> State | None:
    """The sibling that an update was made from and beside; None for others."""
    is_update = reads.attribution.note(checkpoint_id).source == "update"
    if not is_update or not older_siblings(reads.lineage, checkpoint_id):
        return None
    states = (state for _, state, _ in reads.reader.readable([reads.ref(checkpoint_id)]))
    own = next((state for state in states if isinstance(state, State)), None)
    return None if own is None else edited_sibling(reads.reader, reads.lineage, own)


def has_part(edited: State, channel: str, moment: Moment, explains: Explains) -> bool:
    """Whether the checkpoint that an update was made beside has the part already, which then isn't the update's."""
    is_kept = moment.version is not None and edited.versions.get(channel) == moment.version
    return is_kept or (channel in edited.values and explains([unwrapped(edited.values[channel])]))


def writer_of(reads: StepReads, writes: Sequence[TaskWrite], *, is_input: bool) -> Writer:
    """Whose these writes of one task are: a node's, an input's or an update's."""
    first = writes[0]
    node = None if is_command(first) or is_update(first) else reads.step_nodes.node(first)
    by = "update" if is_update(first) else "input" if is_input or is_command(first) or node == START else "node"
    values = [write.value for write in writes] if all(write.read for write in writes) else None
    return Writer(by, node if by == "node" else None, first.task_id if by == "node" else "", values)


def candidates_of(ran: Sequence[str], why: str, *, is_unwritten: bool = False) -> Credit:
    """A credit that names the nodes that ran there, as one of them may have done it."""
    names = ["input" if node == START else node for node in ran]
    return Credit(candidates=names, why=why, is_unwritten=is_unwritten)


def with_input(ran: Sequence[str]) -> Sequence[str]:
    """The nodes that ran, and the input: a ``Command`` that is given as one leaves nothing in ``versions_seen``."""
    return ran if START in ran else [*ran, START]
