"""`Codec`: the one door between payloads and values; it looks the type tag up and never raises for bad bytes."""

from typing import Any

from ckpt_cli.model import Payload


class Codec:
    """Decodes and encodes payloads; holds the AES key and the cache that decodes equal bytes once."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key

    def decode(self, payload: Payload) -> Any:
        """A payload's value; what can't be decoded is a BROKEN node, at the top or where it stands."""
        raise NotImplementedError

    def encode(self, value: Any, like: Payload) -> Payload:
        """A value in the encoding of `like`; `like` itself where the value is what `like` decodes to."""
        raise NotImplementedError
