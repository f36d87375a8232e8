"""What the plan of a partial deletion says: tips again, subgraphs, orphans."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ckpt_cli.model import Checkpoint, CheckpointRow
from ckpt_cli.plans.deletion_set import DeletionSet, Ids
from ckpt_cli.values.counts import count_text

_NAMED = 20  # at most this many checkpoints are named one by one


def describe_tips(
    deletion: DeletionSet, named: Mapping[str, set[str]], short: Callable[[str], str], changed: Sequence[Checkpoint]
) -> Iterator[str]:
    """Lines about the checkpoints of the root graph that lose their writes; `named` are described apart.

    One that gets a child of those `changed` is no tip.
    """
    emptied = deletion.cleared.get("", set()) - named.get("", set())
    parents = {one.row.parent_id for one in changed if not one.row.ns}
    if tips := sorted(emptied - parents):
        becomes, its = ("becomes a tip", "its") if len(tips) == 1 else ("become tips", "their")
        yield f"{_listed(tips, short)} {becomes} again, and the writes of {its} tasks are deleted"
    if passed := sorted(emptied & parents):
        yield f"the writes of the tasks of {_listed(passed, short)} are deleted, as is the step that took them in"


def _listed(ids: Sequence[str], short: Callable[[str], str]) -> str:
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return f"{', '.join(map(short, ids[:_NAMED]))}{more}"


def describe_rest(deletion: DeletionSet, chosen: Ids, changed: Sequence[Checkpoint]) -> Iterator[str]:
    """Lines about the subgraphs that go too, and the checkpoints that get another parent."""
    for ns, ids in sorted(deletion.checkpoints.items()):
        also = count_text(len(more := ids - chosen.get(ns, set())), "checkpoint")
        if more and not ns:
            yield f"among them {also} that came after the others"
        elif more and ns in chosen:
            yield f"among them {also} of subgraph {ns}, as the call that made {'it' if len(more) == 1 else 'them'} goes"
        elif more:
            yield f"subgraph {ns}: {also}"
    if changed:
        are = "is" if len(changed) == 1 else "are"
        yield f"{count_text(len(changed), 'checkpoint')} whose parent is deleted {are} kept"


def describe_orphan(row: CheckpointRow, short: str) -> str:
    """A checkpoint that would stay without a parent."""
    where = f" in {row.ns}" if row.ns else ""
    return f"{short}{where}, whose parent is {row.parent_id}"
