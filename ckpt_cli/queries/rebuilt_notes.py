"""Notes on rebuilt delta channels that no stored value proves, or that are larger than all that do."""

from collections.abc import Collection, Iterator

from ckpt_cli.errors import CkptError
from ckpt_cli.history.reducers.rebuilt import Rebuilt
from ckpt_cli.history.reducers.shown_cases import size_of
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
        if channel in channels and channel not in named and one.is_unshown:
            yield note_on(reader, ref, channel, one)


def note_on(reader: Reader, ref: Ref, channel: str, rebuilt: Rebuilt) -> str:
    """The sentence about a channel whose value at a checkpoint is larger than all that show its reducer, if any do."""
    place = f"{channel} at {reader.short(ref.thread_id)(ref.checkpoint_id)}"
    if rebuilt.reducer is None and rebuilt.supposed is not None:
        how = f"by {rebuilt.supposed.name}, as is usual for messages"
        return f"{place} is rebuilt {how}; no stored value that was read proves it"
    shown = f"{count_text(rebuilt.shown.steps, 'stored value')} show{'s' if rebuilt.shown.steps == 1 else ''}"
    name = "" if rebuilt.reducer is None else rebuilt.reducer.name
    bound = "none has so many elements" if size_of(rebuilt.value) >= 0 else "a reducer of yours may do more"
    if rebuilt.has_shrunk:
        bound = f"the largest has {rebuilt.shown.cases.most}, and these writes go on from fewer"
    return f"{place} is rebuilt by {name}, as {shown}; {bound}, so it isn't proven"
