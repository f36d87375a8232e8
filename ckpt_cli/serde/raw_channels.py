"""The channels of a checkpoint's body as they are encoded, to measure and compare their bytes."""

from typing import Any

from ckpt_cli.model import Payload

Raw = bytes | str
"""An encoded value: bytes of msgpack, text of JSON."""


def raw_channels(body: Payload) -> dict[str, Raw] | None:
    """Channel to its encoded value; None if the body isn't msgpack or JSON of a checkpoint, or is damaged."""
    wire = _wire(body)
    if wire is None:
        return None
    raw: Raw | None = body.data if body.tag.endswith("msgpack") else _text(body.data)
    for step in [*(["checkpoint"] if "@" in body.tag else []), "channel_values"]:
        members = None if raw is None else wire.members(raw)
        raw = next((value for key, _, value in members or () if key == step), None)
    channels = None if raw is None else wire.members(raw)
    return None if channels is None else {str(key): value for key, _, value in channels}


def common_elements(new: Raw, old: Raw) -> int:
    """The bytes of the elements with which two encoded lists both begin; 0 for other values."""
    if type(new) is not type(old):
        return 0
    wire = _wire(Payload("msgpack" if isinstance(new, bytes) else "json", b""))
    elements, before = (wire.elements(raw) if wire is not None else None for raw in (new, old))
    same = 0
    for one, other in zip(elements or (), before or (), strict=False):
        if one != other:
            break
        same += size(one)
    return same


def size(raw: Raw) -> int:
    """The length of an encoded value in bytes."""
    return len(raw) if isinstance(raw, bytes) else len(raw.encode("utf-8", "surrogatepass"))


def _wire(body: Payload) -> Any:
    kind = body.tag.rpartition("@")[2]
    if kind == "msgpack":
        from ckpt_cli.serde.msgpack_write import MsgpackWire

        return MsgpackWire()
    if kind in ("json", "redis-json", "") and body.data[:1] != b"\x80":
        from ckpt_cli.serde.lcjson_write import JsonWire

        return JsonWire("")
    return None


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
