"""Channel versions of one saver as another counts them: numbers, or texts that tell branches apart.

MongoDB's and DynamoDB's savers count in integers and can't go on from a text (langgraph-checkpoint 4.3,
``base/__init__.py: get_next_version``). The others count in texts (checkpoint-postgres 3.2, ``base.py:
get_next_version``), by which Postgres and MySQL name stored values. A number that two branches share would name two.
"""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from ckpt_cli.layouts import named
from ckpt_cli.model import CheckpointRow

_DIGITS = 32
_FRACTION = 10**16

Known = dict[tuple[str, int], str]
"""Channel and number to the text that stands for them, on one line of checkpoints."""


class VersionMap:
    """Maps the versions of one thread; parents must come before their children.

    Args:
        kind: ``int`` or ``text``, as `RecordFormat.versions` says of the target.
    """

    def __init__(self, kind: str) -> None:
        self._to_text = kind == "text"
        self._known: dict[tuple[str, str], Known] = {}

    def body(self, row: CheckpointRow, body: Mapping[str, Any]) -> dict[str, Any]:
        """A checkpoint object with its versions as the target counts them."""
        version = self._texts(row) if self._to_text else lambda _channel, version: _number(version)
        own = {channel: version(channel, one) for channel, one in named(body.get("channel_versions")).items()}
        seen = {
            node: {channel: version(channel, one) for channel, one in named(versions).items()}
            for node, versions in named(body.get("versions_seen")).items()
        }
        return {**body, "channel_versions": own, "versions_seen": seen}

    def _texts(self, row: CheckpointRow) -> Callable[[str, Any], Any]:
        """A function that gives the text of a version: the parent's, or a new one that names this checkpoint."""
        before = self._known.get((row.ns, row.parent_id or ""), {})
        mine = self._known.setdefault((row.ns, row.checkpoint_id), {})

        def text(channel: str, version: Any) -> Any:
            if type(version) is not int:
                return version
            key = (channel, version)
            mine[key] = before.get(key) or mine.get(key) or _text(row, channel, version)
            return mine[key]

        return text


def _text(row: CheckpointRow, channel: str, version: int) -> str:
    place = "\0".join((row.ns, row.checkpoint_id, channel, str(version)))
    fraction = int.from_bytes(blake2b(place.encode("utf-8", "surrogatepass"), digest_size=8).digest()) % _FRACTION
    return f"{version:0{_DIGITS}}.0.{fraction:016}"


def _number(version: Any) -> Any:
    digits = version.partition(".")[0] if isinstance(version, str) else ""
    return int(digits) if digits.isascii() and digits.isdecimal() else version
