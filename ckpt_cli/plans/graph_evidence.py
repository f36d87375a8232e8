"""What the recorded steps of a thread, and of others of its graph, show about channels and nodes."""

from collections.abc import Collection, Sequence, Set
from functools import cached_property

from ckpt_cli.history.reducers import learning
from ckpt_cli.history.reducers.learning import Tally
from ckpt_cli.history.reducers.reducers import Evidence, Reducer
from ckpt_cli.history.reducers.shown_cases import ShownCases
from ckpt_cli.history.tasks.snapshot import graph_of
from ckpt_cli.model import Ref
from ckpt_cli.plans.delta_evidence import DeltaEvidence, delta_evidence
from ckpt_cli.plans.evidence_window import STEPS
from ckpt_cli.plans.history_reading import read_history
from ckpt_cli.plans.other_threads import OtherThreads
from ckpt_cli.plans.thread_history import ThreadHistory
from ckpt_cli.reading import Reader


class GraphEvidence:
    """What is recorded of the graph of one thread; nothing is read before it is needed.

    Args:
        reader: the database.
        ref: the checkpoint where a change starts.

    Attributes:
        others: what other threads of the same graph show.
    """

    def __init__(self, reader: Reader, ref: Ref) -> None:
        self._reader = reader
        self._ref = ref
        self._deltas: dict[str, DeltaEvidence] = {}
        own_ids = reader.lineage(ref.thread_id, ref.ns).rows.keys()
        self.others = OtherThreads(reader, ref.thread_id, ref.ns, lambda: self.history, own_ids)

    @cached_property
    def history(self) -> ThreadHistory:
        """The history of this thread's namespace."""
        return read_history(self._reader, self._ref.thread_id, self._ref.ns, ThreadHistory())

    @cached_property
    def nodes_of_other_calls(self) -> Set[str]:
        """The nodes that other calls of this subgraph show in this thread, such as that of another Send."""
        if not self.is_subgraph:
            return frozenset()
        reader, (thread_id, ns, _) = self._reader, self._ref
        others = [one for one in reader.namespaces(thread_id) if one != ns and graph_of(one) == graph_of(ns)]
        others.sort(key=lambda one: reader.head(thread_id, one).checkpoint_id, reverse=True)
        nodes, left = set[str](), STEPS
        for one in others:
            left -= len(reader.lineage(thread_id, one).rows)
            if left < 0:
                break
            nodes |= read_history(reader, thread_id, one, ThreadHistory()).nodes
        return nodes

    @property
    def of_state_graph(self) -> bool:
        """Whether the graph is shown to be a StateGraph, by this thread or by others that share a node with it."""
        own = self.history
        if not own.of_state_graph or own.started or own.has_triggers:
            return own.of_state_graph
        return any(one.of_state_graph and (one.started or one.has_triggers) for one in self.others.with_same_nodes)

    @property
    def is_subgraph(self) -> bool:
        """Whether the change is in a subgraph's namespace, where only this thread's own steps count."""
        return bool(self._ref.ns)

    def is_recorded(self, channel: str) -> bool:
        """Whether this thread, or one that is known to be of its graph, has steps of this channel."""
        histories = (self.history, *self.others.of_same_graph) if not self._has(self.history, channel) else ()
        return not histories or any(self._has(history, channel) for history in histories)

    @staticmethod
    def _has(history: ThreadHistory, channel: str) -> bool:
        return channel in history.tallies or channel in history.deltas

    def channel_names(self) -> list[str]:
        """The channels that this thread has."""
        return sorted({*self.history.tallies, *self.history.deltas, *self.history.channels})

    def shows_deferred(self, node: str) -> bool | None:
        """Whether other threads show that a node waits until all others have finished; None if they don't agree."""
        others = [*self.others.with_same_nodes, *self.others.that_reached(node)]
        shown = {one.is_deferred(node) for one in others} - {None}
        return shown.pop() if len(shown) == 1 else None

    def own_steps(self, channel: str) -> Tally:
        """The steps of a channel in this thread."""
        return self.history.tallies.get(channel, Tally())

    def candidates(self, channel: str) -> Sequence[Evidence]:
        """The reducers that explain this thread's own steps."""
        if channel in self.history.deltas:
            return self._of_delta(channel).candidates
        return self.own_steps(channel).candidates

    def shown_cases(self, channel: str) -> ShownCases:
        """The cases of which the stored values of a delta channel show what its reducer does."""
        return self._of_delta(channel).cases

    def _of_delta(self, channel: str) -> DeltaEvidence:
        if channel not in self._deltas:
            self._deltas[channel] = delta_evidence(self._reader, self._ref, channel)
        return self._deltas[channel]

    def may_learn_from_others(self, channel: str) -> bool:
        """Whether other threads can decide; they can't if this thread's own steps exclude every known reducer."""
        own = self.own_steps(channel)
        return channel not in self.history.deltas and (not own.steps or bool(own.candidates))

    def all_steps(self, channel: str) -> Tally:
        """The steps of this thread, and of other threads of the same graph if those may decide."""
        if not self.may_learn_from_others(channel):
            return self.own_steps(channel)
        return self.others.evidence(channel, self.history.tallies.get(channel))

    def contradicting(self, channel: str, reducers: Collection[Reducer]) -> int:
        """In how many threads that nothing shows to be of another graph none of these reducers explains the steps."""
        tallies = [one.tallies[channel] for one in self.others.with_same_nodes if channel in one.tallies]
        return sum(
            bool(one.steps) and not any(candidate.reducer in reducers for candidate in one.candidates)
            for one in tallies
        )

    def possible_steps(self, channel: str) -> Tally:
        """The steps of a channel in this thread and in those that nothing shows to be of another graph."""
        histories = [self.history, *self.others.with_same_nodes]
        return learning.add_up(one.tallies[channel] for one in histories if channel in one.tallies)
