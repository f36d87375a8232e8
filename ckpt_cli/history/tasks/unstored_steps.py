"""Steps between a checkpoint and its parent: not stored, or perhaps on another branch."""

from itertools import islice

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.tasks.write_attribution import WriteAttribution


def unstored_steps(attribution: WriteAttribution, checkpoint_id: str) -> int | None:
    """The number of steps before a checkpoint that aren't stored; None if another branch has steps of these numbers.

    Their ids say so. They are another run's, or they are its own, and its parent was changed, as by a prune whose
    bundle is looked at beside what stayed.
    """
    lineage = attribution.lineage
    parent, count = lineage.parent(checkpoint_id), attribution.unstored_steps(checkpoint_id)
    last = (attribution.note(checkpoint_id).step or 0) - 1
    beside = lineage.roots if parent is None else lineage.children.get(parent, ())
    for child in beside if count else ():
        line = [*islice(lineage.descent(child), count)]
        if child != checkpoint_id and len(line) == count and ids.step(line[-1]) == last:
            return None
    return count
