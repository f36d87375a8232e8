"""`OneSpelling`: equal values of one version in the bytes of the first checkpoint that has it.

Where each checkpoint stores its values whole, each process writes a set in an order of its own, and LangGraph keeps the
version of a channel that nothing wrote to. A database that stores each version once would have two values for it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ckpt_cli.layouts import named
from ckpt_cli.model import Payload
from ckpt_cli.values.same import same
from ckpt_cli.values.state import Version

_VERSIONS = 4  # of each channel; branches of a thread may have different ones in turn


class OneSpelling:
    """The values of one thread's channels, checkpoint by checkpoint.

    Args:
        decode: decodes a payload.
    """

    def __init__(self, decode: Callable[[Payload], Any]) -> None:
        self._decode = decode
        self._ns: str | None = None
        self._first: dict[str, dict[Version, Payload]] = {}

    def of(self, ns: str, body: Mapping[str, Any], channels: Mapping[str, Payload]) -> dict[str, Payload]:
        """The channels of a checkpoint, each as the first checkpoint with the same version of it has an equal value.

        The checkpoints of a namespace come one after the other.
        """
        if ns != self._ns:
            self._ns, self._first = ns, {}
        versions = named(body.get("channel_versions"))
        return {name: self._spelled(name, versions.get(name), one) for name, one in channels.items()}

    def _spelled(self, channel: str, version: Any, payload: Payload) -> Payload:
        if not isinstance(version, Version):  # none, or damaged
            return payload
        known = self._first.setdefault(channel, {})
        if (first := known.get(version)) is None:
            known[version] = payload
            if len(known) > _VERSIONS:
                del known[next(iter(known))]
            return payload
        if first == payload or not same(self._decode(first), self._decode(payload)):
            return payload
        return first
