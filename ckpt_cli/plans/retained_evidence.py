"""The checkpoints that show delta channels' reducers; without them, kept ones would show less.

No database stores a reducer: `history.reducers.delta` learns it from the writes between two stored values. LangGraph
has it in the graph, and needs none of this.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import takewhile

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.delta import AHEAD
from ckpt_cli.history.reducers.rebuilt import Rebuilt, is_unproven
from ckpt_cli.history.reducers.reducers import ABSENT
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.plans.retained_chains import Chains
from ckpt_cli.plans.retained_snapshots import Snapshots
from ckpt_cli.reading import Reader
from ckpt_cli.values.same import same


class ReducerEvidence:
    """The evidence for the reducers of a thread's delta channels."""

    def __init__(self, reader: Reader, thread_id: str, lineages: Mapping[str, Lineage], chains: Chains) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._lineages = lineages
        self._chains = chains

    def usual(self, ns: str, kept: Collection[str]) -> Iterator[str]:
        """From the first checkpoint of a line to the first stored value; before it, up to the next stored value."""
        for channel in self._chains.channels(ns):
            rebuilt = [one for one in kept if channel not in self._chains.stored_values(ns, one)]
            firsts = self._first_stored(ns, channel, rebuilt)
            for first in dict.fromkeys(firsts.values()):
                yield from () if first is None else self._lineages[ns].line(first)
            for one, first in firsts.items():
                yield from self._ahead(ns, channel, one) if first is None else ()

    def _first_stored(self, ns: str, channel: str, checkpoint_ids: Iterable[str]) -> dict[str, str | None]:
        """The first stored value on the line of each of these checkpoints; one on the line's first doesn't count."""
        lineage, first = self._lineages[ns], dict[str, str | None]()
        for checkpoint_id in checkpoint_ids:
            path = list(takewhile(lambda one: one not in first, lineage.line(checkpoint_id)))
            parent = lineage.parent(path[-1]) if path else None
            at = None if parent is None else first[parent]
            for one in reversed(path):
                is_later = at is None and lineage.parent(one) is not None
                first[one] = at = one if is_later and channel in self._chains.stored_values(ns, one) else at
        return {one: first[one] for one in checkpoint_ids}

    def _ahead(self, ns: str, channel: str, checkpoint_id: str) -> Sequence[str]:
        """A checkpoint, its first child, that child's first child, up to a stored value; nothing if there is none."""
        children, line = self._lineages[ns].children, [checkpoint_id]
        while len(line) < AHEAD and line[-1] in children:
            line.append(children[line[-1]][0])
            if channel in self._chains.stored_values(ns, line[-1]):
                return line
        return ()

    def further(self, ns: str, pruned: Lineage, snapshots: Snapshots | None = None) -> Iterator[str]:
        """All that a value is learned from now, where the `pruned` tree would show another value.

        Of the checkpoints that are rebuilt from the same stored value, only the last of each branch are compared, and
        the last whose value is proven and needs the reducer. With `snapshots`, such a checkpoint stores its value
        instead, which may show the reducer to those before it.
        """
        channels = self._chains.channels(ns)
        for checkpoint_id in reversed(pruned.rows) if channels else ():
            rebuilt = self._rebuilt(ns, checkpoint_id, snapshots)
            children = pruned.children.get(checkpoint_id, ())
            if rebuilt and not any(rebuilt <= self._rebuilt(ns, child, snapshots) for child in children):
                ref = Ref(self._thread_id, ns, checkpoint_id)
                for one in (ref, *self._decisive(ref, pruned, snapshots)):
                    yield from self._lost(one, pruned, snapshots)

    def _decisive(self, ref: Ref, pruned: Lineage, snapshots: Snapshots | None) -> Sequence[Ref]:
        """For each channel, the last on a checkpoint's line whose value needs the reducer and is proven; not itself.

        A value that nothing proves can't get lost, nor one that no writes make. Both are looked for by halves, as what
        is true of a checkpoint's value is mostly true of the values after it.
        """
        reader = self._reader if snapshots is None else snapshots.reader()
        last = set[str]()
        for channel in self._rebuilt(ref.ns, ref.checkpoint_id, snapshots):
            line = self._rebuilt_line(ref, channel, pruned, snapshots)

            def is_proven(one: Ref, channel: str = channel) -> bool:
                now = self._deltas(self._reader, one).get(channel)
                return now is None or not is_unproven(now.value)

            def is_made(one: Ref, channel: str = channel) -> bool:
                if self._is_unwritten(one, channel):
                    return True
                then = self._deltas(reader, one, pruned).get(channel)
                return then is not None and not (then.is_whole and then.is_settled)

            place = _first(line, is_made, _first(line, is_proven, 0))
            last.update(one.checkpoint_id for one in line[place : place + 1])
        return [ref._replace(checkpoint_id=one) for one in sorted(last - {ref.checkpoint_id}, reverse=True)]

    def _is_unwritten(self, ref: Ref, channel: str) -> bool:
        try:
            return channel not in self._reader.state(ref).versions
        except PayloadCorrupt:
            return False

    def _rebuilt_line(self, ref: Ref, channel: str, pruned: Lineage, snapshots: Snapshots | None) -> list[Ref]:
        """A checkpoint and its ancestors, newest first, up to one that stores the channel."""
        line = pruned.line(ref.checkpoint_id)
        rebuilt = takewhile(lambda one: channel in self._rebuilt(ref.ns, one, snapshots), line)
        return [ref._replace(checkpoint_id=one) for one in rebuilt]

    @staticmethod
    def _deltas(reader: Reader, ref: Ref, lineage: Lineage | None = None) -> Mapping[str, Rebuilt]:
        try:
            return Inspection(reader, ref, lineage).deltas()
        except PayloadCorrupt:
            return {}

    def _rebuilt(self, ns: str, checkpoint_id: str, snapshots: Snapshots | None) -> Set[str]:
        """The delta channels that a checkpoint doesn't store, and won't."""
        rebuilt = self._chains.channels(ns) - self._chains.stored_values(ns, checkpoint_id)
        return rebuilt if snapshots is None else rebuilt - snapshots.of(Ref(self._thread_id, ns, checkpoint_id))

    def _lost(self, ref: Ref, pruned: Lineage, snapshots: Snapshots | None) -> Collection[str]:
        reader = self._reader if snapshots is None else snapshots.reader()
        try:
            now, read = Inspection(self._reader, ref).deltas_with_sources()
            then = Inspection(reader, ref, pruned).values()
        except PayloadCorrupt:
            return ()
        differing = [channel for channel, one in now.items() if not same(one.value, then.get(channel, ABSENT))]
        if snapshots is not None:
            differing = [channel for channel in differing if not snapshots.add(ref, channel)]
        return read if differing else ()


def _first(line: Sequence[Ref], fits: Callable[[Ref], bool], start: int) -> int:
    """The place from which on checkpoints fit; mostly it is `start`, which is looked at first."""
    if start >= len(line) or fits(line[start]):
        return start
    return bisect_left(line, True, lo=start + 1, key=fits)
