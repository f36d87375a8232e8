"""The evidence for a delta channel's reducer: values stored whole, else what its messages suggest."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from ckpt_cli.history.reducers.reducers import Evidence
from ckpt_cli.history.reducers.shown_cases import ShownCases
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader

_MOST_ANCESTORS = 50  # evidence is searched in at most this many ancestors


class DeltaEvidence(NamedTuple):
    """The reducers that a delta channel's stored values prove, and the cases that these values show.

    One that is only supposed has no steps.
    """

    candidates: Sequence[Evidence] = ()
    cases: ShownCases = ShownCases()


def delta_evidence(reader: Reader, ref: Ref, channel: str) -> DeltaEvidence:
    """What the ancestors of a checkpoint show of a delta channel's reducer."""
    line = [*islice(reader.lineage(ref.thread_id, ref.ns).line(ref.checkpoint_id), _MOST_ANCESTORS)]
    for checkpoint_id in line:
        rebuilt = Inspection(reader, ref._replace(checkpoint_id=checkpoint_id)).deltas().get(channel)
        if rebuilt is not None and rebuilt.shown.steps:
            return DeltaEvidence(rebuilt.shown.candidates, rebuilt.shown.cases)
    for checkpoint_id in line:  # in case no value was stored whole yet
        rebuilt = Inspection(reader, ref._replace(checkpoint_id=checkpoint_id)).deltas().get(channel)
        if rebuilt is not None and rebuilt.supposed is not None:
            return DeltaEvidence([Evidence(rebuilt.supposed, 0, 0)])
    return DeltaEvidence()
