"""From which checkpoints ckpt can make a step, by their form: for `update` and `replay --commit`."""

from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.values.state import State

OLDEST_FORMAT = 4
"""The oldest checkpoint format in which ckpt makes steps; langgraph 0.5 and later write it."""


def may_allow_steps(state: State) -> bool:
    """Whether the checkpoint is of this format or a newer one, and not of LangGraph.js."""
    return state.v >= OLDEST_FORMAT and not is_javascript(state)
