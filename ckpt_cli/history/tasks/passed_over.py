"""Due nodes that no run starts, because ``updated_channels`` lacks the join that makes them due."""

from collections.abc import Sequence

from ckpt_cli.history.state.channels import newer, target
from ckpt_cli.history.tasks.next_tasks import ready
from ckpt_cli.values.state import State


def passed_over(state: State) -> list[str]:
    """The nodes behind joins that are complete at a checkpoint and that its ``updated_channels`` leaves out.

    ``get_state`` compares versions and lists such a node. A run that goes on from the stored checkpoint asks only the
    nodes that the updated channels trigger (langgraph 1.2 ``pregel/_algo.py: prepare_next_tasks``, ``_loop.py:
    __enter__``). A join's own set of names is stored in the background, so it may have a name that came a step later.
    """
    if not state.updated:
        return []
    updated = {target(channel) for channel in state.updated}
    joins = [c for c in state.values if c.startswith("join:") and ready(c, state.values[c]) and c in state.versions]
    due = {target(c): c for c in joins if newer(state.versions[c], state.seen.get(target(c) or "", {}).get(c))}
    return sorted(node for node in due if node is not None and node not in updated)


def passed_over_words(nodes: Sequence[str]) -> str:
    """Says that the next run doesn't start these nodes."""
    they, them, join = ("it is", "it", "its join") if len(nodes) == 1 else ("they are", "them", "their joins")
    due = f"though {they} due and get_state lists {them}"
    return f"the next run doesn't start {', '.join(nodes)}, {due}: updated_channels lacks {join}"
