"""What ``ckpt diff`` tells: what two checkpoints differ in."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.values.difference import Difference
from ckpt_cli.views.base import Json, View


class End(NamedTuple):
    """One side of a comparison; `checkpoint_id` is null for the nothing before a first checkpoint."""

    thread_id: str
    ns: str
    checkpoint_id: str | None
    short: str
    step: int | None


@dataclass
class DiffView(View):
    """Two checkpoints side by side.

    Attributes:
        equal: nothing that was compared differs.
        channels: one difference for each channel that isn't the same, by structure.
        same: how many channels are.
        meta: with ``--meta``, what metadata, versions and what nodes have seen differ in.
        patch: RFC 6902, from the older to the newer state: an object of channels in the typed JSON form that ``show
            --json`` gives them. Secrets are masked unless ``--reveal``.
    """

    verb: ClassVar[str] = "diff"
    full = False
    stat = False
    finding = False

    before: End
    after: End
    equal: bool
    channels: list[Difference]
    same: int
    meta: list[Difference] = field(default_factory=list)
    patch: Json = field(default_factory=lambda: Json([]))

    @property
    def exit_code(self) -> int:
        """1 where a difference was to be told so."""
        return int(self.finding and not self.equal)
