"""Channels that LangGraph may not read: new ones, and those written without a stored value."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.state.channels import is_control
from ckpt_cli.plans.new_checkpoint import Origin
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State

_MOST_SEARCHED = 50  # of the newest checkpoints of the namespace


def describe_created(channels: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """A line for the plan about channels that aren't known: only the graph's own are read from a checkpoint.

    LangGraph 1.2 (``pregel/_checkpoint.py: channels_from_checkpoint``) ignores others without a word.
    """
    if new := sorted({*channels}.difference(known)):
        near = [close[0] for name in new if (close := get_close_matches(name, known, n=1))]
        meant = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
        names = f"channel {new[0]} is" if len(new) == 1 else f"channels {', '.join(new)} are"
        yield f"no {names} known in this thread: a graph without such a channel ignores it{meant}"


def describe_unstored(
    reader: Reader, origin: Origin, channels: Collection[str], deltas: Collection[str]
) -> Iterator[str]:
    """A line for the plan about channels whose new value LangGraph may never read.

    ``updated_channels`` names what a step gave a value. An UntrackedValue has one and stores none (langgraph 1.2
    ``channels/untracked_value.py: checkpoint``), and starts empty whatever is stored.
    """
    asked = {c for c in channels if c in origin.state.versions and c not in origin.state.values} - {*deltas}
    if not asked:
        return
    written, stored = set[str](), set[str]()
    for state in _newest(reader, origin):
        stored |= state.values.keys()
        written |= {c for c in state.updated or () if c in state.versions}
    if names := sorted(c for c in asked & written - stored if not is_control(c, origin.state)):
        what = f"a step wrote {', '.join(names)}, and no checkpoint that was looked at stores a value"
        yield f"{what}, as of an UntrackedValue: LangGraph starts such a channel empty, whatever is stored"


def _newest(reader: Reader, origin: Origin) -> Iterator[State]:
    for row in reader.saver.newest(origin.ref.thread_id, origin.ref.ns, _MOST_SEARCHED):
        with suppress(PayloadCorrupt):
            yield reader.state(row.ref)
