"""Notes on rebuilt delta channels that have more elements than every stored value that shows how."""

from collections.abc import Collection, Iterator

from ckpt_cli.errors import CkptError
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.counts import count_text


def rebuilt_notes(reader: Reader, ref: Ref, channels: Collection[str], named: Collection[str] = ()) -> Iterator[str]:
    """A sentence for each of these channels whose value at a checkpoint is as its reducer is known, but not proven.

    A list that keeps its last 120 items looks like an append until the 121st item. The reducers of the channels in
    `named` are those that a person named.
    """
    try:
        deltas = Inspection(reader, ref).deltas()
    except CkptError:  # whoever prints the value says why it can't be read
        return
    for channel, one in deltas.items():
        if channel in channels and channel not in named and (reducer := one.reducer) is not None and one.is_larger:
            shown = f"{count_text(one.shown.steps, 'stored value')} show{'s' if one.shown.steps == 1 else ''}"
            place = f"{channel} at {reader.short(ref.thread_id)(ref.checkpoint_id)}"
            yield f"{place} is rebuilt by {reducer.name}, as {shown}; none has so many elements, so it isn't proven"
