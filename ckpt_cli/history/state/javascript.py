"""Which checkpoints LangGraph.js wrote; the defaults of channels that it stores.

Its checkpoints differ from those of Python in few places: numbers as versions, a timestamp that ends with Z, Sends as
plain objects.
"""

from typing import Any

from ckpt_cli.history.state.channels import START, TASKS, is_control
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.state import State


def is_javascript(state: State) -> bool:
    """Whether LangGraph.js wrote a checkpoint: the versions are plain numbers, and the timestamp ends with Z.

    Python never ends a timestamp so. A program that stored the timestamp in another form leaves the plain Sends.
    """
    if not all(isinstance(version, int) for version in state.versions.values()):
        return False
    if state.ts.endswith("Z"):
        return True
    if state.v < 4:
        return any(channel.startswith(f"{START}:") for channel in state.versions)
    packets = items(state.values.get(TASKS))
    return packets is not None and all(isinstance(packet, dict | list) for packet in packets)


def stored_defaults(state: State) -> dict[str, Any]:
    """Channel to value, of the channels to which nothing was written yet: LangGraph.js stores their defaults.

    They have no version (langgraphjs 1.7.3 ``channels/base.ts: createCheckpoint``); Python stores no such value, and
    neither does LangGraph.js in Postgres, where values are stored by version.
    """
    defaults = {channel: value for channel, value in state.values.items() if channel not in state.versions}
    if not defaults or not is_javascript(state):
        return {}
    return {channel: value for channel, value in defaults.items() if not is_control(channel, state)}
