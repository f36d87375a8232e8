"""The sibling that a checkpoint was copied or edited from, and beside which it was made."""

from ckpt_cli.history.integrity.parents import counted, is_made_beside
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state.delta_counters import counters
from ckpt_cli.layouts import named
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State

_READ = 50  # the metadata of so many older siblings is read
_COPIES = 50  # siblings that are read to find the original of a copy


def edited_sibling(reader: Reader, lineage: Lineage, state: State) -> State | None:
    """The checkpoint that an edit was made from and beside; None for every other checkpoint.

    What the two share came from there, though the parent of both lacks it.
    """
    if state.source != "update" or not counted(state):
        return None
    older = older_siblings(lineage, state.ref.checkpoint_id)[-_READ:]
    refs = [state.ref._replace(checkpoint_id=i) for i in older]
    read = ((ref, named(reader.value(payload))) for ref, payload in (reader.saver.metadata(refs) if refs else ()))
    edited = [ref for ref, one in read if is_made_beside(state, one.get("step"), frozenset(counters(one).items()))]
    states = (other for _, other, _ in reader.readable([max(edited)] if edited else []))
    return next((other for other in states if isinstance(other, State)), None)


def older_siblings(lineage: Lineage, checkpoint_id: str) -> list[str]:
    """The older checkpoints with the same parent, the oldest first."""
    parent, parent_id = lineage.parent(checkpoint_id), lineage.rows[checkpoint_id].parent_id
    siblings = lineage.roots if parent is None else lineage.children[parent]
    return [i for i in siblings if i < checkpoint_id and lineage.rows[i].parent_id == parent_id]


def original_of(reader: Reader, copy: Ref, channel: str) -> str | None:
    """The checkpoint that a copy has a channel from: an older sibling with the same version of the channel."""
    lineage = reader.lineage(copy.thread_id, copy.ns)
    parent = lineage.parent(copy.checkpoint_id)
    siblings = lineage.roots if parent is None else lineage.children[parent]
    older = [i for i in siblings if i < copy.checkpoint_id][-_COPIES:]
    version = reader.state(copy).versions.get(channel)
    for state in reader.states(copy._replace(checkpoint_id=i) for i in reversed(older)):
        if state.source != "fork" and version is not None and state.versions.get(channel) == version:
            return state.ref.checkpoint_id
    return None
