"""The attributes of items that ckpt writes; an application's own attributes and the time to live stay unchanged."""

import json
from typing import Any, cast

from ckpt_cli.model import Row

_ATTRIBUTES = frozenset(
    {
        *("PK", "SK", "type", "ref_loc", "ref_key", "compression", "id", "ns", "parent_checkpoint_id"),
        *("task_id", "channel", "idx", "checkpoint_id", "task_path"),
    }
)
"""langgraph-checkpoint-aws 1.2.6, ``dynamodb/unified_repository.py``."""

WRITTEN = frozenset({"payload", *(f"{part}.{name}" for part in ("item", "chunk") for name in _ATTRIBUTES)})


def fields(row: Row) -> Row:
    """The attributes of both items, each as JSON; a missing attribute that ckpt writes is None."""
    own = {f"{part}.{name}": json.dumps(value) for part in ("item", "chunk") for name, value in _item(row, part)}
    return {**dict.fromkeys(WRITTEN), "payload": row["payload"], **own}


def restored(image: Row, now: Row | None) -> Row:
    """The image to restore; items that exist keep the attributes of other programs."""
    if now is None:
        return image
    return {"item": _merged(image, now, "item"), "chunk": _merged(image, now, "chunk"), "payload": image["payload"]}


def _merged(image: Row, now: Row, part: str) -> str:
    if "null" in (image[part], now[part]):
        return cast(str, image[part])
    written = {name: value for name, value in _item(image, part) if name in _ATTRIBUTES}
    own = {name: value for name, value in _item(now, part) if name not in _ATTRIBUTES}
    return json.dumps({**written, **own}, sort_keys=True, ensure_ascii=False)


def _item(row: Row, part: str) -> list[tuple[str, Any]]:
    return list((json.loads(cast(str, row[part])) or {}).items())
