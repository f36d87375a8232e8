"""What old metadata records about a step under ``writes``: node to output, and values by channel.

Releases that record it: langgraph 0.0.69 to 0.4, LangGraph.js to 0.2.
"""

from typing import Any

from ckpt_cli.history.state.channels import START


def values_by_channel(outputs: Any, source: str) -> dict[str, list[Any]]:
    """Channel to the values that were written to the channel.

    Metadata stores an input either as the application passed it or under ``__start__``.
    """
    by_channel: dict[str, list[Any]] = {}
    for output in outputs_by_node(outputs, source).values():
        for part in output if isinstance(output, list) and _all_dicts(output) else [output]:
            if isinstance(part, dict):
                for channel, value in part.items():
                    by_channel.setdefault(str(channel), []).append(value)
            elif part is not None:
                by_channel.setdefault("__root__", []).append(part)
    return by_channel


def outputs_by_node(outputs: Any, source: str) -> dict[str, Any]:
    """The output of each node, from metadata's ``writes``; {} if it records none."""
    if not isinstance(outputs, dict):
        return {} if outputs is None else {START: outputs}
    if source == "input" and outputs.keys() != {START}:
        return {START: outputs}
    return {str(node): output for node, output in outputs.items()}


def _all_dicts(output: list[Any]) -> bool:
    return bool(output) and all(isinstance(part, dict) for part in output)
