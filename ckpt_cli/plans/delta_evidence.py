"""The evidence for a delta channel's reducer: values stored whole, else what its messages suggest."""

from itertools import islice

from ckpt_cli.history.reducers.reducers import Evidence
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader

_MOST_ANCESTORS = 50  # evidence is searched in at most this many ancestors


def delta_evidence(reader: Reader, ref: Ref, channel: str) -> list[Evidence]:
    """The reducers that the ancestors of a checkpoint show; without any steps if one is only supposed."""
    line = reader.lineage(ref.thread_id, ref.ns).line(ref.checkpoint_id)
    for checkpoint_id in islice(line, _MOST_ANCESTORS):
        rebuilt = Inspection(reader, ref._replace(checkpoint_id=checkpoint_id)).deltas().get(channel)
        if rebuilt is not None and rebuilt.shown.steps:
            return rebuilt.shown.candidates
    for checkpoint_id in islice(line, _MOST_ANCESTORS):  # in case no value was stored whole yet
        rebuilt = Inspection(reader, ref._replace(checkpoint_id=checkpoint_id)).deltas().get(channel)
        if rebuilt is not None and rebuilt.supposed is not None:
            return [Evidence(rebuilt.supposed, 0, 0)]
    return []
