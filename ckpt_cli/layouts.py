"""A stored checkpoint of either layout becomes a `State`, and back; damage; metadata and its ``parents``.

It is stored in one of two layouts: as one body, or as a header and one payload for each channel. For changes, `whole`
gives the checkpoint object with all its values, and `placed` gives an edited object in the layout of the database.
"""

from binascii import a2b_base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import is_
from typing import Any, Protocol

from ckpt_cli.errors import KeyMissing, PayloadCorrupt
from ckpt_cli.history.state.channels import is_snapshot
from ckpt_cli.model import NULL, Checkpoint, CheckpointRow, Payload, Ref
from ckpt_cli.values.langgraph_values import text
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State, Version

Decode = Callable[[Payload], Any]


class Encode(Protocol):
    """`serde.codec.Codec.encode`."""

    def __call__(self, value: Any, like: Payload) -> Payload:
        """A value in the encoding of `like`."""


_DICTS = frozenset({"channel_values", "channel_versions", "versions_seen"})
_KEYS = frozenset({"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"})
_VERSIONS = frozenset({int, str, float})
_TEXT = frozenset({str})


def state_of(checkpoint: Checkpoint, decode: Decode, sends_written_on: Callable[[Ref], list[Any]]) -> State:
    """A checkpoint, decoded.

    Args:
        checkpoint: as stored.
        decode: gives the value of a payload.
        sends_written_on: gives the Sends among the writes stored on a checkpoint. If the Ref's id is empty, it
            means the parent: some savers don't keep the parent's id.

    Raises:
        PayloadCorrupt: the body is no checkpoint object; KeyMissing if an encryption key would help.
    """
    row = checkpoint.row
    body = must_be_mapping(decode(checkpoint.body), f"checkpoint {row.checkpoint_id or row.thread_id}")
    v, ts, updated, own_id = body.get("v"), body.get("ts"), body.get("updated_channels"), body.get("id")
    versions = _versions(body.get("channel_versions"))
    seen = _versions_by_node(named(body.get("versions_seen")))
    metadata, problem = read_metadata(decode(checkpoint.metadata))
    return State(
        ref=row.ref,
        parent_id=row.parent_id,
        v=v if isinstance(v, int) else 0,
        ts=ts if isinstance(ts, str) and ts else row.checkpoint_id,
        values=_values(body, checkpoint.channels, decode),
        versions=versions,
        seen=seen,
        metadata=metadata,
        metadata_problem=problem,
        updated=[str(channel) for channel in updated] if isinstance(updated, list) else None,
        sends=_sends(body, checkpoint, decode, sends_written_on),
        damage="" if _is_sound(body, versions, seen) else _damage(body),
        own_id=own_id if isinstance(own_id, str) else "",
        blobless=_blobless(body, versions, checkpoint.channels),
    )


def _blobless(
    body: Mapping[str, Any], versions: Mapping[str, Version], channels: Mapping[str, Payload] | None
) -> frozenset[str]:
    """The channels with a version, of which neither the header nor a payload has a value.

    Every version has a payload, that of an empty channel too (checkpoint-postgres 3.2 ``base.py: _dump_blobs``).
    """
    if channels is None:
        return frozenset()
    return frozenset(versions.keys() - channels.keys() - named(body.get("channel_values")).keys())


def _is_sound(
    body: Mapping[str, Any], versions: Mapping[str, Version], seen: Mapping[str, Mapping[str, Version]]
) -> bool:
    """A quick check that no part beside the channels is damaged; if it is False, `_damage` looks closer.

    It is True if the versions needed no correction and no other part could hide a BROKEN node.
    """
    stored_seen = body.get("versions_seen")
    if versions is not body.get("channel_versions") or type(stored_seen) is not dict or len(stored_seen) != len(seen):
        return False
    flat = [type(value) for key, value in body.items() if key not in _DICTS]
    is_corrected = seen is not stored_seen and not all(map(is_, seen.values(), stored_seen.values()))
    return not is_corrected and dict not in flat and Node not in flat


def _damage(body: Mapping[str, Any]) -> str:
    """The first problem outside the channels; three levels of dicts are searched, down to a node's versions."""
    layer = [value for key, value in body.items() if key != "channel_values"]
    for _ in range(3):
        if Node in map(type, layer):
            broken = next((part for part in layer if type(part) is Node and part.form is Form.BROKEN), None)
            if broken is not None:
                return str(broken.problem)
        layer = [part for value in layer if type(value) is dict for part in value.values()]
    return ""


def _versions(value: Any) -> dict[str, Version]:
    versions = named(value)
    if _VERSIONS.issuperset(map(type, versions.values())):
        return versions
    return {channel: version for channel, version in versions.items() if isinstance(version, int | str | float)}


def _versions_by_node(stored: Mapping[str, Any]) -> Mapping[str, Mapping[str, Version]]:
    versions = [_versions(one) for one in stored.values()]
    return stored if all(map(is_, versions, stored.values())) else dict(zip(stored, versions, strict=True))


def _values(body: Mapping[str, Any], channels: Mapping[str, Payload] | None, decode: Decode) -> dict[str, Any]:
    """Channel to value, from the header or body and from the payloads of single channels.

    If a channel is in the header and also has a payload, the payload counts. An example is a delta snapshot: the header
    holds ``true`` for it. The tag ``empty`` means that a channel has a version and no value (checkpoint-postgres 3.2,
    ``base.py: _load_blobs``).
    """
    inline = body.get("channel_values")
    broken = (v for k, v in body.items() if k not in _KEYS and isinstance(v, Node) and v.form is Form.BROKEN)
    first_broken = next(broken, None)
    if first_broken is not None and "channel_values" not in body and channels is None:
        raise PayloadCorrupt(f"no channel of the checkpoint can be read: {first_broken.problem}")
    values = must_be_mapping(inline, "channel_values") if isinstance(inline, Node) else named(inline)
    return {**values, **{c: decode(p) for c, p in (channels or {}).items() if p.tag != "empty"}}


def _sends(
    body: Mapping[str, Any], checkpoint: Checkpoint, decode: Decode, written_on: Callable[[Ref], list[Any]]
) -> list[Any]:
    """The Sends that a checkpoint of format `v` < 4 starts with.

    They are under its key ``pending_sends``. Two cases use the Sends that the parent's tasks wrote: the key is absent,
    or the key is empty and the channels have their own payloads. The key is always
    empty or absent in JavaScript's SQLite and where channels have their own payloads (checkpoint-postgres 2.0,
    ``base.py: SELECT_PENDING_SENDS_SQL``).
    checkpoint-postgres 1.0 stored a pair of type tag and base64 under this key.
    """
    v, own = body.get("v"), body.get("pending_sends")
    if isinstance(own, list) and len(own) == 2 and all(isinstance(part, str) for part in own):
        with suppress(ValueError):
            own = decode(Payload(own[0], a2b_base64(own[1], strict_mode=True)))
    if isinstance(own, list) and (own or checkpoint.channels is None):
        return own
    row = checkpoint.row
    if not isinstance(v, int) or v >= 4:
        return []
    return written_on(Ref(row.thread_id, row.ns, row.parent_id or ""))


def values_of(checkpoint: Checkpoint, decode: Decode) -> tuple[dict[str, Any], dict[str, Version]]:
    """The values of a checkpoint's channels as stored, and the versions of all channels.

    Raises:
        PayloadCorrupt: the body is no checkpoint object; KeyMissing if an encryption key would help.
    """
    body = must_be_mapping(decode(checkpoint.body), f"checkpoint {checkpoint.row.checkpoint_id}")
    return _values(body, checkpoint.channels, decode), _versions(body.get("channel_versions"))


def whole(checkpoint: Checkpoint, decode: Decode) -> dict[str, Any]:
    """The checkpoint object with the values of all its channels in it, in whichever layout it is stored.

    Raises:
        PayloadCorrupt: the body is no checkpoint object; KeyMissing if an encryption key would help.
    """
    body = must_be_mapping(decode(checkpoint.body), f"checkpoint {checkpoint.row.checkpoint_id}")
    if checkpoint.channels is None:
        return body
    return {**body, "channel_values": _values(body, checkpoint.channels, decode)}


def placed(
    row: CheckpointRow,
    body: Mapping[str, Any],
    metadata: Mapping[str, Any],
    like: Checkpoint,
    decode: Decode,
    encode: Encode,
    *,
    marked: bool = False,
) -> Checkpoint:
    """A checkpoint object in the layout of `like`; a part that is the same as in `like` keeps its bytes.

    Where channels have their own payloads, simple values still go into the header if the header has a place for values.
    If `marked`, the header gets ``true`` for a delta snapshot (checkpoint-postgres 3.2, ``__init__.py: put``).
    """
    stored_metadata = encode(metadata, like=like.metadata)
    if like.channels is None:
        return Checkpoint(row, encode(body, like=like.body), stored_metadata, None)
    values, versions = named(body.get("channel_values")), named(body.get("channel_versions"))
    old = must_be_mapping(decode(like.body), "the header")
    has_place, before = "channel_values" in old, _versions(old.get("channel_versions"))
    inline = {c: value for c, value in values.items() if has_place and isinstance(value, None | str | int | float)}
    apart = {c: _payload(v, like.channels.get(c), like, decode, encode) for c, v in values.items() if c not in inline}
    apart |= {
        c: payload
        for c, payload in like.channels.items()
        if payload.tag == "empty" and c not in values and c in versions and versions[c] == before.get(c)
    }
    inline |= {c: True for c, value in values.items() if has_place and marked and is_snapshot(value)}
    header = {key: value for key, value in body.items() if key != "channel_values"}
    header |= {"channel_values": inline} if has_place else {}
    return Checkpoint(row, encode(header, like=like.body), stored_metadata, apart)


def _payload(value: Any, old: Payload | None, like: Checkpoint, decode: Decode, encode: Encode) -> Payload:
    """A channel's value, encoded like the other channels of its checkpoint."""
    if old is not None and old.tag != "empty":
        return old if same(decode(old), value) else encode(value, like=old)
    tags = {payload.tag: payload for payload in (like.channels or {}).values()}
    encrypted = next((payload for tag, payload in tags.items() if "+" in tag), None)
    plain = Payload("json", b"null") if "json" in tags and "msgpack" not in tags else NULL
    return encode(value, like=encrypted or plain)


def must_be_mapping(value: Any, what: str) -> dict[str, Any]:
    """A decoded body or header as a dict.

    Raises:
        PayloadCorrupt: the value is something else. For a BROKEN node the message contains the node's problem; a text
            is quoted, because JavaScript stores "[unable to serialize, …]" for a state that holds a BigInt.
        KeyMissing: the value is encrypted and the key is missing or wrong.
    """
    if isinstance(value, dict) or named(value):
        return named(value)
    if not isinstance(value, Node) or value.form is not Form.BROKEN:
        type_name = value.type if isinstance(value, Node) else type(value).__name__
        kind = f"the text {value[:100]!r}" if isinstance(value, str) else f"a value of type {type_name}"
        raise PayloadCorrupt(f"{what} can't be decoded: {kind} where an object should be")
    if value.needs_key:
        raise KeyMissing(f"{what} can't be decoded: {value.problem}", hint="--key-env NAME names the key's variable")
    raise PayloadCorrupt(f"{what} can't be decoded: {value.problem}")


def named(value: Any) -> dict[str, Any]:
    """A dict, or a dict subclass that a pickle recorded, as a dict with text keys; {} for anything else.

    langgraph 0.0 pickled ``defaultdict`` for versions, and members of the enum ReservedChannels as channel names.
    """
    if type(value) is dict and _TEXT.issuperset(map(type, value)):
        return value  # not a copy: decoded values are shared, and never changed in place
    if isinstance(value, Node) and value.form is Form.PICKLE:
        value = value.state.get("items") if isinstance(value.state, dict) else None
    if not isinstance(value, dict):
        return {}
    return {key if isinstance(key, str) else text(key) or str(key): item for key, item in value.items()}


def read_metadata(value: Any) -> tuple[dict[str, Any], str]:
    """Decoded metadata as a dict, and the problem of a part that can't be read ("" if all parts can be read).

    `value` is None if no metadata was ever stored.
    """
    metadata = named(value)
    if metadata or value is None or type(value) is dict:
        items = metadata.items() if Node in map(type, metadata.values()) else ()
        return metadata, next((f"{k}: {p.problem}" for k, p in items if type(p) is Node and p.form is Form.BROKEN), "")
    if isinstance(value, Node) and value.form is Form.BROKEN:
        return {}, str(value.problem)
    return {}, f"{_KINDS.get(type(value), 'a value of another type')} where an object should be"


_KINDS = {list: "an array", str: "text", bool: "true or false", int: "a number", float: "a number", bytes: "bytes"}


def must_have_metadata(value: Any, ref: Ref) -> dict[str, Any]:
    """Decoded metadata as a dict, for a change that carries it over.

    Raises:
        PayloadCorrupt: the metadata can't be read at all.
        KeyMissing: the metadata is encrypted and the key is missing or wrong.
    """
    metadata, problem = read_metadata(value)
    if metadata or not problem:
        return metadata
    what = f"the metadata of checkpoint {ref.checkpoint_id or ref.thread_id} can't be read: {problem}"
    if isinstance(value, Node) and value.needs_key:
        raise KeyMissing(what, hint="--key-env NAME names the key's variable")
    raise PayloadCorrupt(f"{what}; nothing was written", hint="start from another checkpoint: REV^ is its parent")


def parents_of(metadata: Any) -> dict[str, str]:
    """Map each outer namespace to the id of the checkpoint that called the subgraph; other entries are left out."""
    recorded = named(named(metadata).get("parents"))
    return {ns: checkpoint_id for ns, checkpoint_id in recorded.items() if isinstance(checkpoint_id, str)}
