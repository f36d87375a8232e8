"""The words for edges of an observed graph: their kinds, their count, and sources that are no node."""

from ckpt_cli.history.state.channels import END
from ckpt_cli.output.theme import TIMES
from ckpt_cli.views.graph import EdgeView

ENDS = "END"
UPDATE, COMMAND, UNKNOWN = "update_state", "Command input", "a task of an unknown node"
_KINDS = {"send": " Send", "join": " join", "error": " on error"}


def source_of(edge: EdgeView) -> str:
    """The source of an edge that no known node took."""
    return {"update": UPDATE, "command": COMMAND}.get(edge.by, UNKNOWN)


def target_of(edge: EdgeView) -> str:
    """The target as people read it."""
    return "an unreadable Send" if edge.target is None else ENDS if edge.target == END else edge.target


def label(edge: EdgeView) -> str:
    """``2×``, ``12× Send``."""
    return f"{edge.count:,}{TIMES}{_KINDS.get(edge.kind, '')}"
