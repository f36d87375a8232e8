"""`Note`: what metadata says about the step that made a checkpoint: source, step, parents, outputs."""

from collections.abc import Mapping
from sys import intern
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.lineage import ids

_NO_PARENTS: Mapping[str, str] = MappingProxyType({})


class Note(NamedTuple):
    """What metadata says about a checkpoint.

    Attributes:
        parents: for a subgraph's checkpoint: outer namespace to the checkpoint there that called the subgraph.
        outputs: node to its output (``writes``, up to langgraph 0.4); None if not recorded.
    """

    source: str
    step: int | None
    parents: Mapping[str, str]
    outputs: Any = None


def note(metadata: Any, checkpoint_id: str) -> Note:
    """The note of stored metadata; if it has no step, the step comes from the checkpoint id.

    Notes of a long thread share their sources, and that there are no parents: each has little of its own in memory.
    """
    recorded = metadata if isinstance(metadata, dict) else {}
    source, step, parents = recorded.get("source"), recorded.get("step"), recorded.get("parents")
    outputs = recorded.get("writes")  # a later release keeps a text or number of the application's under this name
    named = {ns: i for ns, i in parents.items() if isinstance(i, str)} if isinstance(parents, dict) else {}
    return Note(
        intern(source) if isinstance(source, str) else "",
        step if isinstance(step, int) else ids.step(checkpoint_id),
        named or _NO_PARENTS,
        None if source == "loop" and not isinstance(outputs, dict) else outputs,
    )
