"""What ``ckpt tag`` tells: the names that were given to checkpoints."""

from dataclasses import dataclass
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class TagLine:
    """One tag.

    Attributes:
        id: the checkpoint it is on.
        gone: that checkpoint is no longer in the database.
        at: when it was given, ISO 8601 in UTC.
    """

    name: str
    thread_id: str
    ns: str
    id: str
    gone: bool
    at: str


@dataclass
class TagView(View):
    """Tags by thread, namespace and name.

    Attributes:
        did: ``listed``, ``added`` or ``deleted``: what was done to those told of.
    """

    verb: ClassVar[str] = "tag"
    rows_field: ClassVar[str] = "tags"

    did: str
    tags: list[TagLine]
