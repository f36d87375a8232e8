"""The fields of a key that ckpt writes; the key's expiry and the application's own fields stay unchanged."""

from ckpt_cli.model import Row
from ckpt_cli.savers.redis.records import canonical, parse_json

_FIELDS = (
    *("thread_id", "run_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "checkpoint_ts", "checkpoint"),
    *("metadata", "has_writes", "source", "step", "task_id", "task_path", "idx", "channel", "type", "blob"),
)
"""checkpoint-redis 0.5.2, ``__init__.py: put, put_writes``."""

WRITTEN = frozenset({"type", "value", *(f"$.{name}" for name in _FIELDS)})
"""``$.`` stands for the document in a key that holds JSON."""


def fields(row: Row) -> Row:
    """The fields of a key's document; if the key holds no document, its value is a single field."""
    document = _document(row)
    if document is None:
        return {"type": row["type"], "value": row["value"]}
    own = {f"$.{name}": canonical(value) for name, value in document.items()}
    return {**dict.fromkeys(WRITTEN), "type": row["type"], **own}


def restored(image: Row, now: Row | None) -> Row:
    """The image to restore; a key that exists keeps its expiry and the fields of other programs."""
    if now is None:
        return image
    old, new = _document(image), _document(now)
    row = {**image, "expires": now["expires"]}
    if old is None or new is None:
        return row
    own = {name: value if name in _FIELDS else new[name] for name, value in old.items() if name in {*new, *_FIELDS}}
    return {**row, "value": canonical({**own, **{name: new[name] for name in new if name not in _FIELDS}})}


def _document(row: Row) -> dict[str, object] | None:
    document = parse_json(str(row["value"])) if row["type"] == "ReJSON-RL" else None
    return document if isinstance(document, dict) else None
