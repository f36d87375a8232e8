"""Which checkpoints LangGraph.js wrote; the defaults of channels that it stores.

Its checkpoints differ from those of Python in few places: numbers as versions, a timestamp that ends with Z, Sends as
plain objects.
"""

from collections.abc import Iterable
from typing import Any

from ckpt_cli.history.state.channels import START, TASKS, is_control
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.state import State


def is_javascript_body(ts: Any, versions: Iterable[Any]) -> bool:
    """Whether the parts of a checkpoint show that LangGraph.js wrote it, so that its values are JSON for JavaScript.

    Its times end in Z, as those of Python never do, and its versions are numbers.
    """
    return isinstance(ts, str) and ts.endswith("Z") and all(type(version) is int for version in versions)


def writes_javascript(state: State) -> bool:
    """The same of a decoded checkpoint."""
    return is_javascript_body(state.ts, state.versions.values())


def is_javascript(state: State) -> bool:
    """Whether LangGraph.js wrote a checkpoint, also one whose time another program stored without the Z.

    Then the plain Sends show it, or up to format 3 the names of channels.
    """
    if not all(isinstance(version, int) for version in state.versions.values()):
        return False
    if writes_javascript(state):
        return True
    if state.v < 4:
        return any(channel.startswith(f"{START}:") for channel in state.versions)
    packets = items(state.values.get(TASKS)) or []  # an empty list may be Python's, too
    return bool(packets) and all(isinstance(packet, dict | list) for packet in packets)


def stored_defaults(state: State) -> dict[str, Any]:
    """Channel to value, of the channels to which nothing was written yet: LangGraph.js stores their defaults.

    They have no version (langgraphjs 1.7.3 ``channels/base.ts: createCheckpoint``); Python stores no such value, and
    neither does LangGraph.js in Postgres, where values are stored by version.
    """
    defaults = {channel: value for channel, value in state.values.items() if channel not in state.versions}
    if not defaults or not is_javascript(state):
        return {}
    return {channel: value for channel, value in defaults.items() if not is_control(channel, state)}
