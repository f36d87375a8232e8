"""The tokens that messages record under ``usage_metadata``, and which node they belong to.

The fields are those of langchain-core 1.0 ``messages/ai.py: UsageMetadata``.
"""

from collections.abc import Iterable, Iterator
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


class PlacedTokens:
    """Gives the tokens of each message to the first task of a node that wrote it, and to no other.

    A message that came from outside (an input, an update), or that was there before the first recorded task, belongs to
    no node, even if nodes write it again. A subgraph's input has messages of the graph above: only a task of a graph
    above may have made them.
    """

    def __init__(self) -> None:
        self._known = set[str | int]()
        self._given = (0, 0)
        self._copied: dict[str | int, tuple[int, Usage]] = {}

    @property
    def unplaced(self) -> tuple[int, int]:
        """The input and output tokens of messages that belong to no node."""
        copied = [usage for _, usage in self._copied.values()]
        return self._given[0] + sum(one.input for one in copied), self._given[1] + sum(one.output for one in copied)

    def add_written(self, value: Any, depth: int) -> tuple[int, int]:
        """Add what a task wrote, and give the tokens that are its own; `depth` is that of its graph."""
        return self._add(usage for usage in usages(value) if self._is_new(usage.key, depth))

    def add_given(self, value: Any) -> None:
        """Add what no task of a node made."""
        read, wrote = self._add(usage for usage in usages(value) if self._is_new(usage.key, -1))
        self._given = self._given[0] + read, self._given[1] + wrote

    def add_copied(self, value: Any, depth: int) -> None:
        """Add the input of a subgraph at a depth."""
        for usage in usages(value):
            if self._is_new(usage.key, depth):
                self._copied[usage.key] = depth, usage

    def _is_new(self, key: str | int, depth: int) -> bool:
        return key not in self._known and (key not in self._copied or depth < self._copied[key][0])

    def _add(self, found: Iterable[Usage]) -> tuple[int, int]:
        read = wrote = 0
        for usage in found:
            if usage.key not in self._known:
                self._known.add(usage.key)
                self._copied.pop(usage.key, None)
                read, wrote = read + usage.input, wrote + usage.output
        return read, wrote


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
