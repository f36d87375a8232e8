"""Recognizes threads of LangGraph.js, and writes their records as its own savers do.

Its serializer knows JSON and bytes alone (LangGraph.js checkpoint 1.1, ``serde/jsonplus.ts: loadsTyped``). Its savers
count versions in integers everywhere (``base.ts: getNextVersion`` fails on a text), and the one for Postgres reads no
value from the header (checkpoint-postgres 1.0, ``index.ts: _loadCheckpoint``).
"""

from collections.abc import Collection, Mapping
from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.history.state.channels import ERROR, INTERRUPT, RESUME, SCHEDULED
from ckpt_cli.history.state.javascript import is_javascript_body
from ckpt_cli.layouts import named
from ckpt_cli.model import NULL_TASK, Payload, Write, in_words, name_of
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.serde.lcjson_write import JsonWire

_SPECIAL = {ERROR, INTERRUPT, RESUME, SCHEDULED}
_TAGS = {"json", "bytes", "empty"}
_KEYS = ("v", "id", "ts", "channel_values", "channel_versions", "versions_seen")
_WIRE = JsonWire('{"v":4}')  # the style of JSON.stringify


def is_javascript_thread(source: Reader, thread_id: str) -> bool:
    """Whether LangGraph.js wrote a thread, as its head shows: JSON, versions that are numbers, and a time ending in Z.

    Python's savers that count in integers write times with an offset.
    """
    thread = source.saver.thread(thread_id)
    head = next(iter(source.saver.checkpoints([thread.head])), None) if thread is not None else None
    if head is None or head.body.tag != "json" or any(one.tag not in _TAGS for one in (head.channels or {}).values()):
        return False
    body = named(source.codec.decode(head.body))
    return is_javascript_body(body.get("ts"), named(body.get("channel_versions")).values())


def keeps_javascript(target: RecordFormat) -> bool:
    """Whether a target stores checkpoints as LangGraph.js does: whole with a type tag, or as Postgres."""
    return target.marks_snapshots if target.apart else not target.body


def whole_json(body: Mapping[str, Any], parts: Mapping[str, Payload], words: str) -> Payload:
    """A body with all its channels, which keep their bytes.

    Args:
        body: the object, without channels.
        parts: channel to its payload.
        words: names the checkpoint.

    Raises:
        NotSupported: a channel isn't JSON or bytes.
    """
    channels = _WIRE.join_map([(_WIRE.write(name), _text(name, one, words)) for name, one in parts.items()])
    keys = [
        *(key for key in _KEYS if key in body or key == "channel_values"),
        *(key for key in body if key not in _KEYS),
    ]
    pairs = [(_WIRE.write(key), channels if key == "channel_values" else _WIRE.write(body[key])) for key in keys]
    return Payload("json", _WIRE.join_map(pairs).encode("utf-8", "surrogatepass"))


def header_json(body: Mapping[str, Any]) -> Payload:
    """A header; all channels are beside it."""
    return Payload("json", _WIRE.write({key: body[key] for key in _ordered(body)}).encode())


def _ordered(body: Mapping[str, Any]) -> list[str]:
    """The keys of a checkpoint object in the order in which LangGraph.js writes them (``base.ts: copyCheckpoint``)."""
    return [*(key for key in _KEYS if key in body), *(key for key in body if key not in _KEYS)]


def compact_metadata(value: Mapping[str, Any]) -> Payload:
    """Metadata as JSON without spaces; Postgres adds spaces to what it stores."""
    return Payload("json", _WIRE.write(value).encode())


def versioned(body: Mapping[str, Any], parts: Mapping[str, Payload]) -> dict[str, Payload]:
    """The channels that have a version. LangGraph.js' saver for Postgres stores no others (``index.ts: _dumpBlobs``).

    Without a version are defaults of channels to which nothing was written, and the empty list of Sends: LangGraph.js
    makes both anew.
    """
    versions = named(body.get("channel_versions"))
    return {name: payload for name, payload in parts.items() if name in versions}


def left_out_words(channels: Collection[str]) -> str:
    """For the plan: channels with values that `versioned` left out, behind a semicolon; "" for none."""
    if not channels:
        return ""
    names = ", ".join(sorted(channels))
    return f"; values without a version are left out, as LangGraph.js doesn't store them there: {names}"


def must_have_place(write: Write) -> None:
    """Refuse a task's question, answer or error that has the number of a result.

    The SQLite saver of LangGraph.js numbered them from 0 until its release 1.1, and the task's results replaced them.
    In Postgres the row stays, and LangGraph.js drops the result (``sql.ts: INSERT_CHECKPOINT_WRITES_SQL``).

    Raises:
        NotSupported: it has.
    """
    if write.channel in _SPECIAL and isinstance(write.idx, int) and write.idx >= 0 and write.task_id != NULL_TASK:
        what = (
            f"{in_words(name_of(write))} is {write.channel} in the place of a result, as older LangGraph.js stores it"
        )
        raise NotSupported(f"{what} in SQLite; in Postgres the result that the task still makes would be lost")


def _text(name: str, payload: Payload, words: str) -> str:
    if payload.tag == "json":
        return payload.data.decode("utf-8", "surrogatepass")
    if payload.tag == "bytes":
        return _WIRE.write(payload.data)
    what = f"channel {name!r} of {words} is stored as {payload.tag or 'a pickle'}"
    raise NotSupported(f"{what}, which LangGraph.js can't read; nothing of the thread was written")
