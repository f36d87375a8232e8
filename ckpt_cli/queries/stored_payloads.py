"""The payloads of a checkpoint as they are in the database: type tags, sizes, first bytes."""

from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.views.show import Stored

_FIRST_BYTES = 16


def stored_payloads(reader: Reader, ref: Ref) -> list[Stored]:
    """The payloads of a checkpoint that exists: its body, its metadata, and the channels that are stored apart."""
    checkpoint = next(reader.saver.checkpoints([ref]))
    payloads = {"checkpoint": checkpoint.body, "metadata": checkpoint.metadata}
    payloads |= {f"channel {name}": payload for name, payload in (checkpoint.channels or {}).items()}
    return [Stored(what, one.tag, len(one.data), one.data[:_FIRST_BYTES].hex()) for what, one in payloads.items()]
