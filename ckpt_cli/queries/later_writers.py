"""`LaterWriters`: the tasks of later steps that may have stored their items early (``blame``)."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from ckpt_cli.history.tasks.early_credit import is_element, is_key, or_gone, or_later
from ckpt_cli.history.tasks.value_credit import Credit, Writers
from ckpt_cli.history.tasks.write_attribution import LOOPS
from ckpt_cli.history.tasks.write_signs import Explains
from ckpt_cli.model import Ref
from ckpt_cli.plans.cut_runs import CutRuns, steps_between
from ckpt_cli.queries.step_reads import StepReads
from ckpt_cli.reading import Reader

Made = list[tuple[Credit, str | None]]
"""The credit of each change, and the checkpoint from which a copy has the channel."""

_LATER = 60  # steps after one, whose writes may be in its value: a checkpoint is stored at most so many steps late


class LaterWriters:
    """Follows the run that made a checkpoint, also where the line left its branch or ends.

    Args:
        refs: the line.
        reads: what was read of its namespace.
        read: reads what the steps of some checkpoints wrote.
        writers: gives the tasks of a checkpoint's step that wrote the channel.
        is_versionless: says, by its number on the line, whether a checkpoint has no new version of the channel: a
            change may then be stored many steps too early.
    """

    def __init__(
        self,
        refs: Sequence[Ref],
        reads: StepReads,
        read: Callable[[Sequence[str]], object],
        writers: Callable[[str], Writers],
        is_versionless: Callable[[int], bool],
    ) -> None:
        self._refs = refs
        self._reads = reads
        self._read = read
        self._writers = writers
        self._is_versionless = is_versionless
        self._numbers = {ref.checkpoint_id: number for number, ref in enumerate(refs)}

    def add(self, reader: Reader, made: dict[int, Made], wanted: Mapping[int, Sequence[Explains]]) -> None:
        """Add the tasks of later steps to the credits of these checkpoints, by their numbers on the line."""
        at = {n: self._refs[n].checkpoint_id for n in made if any(one.is_unwritten for one, _ in made[n])}
        runs = CutRuns(reader)
        for by in range(1, _LATER + 1):
            following, gaps = self._following([*at.values()])
            for n in [n for n in at if at[n] not in following]:
                last = at.pop(n)
                if runs.may_be_cut(self._refs[n]._replace(checkpoint_id=last), gone=last in gaps):
                    made[n] = _changed(made[n], or_gone([one for one, _ in made[n]], wanted[n]))
            at = {n: following[before] for n, before in at.items()}
            if not at:
                return
            self._read([*at.values()])
            at = {n: later for n, later in at.items() if self._add_one(made, wanted, n, by, later)}

    def _following(self, checkpoint_ids: Sequence[str]) -> tuple[dict[str, str], set[str]]:
        """The checkpoint that the same run made next, for each that has one; and those after which some are gone."""
        children, attribution = self._reads.lineage.children, self._reads.attribution
        self._reads.read_notes([children[one][0] for one in checkpoint_ids if one in children])
        following, gaps = dict[str, str](), set[str]()
        for one in checkpoint_ids:
            if (first := attribution.first_with_source(one, LOOPS)) is None:
                continue
            if steps_between(attribution.note(one).step, attribution.note(first).step):
                gaps.add(one)
            else:
                following[one] = first
        return following, gaps

    def _add_one(
        self, made: dict[int, Made], wanted: Mapping[int, Sequence[Explains]], n: int, by: int, later: str
    ) -> bool:
        """Add the tasks of one later step, `by` steps after; whether those of the step after it may have to be added.

        A list has the items of all steps up to one; the search ends at a step whose items it doesn't have. A dict has
        the newest value of each key; the search ends before a step that changed it, as the dict was stored before that.
        """
        changes, writers = wanted[n], self._writers(later)
        before = [one for one, _ in made[n]]
        after = or_later(before, changes, writers, self._when(by, later))
        made[n] = _changed(made[n], after)
        left = [explains for one, explains in zip(after, changes, strict=True) if one.is_unwritten]
        is_had = not writers.all or after != before
        if left and is_had and any(map(is_element, left)):
            return True
        number = self._numbers.get(later)
        is_unchanged = number is not None and number + 1 not in wanted
        return bool(left) and (self._is_versionless(n) or (is_unchanged and any(map(is_key, left))))

    def _when(self, by: int, later: str) -> str:
        """The step in words; the line may have left its branch, or end before it."""
        words = "the next step" if by == 1 else f"step {self._reads.attribution.note(later).step}"
        passed = islice(self._reads.lineage.line(later), by + 1)
        is_beside = later not in self._numbers and self._refs[-1].checkpoint_id not in passed
        return f"{words} on another branch" if is_beside else words


def _changed(made: Made, changed: Sequence[Credit]) -> Made:
    return [(one, original) for one, (_, original) in zip(changed, made, strict=True)]
