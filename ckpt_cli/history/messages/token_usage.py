"""`usages`: the tokens that messages record under ``usage_metadata``.

The fields are those of langchain-core 1.0 ``messages/ai.py: UsageMetadata``.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ckpt_cli.history.diff.element_keys import digest
from ckpt_cli.values.langgraph_values import message_fields, overwrite
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import parts

FIELD = "usage_metadata"
_DEPTH = 3  # lists and dicts around a message: a node's output is at most a dict of lists
_DEEPEST = 40
_FIELD = FIELD.encode()


class Usage(NamedTuple):
    """The tokens of one message.

    Attributes:
        message_id: None if it has none.
        fields: those of the message.
    """

    message_id: str | None
    input: int
    output: int
    total: int
    fields: dict[str, Any]

    def nameless_key(self) -> int:
        """The digest of the message without its id: equal before and after ``add_messages`` gave it one."""
        return digest({name: value for name, value in self.fields.items() if name != "id"}, raw=False)


def usages(value: Any, depth: int = _DEPTH) -> Iterator[Usage]:
    """The tokens of each message in a written value, in the order of the messages."""
    if (replaced := overwrite(value)) is not None:
        value = replaced.value
    known = message_fields(value)
    if known is not None:
        yield from _usage(known[1])
    elif depth and isinstance(value, list | tuple | dict):
        for _, item in parts(value):
            yield from usages(item, depth - 1)


def usages_within(value: Any, depth: int = _DEEPEST) -> Iterator[Usage]:
    """The tokens of each message anywhere in a value: in objects, and in lists and dicts at any depth."""
    if isinstance(value, Node) and value.raw is not None and _FIELD not in value.raw:
        return
    if (known := message_fields(value)) is not None:
        yield from _usage(known[1])
    elif depth:
        for _, item in parts(value):
            yield from usages_within(item, depth - 1)


def _usage(fields: dict[str, Any]) -> Iterator[Usage]:
    usage = fields.get(FIELD)
    if isinstance(usage, Node):
        usage = usage.fields
    if not isinstance(usage, dict):
        return
    numbers = [usage.get(name) for name in ("input_tokens", "output_tokens", "total_tokens")]
    counted, produced, total = (number if isinstance(number, int) else 0 for number in numbers)
    own_id = fields.get("id")
    yield Usage(
        own_id if isinstance(own_id, str) and own_id else None, counted, produced, total or counted + produced, fields
    )
