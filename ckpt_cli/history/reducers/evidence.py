"""Which reducers explain some recorded steps, all at once; `learning` does it a step at a time."""

from collections.abc import Iterable, Sequence

from ckpt_cli.history.reducers.agreement import explains
from ckpt_cli.history.reducers.reducers import REDUCERS, ChannelStep, Evidence, Reducer


def evidence(
    steps: Iterable[ChannelStep], reducers: Sequence[Reducer] = REDUCERS, *, replayed: bool = False
) -> list[Evidence]:
    """The evidence for each reducer; `replayed` means that one `ChannelStep` has the writes of many steps."""
    recorded = list(steps)
    counts = [sum(explains(reducer, step, replayed=replayed) for step in recorded) for reducer in reducers]
    return [Evidence(r, count, len(recorded)) for r, count in zip(reducers, counts, strict=True)]


def learn(
    steps: Iterable[ChannelStep], reducers: Sequence[Reducer] = REDUCERS, *, replayed: bool = False
) -> Evidence | None:
    """The first reducer that explains every step; None if there is none or nothing was recorded."""
    return next((one for one in evidence(steps, reducers, replayed=replayed) if one.holds), None)
