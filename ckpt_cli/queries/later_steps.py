"""`LaterSteps`: the steps that a run made after a checkpoint, whichever branch they are on."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.reducers.early_values import LATE, LaterStep
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.write_attribution import LOOPS, WriteAttribution
from ckpt_cli.history.tasks.write_makers import is_update
from ckpt_cli.model import NULL_TASK, Ref
from ckpt_cli.plans.cut_runs import CutRuns, steps_between
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import TaskWrite


class LaterSteps:
    """Reads them; the writes of a later page are read once for all steps that look at them."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._read_ahead: dict[Ref, list[TaskWrite]] = {}
        self._cut_runs = CutRuns(reader)

    def after(self, attribution: WriteAttribution, ref: Ref) -> Iterator[LaterStep]:
        """The next steps of the run that made a checkpoint."""
        self._read_notes(attribution, ref)
        for _ in range(LATE):
            tasks: dict[str, dict[str, list[Any]]] = {}
            for write in self._writes_on(attribution, ref):
                if write.task_id != NULL_TASK and not is_update(write):
                    tasks.setdefault(write.task_id, {}).setdefault(write.channel, []).append(write.value)
            following = attribution.first_with_source(ref.checkpoint_id, LOOPS)
            gone = following is not None and _has_gap(attribution, ref.checkpoint_id, following)
            if following is None or gone:
                yield LaterStep([*tasks.values()], dict, partial(self._cut_runs.may_be_cut, ref, gone=gone))
                return
            ref = ref._replace(checkpoint_id=following)
            yield LaterStep([*tasks.values()], partial(self._readable_values, ref))

    def _read_notes(self, attribution: WriteAttribution, ref: Ref) -> None:
        """Read the metadata of a later page: it shows which child is a run's, and which is a fork."""
        ids = [*islice(attribution.lineage.descent(ref.checkpoint_id), LATE + 1)]
        if unread := attribution.unread(ids):
            metadata = self._reader.saver.metadata([ref._replace(checkpoint_id=one) for one in unread])
            notes = {r.checkpoint_id: note(self._reader.value(p), r.checkpoint_id) for r, p in metadata}
            attribution.fill(notes, {})

    def _writes_on(self, attribution: WriteAttribution, ref: Ref) -> Sequence[TaskWrite]:
        if (stored := attribution.writes.get(ref.checkpoint_id)) is not None:
            return stored
        if ref not in self._read_ahead:
            if len(self._read_ahead) >= 2 * LATE:
                self._read_ahead.clear()
            self._read_ahead[ref] = self._reader.writes(ref)
        return self._read_ahead[ref]

    def _readable_values(self, ref: Ref) -> Mapping[str, Any]:
        try:
            return self._reader.state(ref).values
        except PayloadCorrupt:  # its own step has this as a finding
            return {}


def _has_gap(attribution: WriteAttribution, older: str, newer: str) -> bool:
    return steps_between(attribution.note(older).step, attribution.note(newer).step) > 0
