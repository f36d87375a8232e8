"""The policies of ``ckpt prune``: what each one keeps of a graph; they add up, as in restic."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage

_DAY = 86400


@dataclass(frozen=True, slots=True)
class Policies:
    """What a person wants to keep; a checkpoint stays if one of the policies keeps it.

    Tips and tagged checkpoints always stay, so `tips` and `tagged` add nothing: they are policies for those who want
    to keep nothing else.

    Attributes:
        last: the newest so many checkpoints of each branch.
        since: those that were made at this time or later, in seconds since 1970.
        within: the same in the person's words.
        daily: the newest checkpoint of each of the last so many days (UTC) on which there is one.
        sources: those with one of these sources in their metadata.
        bytes: the newest of the root graph, as many as the thread may have without taking more than so many bytes.
    """

    last: int = 0
    since: float | None = None
    within: str = ""
    daily: int = 0
    sources: tuple[str, ...] = ()
    bytes: int | None = None
    tips: bool = False
    tagged: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the person named no policy."""
        return self == Policies()

    def select(self, lineage: Lineage, sources: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The ids of the checkpoints that a policy keeps, each with the reason; `sources` has the source of each."""
        yield from self._by_branch(lineage)
        yield from self._by_time(lineage)
        for checkpoint_id in lineage.rows if self.sources else ():
            if (source := sources.get(checkpoint_id, "")) in self.sources:
                yield checkpoint_id, f"source {source}"

    def _by_branch(self, lineage: Lineage) -> Iterator[tuple[str, str]]:
        reason = "the last of a branch" if self.last == 1 else f"one of the last {self.last} of a branch"
        for tip in lineage.tips if self.last else ():
            yield from ((one, reason) for one in islice(lineage.line(tip), self.last))

    def _by_time(self, lineage: Lineage) -> Iterator[tuple[str, str]]:
        """A checkpoint whose id has no time can't be too old."""
        days: dict[int, str] = {}
        for checkpoint_id in reversed(lineage.rows) if self.since is not None or self.daily else ():
            when = ids.unix_time(checkpoint_id)
            if when is None:
                yield checkpoint_id, "its id has no time"
                continue
            if self.since is not None and when >= self.since:
                yield checkpoint_id, f"not older than {self.within}"
            if len(days) < self.daily and days.setdefault(int(when // _DAY), checkpoint_id) == checkpoint_id:
                yield checkpoint_id, "the last of its day"
