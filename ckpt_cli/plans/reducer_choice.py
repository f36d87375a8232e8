"""A channel's reducer, named or proved, and refused if unproven; which channels take only messages.

A person names it (``--reducer``), or recorded steps prove it. The steps of the thread itself come first. If they don't
decide, the steps of other threads of the same graph count too.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.reducers import learning
from ckpt_cli.history.reducers.candidates import outcomes_or_error
from ckpt_cli.history.reducers.cases import unmet
from ckpt_cli.history.reducers.learning import Tally
from ckpt_cli.history.reducers.names import NamedReducers, names
from ckpt_cli.history.reducers.rebuilt import Rebuilt, extended, is_unproven
from ckpt_cli.history.reducers.reducers import ABSENT, GATHER, MESSAGES, TOPIC, Evidence, Reducer, Undecided, Unfit
from ckpt_cli.history.state.paths import spell
from ckpt_cli.model import Ref
from ckpt_cli.plans.delta_evidence import delta_evidence
from ckpt_cli.plans.messages import as_messages, unknown_removals
from ckpt_cli.plans.other_threads import THREADS, OtherThreads
from ckpt_cli.plans.thread_history import ThreadHistory, read_history
from ckpt_cli.plans.wording import describe_few_steps
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument, command
from ckpt_cli.values.langgraph_values import message, messages
from ckpt_cli.values.node import Node


class Reducers:
    """The reducers of one graph, learned when they are needed.

    Args:
        reader: the database.
        ref: the checkpoint where the change starts.
        named: the reducers that a person named.
        new_id: makes an id for a message that has none.

    Attributes:
        others: what other threads of the same graph show.
        used: channel to a text with the reducer that was used, and the evidence for this reducer.
    """

    def __init__(self, reader: Reader, ref: Ref, named: NamedReducers, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._reader = reader
        self._ref = ref
        self._chosen, self._remembered, self._deferred = named
        own_ids = reader.lineage(ref.thread_id, ref.ns).rows.keys()
        self.others = OtherThreads(reader, ref.thread_id, ref.ns, lambda: self.history, own_ids)
        self.used: dict[str, str] = {}
        self._unclear: set[str] = set()
        self._weak: list[str] = []

    @cached_property
    def history(self) -> ThreadHistory:
        """The history of this thread's namespace."""
        return read_history(self._reader, self._ref.thread_id, self._ref.ns, ThreadHistory())

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

    @property
    def words(self) -> list[str]:
        """One text for each reducer that was used."""
        return [f"{channel} {words}" for channel, words in self.used.items()]

    @property
    def kept(self) -> list[str]:
        """One text about all channels that were kept though the step may have to empty them; none if there are none."""
        unclear = sorted(self._unclear - self.used.keys())
        them = "it" if len(unclear) == 1 else "them"
        return [f"{', '.join(unclear)} kept (nothing shows if a step empties {them})"] if unclear else []

    @property
    def doubt(self) -> str:
        """A sentence about the channels of which few steps show what they do; "" if there are none."""
        return describe_few_steps(self._weak) if self._weak else ""

    def empties(self, channel: str) -> bool:
        """Whether a step empties a channel that it doesn't write to: a topic, an ephemeral value, an any value.

        If neither this thread nor another one shows it, the channel is kept, and `kept` says so.
        """
        if channel in self._chosen or channel in self.history.deltas:
            return channel in self._chosen and self._chosen[channel].fades
        if (own := self.history.tallies.get(channel, Tally()).fades) is not None:
            return own
        fades = self._with_others(channel).fades
        self._unclear |= {channel} if fades is None else set()
        return bool(fades)

    def _with_others(self, channel: str) -> Tally:
        """The steps of a channel in this thread and in those that nothing shows to be of another graph."""
        histories = [self.history, *self.others.with_same_nodes]
        return learning.add_up(one.tallies[channel] for one in histories if channel in one.tallies)

    def is_deferred(self, node: str) -> bool | None:
        """Whether a node waits until all others have finished; None if neither this thread nor others show it."""
        own = self.history.is_deferred(node)
        if (known := self._deferred.get(node) if own is None else own) is not None:
            return known
        others = [*self.others.with_same_nodes, *self.others.that_reached(node)]
        shown = {one.is_deferred(node) for one in others} - {None}
        return shown.pop() if len(shown) == 1 else None

    def is_known(self, channel: str) -> bool:
        """Whether the user's graph is known to have this channel."""
        if channel in self._chosen or self._has(self.history, channel):
            return True
        return any(self._has(history, channel) for history in self.others.of_same_graph)

    @staticmethod
    def _has(history: ThreadHistory, channel: str) -> bool:
        return channel in history.tallies or channel in history.deltas

    def channel_names(self) -> list[str]:
        """The channels that this thread has."""
        return sorted({*self.history.tallies, *self.history.deltas, *self.history.channels})

    def rebuilt_value(self, channel: str, rebuilt: Rebuilt) -> Any:
        """The value of a delta channel by the reducer that a person named, or as far as its history proves it."""
        if channel in self._chosen:
            return rebuilt.value_by(self._chosen[channel])
        return rebuilt.value

    def holds_messages(self, channel: str, before: Any, write: Any) -> bool:
        """Whether this write to a channel holds messages."""
        if channel in self._chosen:
            return self._chosen[channel] is MESSAGES
        if isinstance(before, list) and before:
            return isinstance(before[-1], Node) and messages(before[-1:]) is not None
        candidates = self._candidates(channel)
        if not candidates and self._may_learn_from_others(channel):
            candidates = self._all_steps(channel).candidates
        fitting = {one.reducer for one in candidates}
        is_message = any(message(one) is not None for one in (write if isinstance(write, list) else [write]))
        return MESSAGES in fitting and (is_message or GATHER not in fitting)

    def fold(self, channel: str, before: Any, writes: Sequence[Any]) -> Any:
        """The value of a channel after some writes.

        Raises:
            Refused: no reducer is proven, or several reducers are proven and give different values here.
            UsageError: the channel's reducer can't apply such values.
        """
        new_id = self._new_id
        writes = [as_messages(w, before, new_id) if self.holds_messages(channel, before, w) else w for w in writes]
        if not writes:
            is_topic = self._chosen.get(channel) is TOPIC or self._with_others(channel).leaves_list
            return [] if isinstance(before, list) and is_topic else ABSENT
        if channel in self._chosen:
            return self._fold_by_chosen(channel, self._chosen[channel], before, writes)
        candidates = self._candidates(channel)
        if any(self.holds_messages(channel, before, write) for write in writes):
            self._must_be_messages(channel, candidates, before, writes)
        outcomes, unfit = outcomes_or_error(candidates, before, writes)
        is_open = len(candidates) > 1 and (unfit is not None or len(outcomes) != 1)
        if channel in self.history.deltas and (not candidates or is_unproven(before) or is_open):
            self.used[channel] = "unknown, so LangGraph alone applies this"
            return extended(before, writes)
        tally = self.history.tallies.get(channel)
        if self._may_learn_from_others(channel):
            tally = self._all_steps(channel)
            candidates = tally.candidates
            outcomes, unfit = outcomes_or_error(candidates, before, writes)
            if len(outcomes) == 1 and tally.threads < 2 and self._is_refuted(channel, outcomes[0][0].reducer):
                raise self._excluded(channel)
        if unfit is not None:
            kind = Refused if isinstance(unfit, Undecided) else UsageError
            what = f"the recorded steps of channel {channel!r} fit {unfit}"
            raise kind(what, hint=self.ways_without_proof(channel)) from unfit
        if len(outcomes) != 1:
            raise self._unproven(channel, candidates, outcomes)
        evidence, value = outcomes[0]
        fitting = [evidence.reducer, *evidence.equals]
        if tally is not None and (case := unmet(fitting, tally.met, before, writes)):
            what = f"no step that counts shows what channel {channel!r} does with {case}"
            raise Refused(what, hint=self.ways_without_proof(channel))
        if evidence.steps < learning.ENOUGH and channel not in self.used:
            self._weak.append(channel)
        self.used[channel] = evidence.words
        return value

    def _must_be_messages(
        self, channel: str, candidates: Sequence[Evidence], before: Any, writes: Sequence[Any]
    ) -> None:
        """Refuse writes that aren't messages, or that remove an unknown one, if the reducer may be ``add_messages``.

        The recorded steps may also fit a plain append. Then a person can name that reducer.
        """
        if candidates and MESSAGES not in {one.reducer for one in candidates}:
            return
        try:
            MESSAGES.step(ABSENT, writes)
        except Unfit as error:
            option = f"--reducer {argument(channel + '=append')}"
            hint = f"a message is a text, or an object with role and content; {option} adds any list"
            raise UsageError(
                f"channel {channel!r} takes messages, and not all of these values are messages", hint=hint
            ) from error
        unknown = unknown_removals(before, writes)
        if unknown:
            raise UsageError(
                f"channel {channel!r} has no message {unknown[0]!r} to remove",
                hint=f"`ckpt get THREAD {channel}` lists its messages with their ids",
            )

    def _is_refuted(self, channel: str, reducer: Reducer) -> bool:
        """Whether a step of a thread that may be of this graph excludes a reducer that only one thread supports."""
        return reducer not in {one.reducer for one in self._with_others(channel).candidates}

    def _may_learn_from_others(self, channel: str) -> bool:
        """Whether other threads can decide; they can't if this thread's own steps exclude every known reducer."""
        tally = self.history.tallies.get(channel)
        return channel not in self.history.deltas and (tally is None or not tally.steps or bool(tally.candidates))

    def _all_steps(self, channel: str) -> Tally:
        """The steps of this thread and of other threads of the same graph."""
        return self.others.evidence(channel, self.history.tallies.get(channel))

    def _fold_by_chosen(self, channel: str, reducer: Reducer, before: Any, writes: Sequence[Any]) -> Any:
        is_remembered = channel in self._remembered
        try:
            value = reducer.step(before, writes)
        except Unfit as error:
            option = command("ckpt operations", options=("--forget-reducer", channel))
            hint = f"it was remembered for this database; `{option}` forgets it" if is_remembered else ""
            message = f"reducer {reducer.name} can't apply that to channel {channel!r}: {error}"
            raise UsageError(message, hint=hint) from error
        self.used[channel] = f"{reducer.name} ({'remembered' if is_remembered else 'as you say'})"
        return value

    def _candidates(self, channel: str) -> list[Evidence]:
        """The reducers that explain this thread's own steps."""
        if channel in self.history.deltas:
            return delta_evidence(self._reader, self._ref, channel)
        tally = self.history.tallies.get(channel)
        return tally.candidates if tally else []

    def _unproven(
        self, channel: str, candidates: Sequence[Evidence], outcomes: Sequence[tuple[Evidence, Any]]
    ) -> Exception:
        if candidates and not outcomes:
            kinds = ", ".join(one.reducer.name for one in candidates)
            return UsageError(f"channel {channel!r} can't take several writes in one step: its reducer is {kinds}")
        own = self.history.tallies.get(channel, Tally())
        tally = self._all_steps(channel) if self._may_learn_from_others(channel) else own
        where = "" if tally.threads < 2 else f" in {tally.threads} threads"
        hint = self.ways_without_proof(channel)
        if outcomes:
            fitting = ", ".join(one.reducer.name for one, _ in outcomes)
            what = f"the recorded steps of channel {channel!r}{where} fit reducers that give different values here"
            return Refused(f"{what}: {fitting}", hint=hint)
        if not tally.steps:
            who = "no step of this thread, or of one known to be of its graph, shows"
            if self._may_learn_from_others(channel) and self.others.is_cut:
                who = f"neither this thread nor the newest {THREADS} others, as far as they were read, show"
            return Refused(f"{who} what channel {channel!r} does with writes", hint=hint)
        return self._excluded(channel, tally)

    def _excluded(self, channel: str, tally: Tally | None = None) -> Refused:
        """The refusal if one of these steps, by default also those of threads that may be of the graph, fits none."""
        tally = self._with_others(channel) if tally is None else tally
        where = "" if tally.threads < 2 else f" in {tally.threads} threads"
        what = "the recorded step" if tally.steps == 1 else f"the {tally.steps:,} recorded steps"
        message = f"no reducer explains {what} of channel {channel!r}{where}"
        return Refused(message, hint=self.ways_without_proof(channel))

    def ways_without_proof(self, channel: str) -> str:
        """The hint for a channel whose reducer isn't proven: name it, for once or for this database, or `edit`."""
        thread_id, ns, checkpoint_id = self._ref
        is_head = self._reader.head(thread_id, ns).checkpoint_id == checkpoint_id
        words = [thread_id] if is_head else [thread_id, self._reader.short(thread_id)(checkpoint_id)]
        options = ["--set", f"{spell([channel])}=JSON", *(["--ns", ns] if ns else [])]
        return (
            f"--reducer {argument(channel + '=NAME')} names it, and --remember keeps that for this database; "
            f"`{command('ckpt edit', *words, options=options)}` needs no reducer; NAME is one of {', '.join(names())}"
        )
