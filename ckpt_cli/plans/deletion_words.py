"""What the plan of a partial deletion says: tips again, subgraphs, orphans."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ckpt_cli.model import Checkpoint, CheckpointRow
from ckpt_cli.plans.deletion_set import DeletionSet, Ids
from ckpt_cli.values.counts import count_text

_NAMED = 20  # at most this many checkpoints are named one by one


def describe_tips(deletion: DeletionSet, named: Mapping[str, set[str]], short: Callable[[str], str]) -> Iterator[str]:
    """A line about the checkpoints of the root graph that lose their writes; `named` are described apart."""
    tips = sorted(deletion.cleared.get("", set()) - named.get("", set()))
    if not tips:
        return
    more = f" and {len(tips) - _NAMED:,} more" if len(tips) > _NAMED else ""
    becomes, its = ("becomes a tip", "its") if len(tips) == 1 else ("become tips", "their")
    yield f"{', '.join(map(short, tips[:_NAMED]))}{more} {becomes} again, and the writes of {its} tasks are deleted"


def describe_rest(deletion: DeletionSet, chosen: Ids, changed: Sequence[Checkpoint]) -> Iterator[str]:
    """Lines about the subgraphs that go too, and the checkpoints that get another parent."""
    for ns in sorted(deletion.checkpoints.keys() - {""} - chosen.keys()):
        yield f"subgraph {ns}: {count_text(len(deletion.checkpoints[ns]), 'checkpoint')}"
    if changed:
        are = "is" if len(changed) == 1 else "are"
        yield f"{count_text(len(changed), 'checkpoint')} whose parent is deleted {are} kept"


def describe_orphan(row: CheckpointRow, short: str) -> str:
    """A checkpoint that would stay without a parent."""
    where = f" in {row.ns}" if row.ns else ""
    return f"{short}{where}, whose parent is {row.parent_id}"
