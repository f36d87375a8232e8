"""The moments of parts of a value: since when one stands, when it became another, when it went."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.diff.equal_elements import Alternative

ABSENT = object()
"""The value of a channel that holds nothing, or of a path that leads nowhere."""

Path = tuple[Any, ...]


Alternatives = Mapping[int, Alternative]
"""Other checkpoints, by number, at which a part may have come, since equal ones can't be distinguished."""

NO_OTHERS: Alternatives = MappingProxyType({})


class Standing(NamedTuple):
    """A part of the newest value; `since` is the number of the checkpoint from which on it stands, after `before`."""

    path: Path
    value: Any
    since: int
    before: Any = ABSENT
    others: Alternatives = NO_OTHERS


class Became(NamedTuple):
    """A checkpoint, by number, at which a value became another; `path` is None where it went."""

    number: int
    path: Path | None
    others: Alternatives = NO_OTHERS


class Gone(NamedTuple):
    """A part that no longer stands.

    Attributes:
        path: where it was last.
        until: the number of the first checkpoint without it.
        after: the value that replaced it; ABSENT if none did.
        elsewhere: where equal parts were; it may be one of these that went.
        is_guessed: whether `after` may be another element that came in the same place.
    """

    path: Path
    value: Any
    since: int
    until: int
    after: Any
    elsewhere: Sequence[Path] = ()
    is_guessed: bool = False
