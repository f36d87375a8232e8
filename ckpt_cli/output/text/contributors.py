"""The names of what contributed to a thread (``trace``): nodes, calls, updates, what no task did."""

from ckpt_cli.output.theme import INSIDE

KINDS = {"none": "(no task)", "update": "(update_state)", "command": "(Command input)"}
"""The names of kinds that have no node."""


def name_of(path: str, node: str | None, kind: str) -> str:
    """``orders › find``; in brackets what no task did; ``?`` for a node that isn't known."""
    own = KINDS.get(kind) or (node or "?") + (" calls" if kind == "call" else "")
    return f" {INSIDE} ".join([*(path.split("|") if path else []), own])
