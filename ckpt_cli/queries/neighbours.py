"""The checkpoints around one in ``show``: parent, children, the nodes that made it, branches, marks."""

from contextlib import suppress

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.state.channels import START
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.seen_nodes import last_to_see
from ckpt_cli.history.tasks.step_nodes import StepNodes
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.views.show import Link

_BRANCHES = 3  # at most this many branches are named; if there are more, only their number is shown
_MAX_SEND = 4096  # a Send with at most this many bytes is read to find the node that it calls


class Neighbours:
    """The parent and children of one checkpoint, each with its step, and the nodes that made the checkpoint."""

    def __init__(self, reader: Reader, row: CheckpointRow, lineage: Lineage) -> None:
        self._row = row
        self._lineage = lineage
        self._short = reader.short(row.thread_id)
        self._children = lineage.children.get(row.checkpoint_id, [])
        parent = lineage.parent(row.checkpoint_id)
        self._attribution = WriteAttribution(lineage)
        self._step_nodes = StepNodes(
            self._attribution,
            row.ns,
            lambda: reader.saver.namespaces(row.thread_id),
            lambda i: reader.state_if_readable(row.ref._replace(checkpoint_id=i)),
        )
        nearby_ids = [row.checkpoint_id, *self._children, *([parent] if parent is not None else [])]
        refs = [Ref(row.thread_id, row.ns, one) for one in self._attribution.relatives(nearby_ids)]
        notes = {r.checkpoint_id: note(reader.value(p), r.checkpoint_id) for r, p in reader.saver.metadata(refs)}
        writes = reader.writes_by_checkpoint(
            row.thread_id, row.ns, self._attribution.sources([row.checkpoint_id]), values=_MAX_SEND
        )
        self._attribution.fill(notes, writes)
        with suppress(PayloadCorrupt):
            self._name_nodes(reader, row)

    def _name_nodes(self, reader: Reader, row: CheckpointRow) -> None:
        """Use the checkpoint, and the one before it if that is needed, to name the nodes that made the checkpoint."""
        state, nodes = reader.state(row.ref), self._step_nodes
        nodes.learn(state)
        is_unnamed = nodes.is_unnamed(row.checkpoint_id)
        all_left_writes = not nodes.unstored_results.lost_sends(row.checkpoint_id).lost
        are_known = state.source != "loop" or (all_left_writes and last_to_see(state) - {START} == {*self.nodes})
        if not is_unnamed and are_known:
            return
        before = nodes.attribution.start_of(row.checkpoint_id)
        older = reader.state(row.ref._replace(checkpoint_id=before)) if before else None
        if is_unnamed and before is not None:
            nodes.learn_step(state, older)
        elif older is not None:
            nodes.learn_left_out(state, older)
            nodes.learn_traceless(state, older)

    @property
    def nodes(self) -> dict[str, int]:
        """The nodes that made the checkpoint, each with its number of tasks."""
        return self._step_nodes.nodes(self._row.checkpoint_id)

    @property
    def children(self) -> list[Link]:
        """The children, oldest first."""
        return [self._link(child) for child in self._children]

    @property
    def parent(self) -> Link | None:
        """The parent, even if it was never stored; None for a first checkpoint."""
        parent = self._lineage.parent(self._row.checkpoint_id)
        if parent is not None:
            return self._link(parent)
        missing = self._lineage.missing(self._row.checkpoint_id)
        return None if missing is None else Link(missing, self._short(missing), ids.step(missing), stored=False)

    def _link(self, checkpoint_id: str) -> Link:
        return Link(checkpoint_id, self._short(checkpoint_id), self._attribution.note(checkpoint_id).step)


def marks(lineage: Lineage, checkpoint_id: str) -> list[str]:
    """The marks of a checkpoint: head, tip, fork point, and its branches if the namespace has several."""
    labels = ["head"] if checkpoint_id == lineage.head else []
    children = lineage.children.get(checkpoint_id, [])
    if not children and checkpoint_id != lineage.head:
        labels.append("tip")
    if len(children) > 1:
        labels.append("fork point")
    if len(lineage.branches) > 1:
        tips = _tips(lineage, checkpoint_id)
        branches = [f"branch:{branch.number}" for branch in lineage.branches if branch.tip in tips]
        labels += branches if len(branches) <= _BRANCHES else [f"on {len(branches)} branches"]
    return labels


def _tips(lineage: Lineage, checkpoint_id: str) -> set[str]:
    """The descendants of a checkpoint that have no children; the checkpoint itself if it has none."""
    tips, unvisited = set[str](), [checkpoint_id]
    while unvisited:
        current = unvisited.pop()
        children = lineage.children.get(current, [])
        unvisited += children
        if not children:
            tips.add(current)
    return tips
