"""Errors and hints for channels and namespaces that don't exist, with the nearest existing names."""

from collections.abc import Collection, Iterable, Sequence

from ckpt_cli.errors import ChannelNotFound, NotFound, PayloadCorrupt
from ckpt_cli.reading import Reader

_MAX_LISTED = 12


def read_channels(reader: Reader, thread_id: str, ns: str) -> set[str] | None:
    """The channels in the head of a namespace, and those that a task wrote to; None if the head can't be read."""
    try:
        state = reader.state(reader.head(thread_id, ns).ref)
    except PayloadCorrupt:
        return None
    written = {write.channel for write in reader.saver.writes(thread_id, ns, values=0)}
    return {*state.versions, *state.values, *written}


def no_channel(name: str, existing: Iterable[str], where: str) -> ChannelNotFound:
    """The error for a channel that doesn't exist; it shows the nearest names, or the first existing ones."""
    similar = _similar(name, existing := sorted(existing, key=lambda n: (n.startswith("__") or ":" in n, n)))
    hint = f"did you mean {similar[0]}?" if similar else f"there are {', '.join(existing[:_MAX_LISTED]) or 'none'}"
    return ChannelNotFound(f"no channel {name!r} in {where}", hint=hint, candidates=similar if len(similar) > 1 else ())


def no_namespace(name: str, existing: Collection[str], where: str) -> NotFound:
    """The error for a namespace that doesn't exist; it shows the nearest names, or all if none is near."""
    similar = _similar(name, existing) or sorted(existing)
    hint = "" if similar else "there are no subgraphs: leave --ns out"
    return NotFound(f"no namespace {name!r} in {where}", hint=hint, candidates=similar[:_MAX_LISTED])


def _similar(name: str, existing: Iterable[str]) -> Sequence[str]:
    from difflib import get_close_matches

    return get_close_matches(name, list(existing), n=3, cutoff=0.5)
