"""Errors for names that don't exist, with the nearest existing ones."""

from collections.abc import Collection, Iterable, Sequence

from ckpt_cli.errors import ChannelNotFound, NotFound, PayloadCorrupt
from ckpt_cli.reading import Reader

_LISTED = 12


def read_channels(reader: Reader, thread_id: str, ns: str) -> set[str] | None:
    """The channels of a namespace that its head has or a task wrote to; None if the head can't be read."""
    try:
        state = reader.state(reader.head(thread_id, ns).ref)
    except PayloadCorrupt:
        return None
    written = {write.channel for write in reader.saver.writes(thread_id, ns, values=0)}
    return {*state.versions, *state.values, *written}


def no_channel(name: str, known: Iterable[str], where: str) -> ChannelNotFound:
    """The error that there is no such channel, with the nearest names, the user's own first."""
    near = _near(name, known := sorted(known, key=lambda n: (n.startswith("__") or ":" in n, n)))
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known[:_LISTED]) or 'none'}"
    return ChannelNotFound(f"no channel {name!r} in {where}", hint=hint, candidates=near if len(near) > 1 else ())


def no_namespace(name: str, known: Collection[str], where: str) -> NotFound:
    """The error that there is no such namespace, with the nearest ones or all."""
    near = _near(name, known) or sorted(known)
    hint = "" if near else "there are no subgraphs: leave --ns out"
    return NotFound(f"no namespace {name!r} in {where}", hint=hint, candidates=near[:_LISTED])


def _near(name: str, known: Iterable[str]) -> Sequence[str]:
    from difflib import get_close_matches

    return get_close_matches(name, list(known), n=3, cutoff=0.5)
