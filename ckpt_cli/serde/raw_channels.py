"""The channels of a checkpoint's body as they are encoded, to measure and compare their bytes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ckpt_cli.model import Payload
from ckpt_cli.serde import msgpack_spans

Raw = bytes | str
"""An encoded value: bytes of msgpack, text of JSON."""
_NONE: Mapping[str, Raw] = MappingProxyType({})
_CHANNELS = b"\xaechannel_values"  # as msgpack encodes the key


def raw_channels(body: Payload, before: Mapping[str, Raw] = _NONE) -> dict[str, Raw] | None:
    """Channel to its encoded value; None if the body isn't msgpack or JSON of a checkpoint, or is damaged.

    With the channels of the checkpoint before, a list that grew is walked over only from its first new element on.
    """
    if body.tag == "msgpack" and before and (known := _channels_after(body.data, before)) is not None:
        return known
    wire = _wire(body)
    if wire is None:
        return None
    raw: Raw | None = body.data if body.tag.endswith("msgpack") else _text(body.data)
    for step in [*(["checkpoint"] if "@" in body.tag else []), "channel_values"]:
        members = None if raw is None else wire.members(raw)
        raw = next((value for key, _, value in members or () if key == step), None)
    channels = None if raw is None else wire.members(raw)
    return None if channels is None else {str(key): value for key, _, value in channels}


def _channels_after(data: bytes, before: Mapping[str, Raw]) -> dict[str, Raw] | None:
    """What `raw_channels` gives for a body of msgpack; None also if a name isn't text, or comes twice."""
    channels: dict[str, Raw] | None = None
    try:
        if not msgpack_spans.is_map(data):
            return None
        body, keys = msgpack_spans.head(data, 0), set[bytes]()
        at = body.start
        for _ in range(body.size):
            start, at = at, msgpack_spans.end(data, at)
            keys.add(data[start:at])
            if data[start:at] != _CHANNELS:
                at = msgpack_spans.end(data, at)
                continue
            channels, at = _members(data, at, before)
    except (msgpack_spans.DamageError, ValueError):
        return None
    return channels if len(keys) == body.size else None


def split_body(body: Payload, before: Mapping[str, Raw] = _NONE) -> tuple[Payload, dict[str, Raw]] | None:
    """A body without its channels, and each channel's encoded value; None if it isn't msgpack, or is damaged.

    What comes behind the channels isn't walked over, so that only decoding it shows whether it is damaged. The channels
    of the checkpoint before spare most of the walk, as in `raw_channels`.
    """
    from ckpt_cli.serde.msgpack_write import map_header

    data = body.data
    try:
        if body.tag != "msgpack" or not msgpack_spans.is_map(data):
            return None
        whole = msgpack_spans.head(data, 0)
        at = whole.start
        for _ in range(whole.size):
            start, at = at, msgpack_spans.end(data, at)
            if data[start:at] == _CHANNELS:
                channels, at = _members(data, at, before)
                return Payload("msgpack", map_header(whole.size - 1) + data[whole.start : start] + data[at:]), channels
            at = msgpack_spans.end(data, at)
    except (msgpack_spans.DamageError, ValueError):
        pass
    return None


def _members(data: bytes, at: int, before: Mapping[str, Raw]) -> tuple[dict[str, Raw], int]:
    """The members of the map at `at`, and where the map ends.

    Raises:
        DamageError: the bytes end inside it.
        ValueError: it is no map of distinct texts.
    """
    found, members = msgpack_spans.head(data, at), dict[str, Raw]()
    if found.kind != msgpack_spans.MAP:
        raise ValueError("not a map")
    at = found.start
    for _ in range(found.size):
        key = msgpack_spans.head(data, at)
        if key.kind != msgpack_spans.STR:
            raise ValueError("not a text")
        name, start = data[key.start : key.end].decode(), key.end
        known = before.get(name)
        if isinstance(known, bytes) and data.startswith(known, start):
            members[name], at = known, start + len(known)  # no encoded value is the beginning of another one
            continue
        at = msgpack_spans.end_after(data, start, known) if isinstance(known, bytes) else msgpack_spans.end(data, start)
        members[name] = data[start:at]
    if len(members) < found.size:
        raise ValueError("a key twice")
    return members, at


def common_elements(new: Raw, old: Raw) -> int:
    """The bytes of the elements with which two encoded lists both begin; 0 for other values."""
    if isinstance(new, bytes) and isinstance(old, bytes) and (array := msgpack_spans.common_array(new, 0, old)):
        return len(old) - array.start
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
