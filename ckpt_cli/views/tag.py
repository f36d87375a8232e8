"""The view of ``ckpt tag``: names of checkpoints."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class TagLine:
    """One tag.

    Attributes:
        id: the id of the checkpoint that has the tag.
        gone: whether that checkpoint is no longer in the database.
        at: when the tag was made, ISO 8601 in UTC.
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
        refused: thread to the reason why it was left alone, if many threads were to be tagged.
        did: what the command did with these tags: ``listed``, ``added`` or ``deleted``.
    """

    verb: ClassVar[str] = "tag"
    rows_field: ClassVar[str] = "tags"

    did: str
    tags: list[TagLine]
    refused: dict[str, str] = field(default_factory=dict)
