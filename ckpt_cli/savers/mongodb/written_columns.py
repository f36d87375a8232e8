"""The fields of a document that ckpt writes; fields that an application or its TTL added stay unchanged."""

from functools import partial
from typing import cast

import bson
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

from ckpt_cli.model import Row
from ckpt_cli.savers.contract import Saver

WRITTEN = frozenset(
    {
        *("thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "type", "checkpoint", "metadata"),
        *("task_id", "task_path", "idx", "channel", "value"),
    }
)
"""langgraph-checkpoint-mongodb 0.3, ``saver.py: put, put_writes``."""

_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
_decoded = partial(bson.decode, codec_options=_RAW)


class WrittenColumns(Saver):
    """The methods of `MongoSaver` about an application's own fields."""

    has_flat_rows = False

    def written_columns(self, relation: str) -> frozenset[str] | None:  # noqa: ARG002 - all are alike
        """LangGraph's fields."""
        return WRITTEN

    def fields(self, relation: str, row: Row) -> Row:  # noqa: ARG002
        """A document field by field."""
        return fields(row)

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:  # noqa: ARG002
        """The image with other programs' fields as they are now."""
        return restored(image, now)


def fields(row: Row) -> Row:
    """A document's fields, each as BSON; a missing field that ckpt writes is None."""
    own = {name: bson.encode({"": value}) for name, value in _decoded(_data(row)).items()}
    return {**dict.fromkeys(WRITTEN), **own}


def restored(image: Row, now: Row | None) -> Row:
    """The image to restore; a document that exists keeps the fields of other programs."""
    if now is None:
        return image
    old, new = _decoded(_data(image)), _decoded(_data(now))
    own = {name: value if name in WRITTEN else new[name] for name, value in old.items() if name in {*new, *WRITTEN}}
    return {"bson": bson.encode({**own, **{name: new[name] for name in new if name not in WRITTEN}})}


def _data(row: Row) -> bytes:
    return cast(bytes, row["bson"])
