"""The tokens that messages record under ``usage_metadata``.

The fields are those of langchain-core 1.0 ``messages/ai.py: UsageMetadata``.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ckpt_cli.history.diff.align import digest
from ckpt_cli.values.langgraph_values import message_fields, overwrite
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import parts

FIELD = "usage_metadata"
_DEPTH = 3  # lists and dicts around a message: a node's output is at most a dict of lists


class Usage(NamedTuple):
    """The tokens of one message.

    Attributes:
        key: the message's id, or the digest of its content if it has none: a message that is stored again has the same.
    """

    key: str | int
    input: int
    output: int
    total: int


def usages(value: Any, depth: int = _DEPTH) -> Iterator[Usage]:
    """The tokens of each message in a written value, in the order of the messages."""
    if (replaced := overwrite(value)) is not None:
        value = replaced.value
    known = message_fields(value)
    if known is not None:
        yield from _usage(value, known[1])
    elif depth and isinstance(value, list | tuple | dict):
        for _, item in parts(value):
            yield from usages(item, depth - 1)


def _usage(value: Any, fields: dict[str, Any]) -> Iterator[Usage]:
    usage = fields.get(FIELD)
    if isinstance(usage, Node):
        usage = usage.fields
    if not isinstance(usage, dict):
        return
    numbers = [usage.get(name) for name in ("input_tokens", "output_tokens", "total_tokens")]
    counted, produced, total = (number if isinstance(number, int) else 0 for number in numbers)
    own_id = fields.get("id")
    yield Usage(
        own_id if isinstance(own_id, str) and own_id else digest(value), counted, produced, total or counted + produced
    )
