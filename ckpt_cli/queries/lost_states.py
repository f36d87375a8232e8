"""What writes show by themselves, if the state can't be read or the row of the checkpoint is lost."""

from contextlib import suppress

from ckpt_cli.errors import CheckpointNotFound, CkptError, KeyMissing, PayloadCorrupt
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.step_nodes import StepNodes
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import command, ns_option

_CHILDREN = 3  # the states of so many children are read; they name the nodes that ran


def find_writes(reader: Reader, thread_id: str, rev: str, ns: str) -> Ref:
    """The checkpoint that a revision names; also one whose row is lost, if writes are still stored on it.

    A lost checkpoint is named by its id, or by the beginning of the id if a stored checkpoint has it as its parent.

    Raises:
        CheckpointNotFound: there is neither a row nor a write.
    """
    try:
        return reader.resolve(thread_id, rev, ns).ref
    except CheckpointNotFound:
        lost = _lost_checkpoint(reader, thread_id, rev, ns)
        if lost is None:
            raise
        return lost


def _lost_checkpoint(reader: Reader, thread_id: str, rev: str, ns: str) -> Ref | None:
    lineage = reader.lineage(thread_id, ns)
    parents = {lost for i in lineage.rows if (lost := lineage.missing(i)) is not None}
    named = [i for i in parents if rev and (i.startswith(rev) or i.rpartition("-")[2].startswith(rev))]
    refs = [Ref(thread_id, ns, i) for i in ([rev] if rev in parents or len(named) != 1 else named)]
    return next((ref for ref in refs if reader.writes(ref, values=0)), None)


def step_nodes_without_state(reader: Reader, ref: Ref) -> StepNodes:
    """Names nodes by the metadata and writes around a checkpoint, and by the states of its first children."""
    thread_id, ns, checkpoint_id = ref
    lineage = reader.lineage(thread_id, ns)
    attribution = WriteAttribution(lineage)
    children = [row.checkpoint_id for row in lineage.rows.values() if row.parent_id == checkpoint_id][:_CHILDREN]
    around = [*children, *([checkpoint_id] if checkpoint_id in lineage else [])]
    refs = [Ref(thread_id, ns, i) for i in attribution.relatives(around)]
    notes = {r.checkpoint_id: note(reader.value(p), r.checkpoint_id) for r, p in reader.saver.metadata(refs)}
    sources = attribution.sources(around) | {checkpoint_id}
    attribution.fill(notes, reader.writes_by_checkpoint(thread_id, ns, sources))
    step_nodes = StepNodes(
        attribution,
        ns,
        lambda: reader.saver.namespaces(thread_id),
        lambda i: reader.state_if_readable(Ref(thread_id, ns, i)),
    )
    for child in children:
        with suppress(PayloadCorrupt):
            step_nodes.learn(reader.state(Ref(thread_id, ns, child)))
    return step_nodes


def explain_lost_state(reader: Reader, thread_id: str, rev: str, ns: str, error: CkptError) -> CkptError:
    """The error of a checkpoint that can't be shown, with a hint if writes are stored on it."""
    if isinstance(error, KeyMissing):
        return error
    try:
        ref = find_writes(reader, thread_id, rev, ns)
    except CheckpointNotFound:
        return error
    count = len(reader.writes(ref, values=0))
    if not count:
        return error
    lost = f"checkpoint {ref.checkpoint_id} has no row: it is lost, or was never stored"
    message = error.message if ref.checkpoint_id in reader.lineage(thread_id, ns) else lost
    stored = f"{count} {'write is' if count == 1 else 'writes are'} stored on it"
    line = command("ckpt writes", thread_id, ref.checkpoint_id, options=ns_option(ns))
    return type(error)(f"{message}; {stored}", hint=f"`{line}` shows them")
