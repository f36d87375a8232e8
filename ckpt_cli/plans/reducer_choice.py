"""A channel's reducer, named or proved, and refused if unproven; which channels take only messages.

A person names it (``--reducer``), or recorded steps prove it. The steps of the thread itself come first. If they don't
decide, the steps of other threads of the same graph count too.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.history.reducers import learning
from ckpt_cli.history.reducers.candidates import outcomes_or_error
from ckpt_cli.history.reducers.cases import REPLACED, is_nothing, unmet
from ckpt_cli.history.reducers.learning import Tally
from ckpt_cli.history.reducers.names import NamedReducers, names
from ckpt_cli.history.reducers.rebuilt import Rebuilt, extended, is_unproven
from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    APPEND,
    GATHER,
    LAST,
    MESSAGES,
    TOPIC,
    ChannelStep,
    Evidence,
    Reducer,
    TooManyWrites,
    Unfit,
)
from ckpt_cli.history.reducers.shown_cases import size_of
from ckpt_cli.history.state.paths import spell
from ckpt_cli.model import Ref
from ckpt_cli.plans.graph_evidence import GraphEvidence
from ckpt_cli.plans.messages import as_messages
from ckpt_cli.plans.reducer_refusals import (
    ambiguous,
    excluded,
    must_be_messages,
    unfit_write,
    unkept_last,
    unmet_case,
    unrecorded,
)
from ckpt_cli.plans.wording import describe_few_steps, describe_learned, describe_new_kinds
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument, command, ns_option
from ckpt_cli.values.langgraph_values import message, messages
from ckpt_cli.values.node import Node


class Reducers(GraphEvidence):
    """The reducers of one graph: what a person named, else what the recorded steps prove.

    Args:
        reader: the database.
        ref: the checkpoint where the change starts.
        named: the reducers that a person named.
        new_id: makes an id for a message that has none.

    Attributes:
        used: channel to a text with the reducer that was used, and the evidence for this reducer.
        deferred_elsewhere: nodes of which only other threads show whether they are deferred.
    """

    def __init__(self, reader: Reader, ref: Ref, named: NamedReducers, new_id: Callable[[], str]) -> None:
        super().__init__(reader, ref)
        self._new_id = new_id
        self._chosen, self._remembered, self._deferred = named
        self.used: dict[str, str] = {}
        self.deferred_elsewhere: set[str] = set()
        self._unclear: set[str] = set()
        self._weak: list[str] = []
        self._unseen: list[str] = []
        self._learned: list[str] = []

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
    def idle(self) -> list[str]:
        """The channels that a person named for this change, which this thread doesn't have: often misspelled ones."""
        return sorted({*self._chosen}.difference(self._remembered, self.used, self.channel_names()))

    def doubt(self) -> str:
        """Which reducers are learned, from few steps, or from none with such values; "" if a person named all."""
        parts = (
            (self._weak, describe_few_steps),
            (self._unseen, describe_new_kinds),
            (self._learned, describe_learned),
        )
        return "; ".join(describe(channels) for channels, describe in parts if channels)

    def empties(self, channel: str) -> bool:
        """Whether a step empties a channel that it doesn't write to: a topic, an ephemeral value, an any value.

        If neither this thread nor another one shows it, the channel is kept, and `kept` says so.
        """
        if (said := self._said(channel)) is not None or channel in self.history.deltas:
            return said is not None and said.fades
        if (own := self.own_steps(channel).fades) is not None:
            return own
        fades = self.possible_steps(channel).fades
        self._unclear |= {channel} if fades is None else set()
        return bool(fades)

    def is_topic(self, channel: str) -> bool:
        """Whether a channel is known to be a topic, of either kind."""
        said = self._said(channel)
        fitting = {one.reducer for one in self.candidates(channel)} if said is None else {said}
        return bool(fitting) and fitting <= {TOPIC, GATHER}

    def is_deferred(self, node: str) -> bool | None:
        """Whether a node waits until all others have finished; None if no person and no thread says it."""
        if (said := self._deferred.get(node)) is not None:
            return said
        own = self.history.is_deferred(node)
        if own is not None or node in self.history.deferred | self.history.undeferred:
            return own
        if (shown := self.shows_deferred(node)) is not None:
            self.deferred_elsewhere.add(node)
        return shown

    def is_known(self, channel: str) -> bool:
        """Whether the user's graph is known to have this channel."""
        return channel in self._chosen or self.is_recorded(channel)

    def rebuilt_value(self, channel: str, rebuilt: Rebuilt) -> Any:
        """The value of a delta channel by the reducer that a person named, or as far as its history proves it."""
        if channel in self._chosen:
            return rebuilt.value_by(self._chosen[channel])
        return rebuilt.proven_value

    def most_messages(self, channel: str, rebuilt: Rebuilt) -> int | None:
        """The most messages that a stored value of a delta channel shows, -1 if there is none.

        None if it holds no messages, or a person named the reducer, which then may keep any number.
        """
        if channel in self._chosen or (rebuilt.reducer or rebuilt.supposed) is not MESSAGES:
            return None
        return max(rebuilt.shown.cases.largest, size_of(rebuilt.value) if rebuilt.is_settled else -1)

    def holds_messages(self, channel: str, before: Any, write: Any) -> bool:
        """Whether this write to a channel holds messages."""
        if (said := self._said(channel)) is not None:
            return said is MESSAGES
        if isinstance(before, list) and before:
            return isinstance(before[-1], Node) and messages(before[-1:]) is not None
        candidates = self.candidates(channel)
        if not candidates and self.may_learn_from_others(channel):
            candidates = self.all_steps(channel).candidates
        fitting = {one.reducer for one in candidates}
        is_message = any(message(one) is not None for one in (write if isinstance(write, list) else [write]))
        return MESSAGES in fitting and (is_message or fitting.isdisjoint((GATHER, APPEND)))

    def fold(self, channel: str, before: Any, writes: Sequence[Any]) -> Any:
        """The value of a channel after some writes.

        Raises:
            Refused: no reducer is proven, or several reducers are proven and give different values here.
            UsageError: the channel's reducer can't apply such values.
        """
        new_id = self._new_id
        writes = [as_messages(w, before, new_id) if self.holds_messages(channel, before, w) else w for w in writes]
        if not writes:
            is_topic = self._said(channel) is TOPIC or self.possible_steps(channel).leaves_list
            return [] if isinstance(before, list) and is_topic else ABSENT
        if (said := self._said(channel)) is not None:
            return self._fold_by_chosen(channel, said, before, writes)
        candidates = self.candidates(channel)
        if any(self.holds_messages(channel, before, write) for write in writes):
            must_be_messages(channel, {one.reducer for one in candidates}, before, writes)
        if channel in self.history.deltas and self._is_open(channel, candidates, before, writes):
            shown = "holds a value that isn't proven" if is_unproven(before) else "not shown by steps like this one"
            self.used[channel] = f"{shown if candidates else 'unknown'}, so LangGraph alone applies this"
            return extended(before, writes)
        return self._fold_by_proved(channel, candidates, before, writes)

    def _said(self, channel: str) -> Reducer | None:
        """The reducer that a person named; not a remembered one that a subgraph's own steps contradict.

        An outer graph may have a channel of the same name, for which it was named.
        """
        reducer = self._chosen.get(channel)
        if reducer is None or not self._ref.ns or channel not in self._remembered:
            return reducer
        candidates = self.candidates(channel)
        return reducer if not candidates or reducer in {r for one in candidates for r in one.all} else None

    def _is_open(self, channel: str, candidates: Sequence[Evidence], before: Any, writes: Sequence[Any]) -> bool:
        """Whether the reducer of a delta channel isn't decided here; LangGraph itself can still apply the writes."""
        if not candidates or is_unproven(before):
            return True
        outcomes, unfit = outcomes_or_error(candidates, before, writes)
        if len(outcomes) != 1 or unfit is not None:
            return len(candidates) > 1
        [(evidence, value)], shown = outcomes, self.shown_cases(channel)
        return bool(shown.unmet(evidence.all, before, writes)) or shown.is_beyond(evidence.reducer, before, value)

    def _fold_by_proved(self, channel: str, own: Sequence[Evidence], before: Any, writes: Sequence[Any]) -> Any:
        is_open_to_others = self.may_learn_from_others(channel)
        tally = self.all_steps(channel)
        candidates = tally.candidates if is_open_to_others else own
        outcomes, unfit = outcomes_or_error(candidates, before, writes)
        if is_open_to_others and len(outcomes) == 1:
            reducers = {outcomes[0][0].reducer, *outcomes[0][0].equals}
            if (against := self.contradicting(channel, reducers)) and against >= tally.threads - 1:
                raise excluded(channel, self.possible_steps(channel), self.ways_without_proof(channel))
        if unfit is not None:
            raise unfit_write(channel, unfit, self.ways_without_proof(channel)) from unfit
        if len(outcomes) != 1:
            raise self._unproven(channel, tally, candidates, outcomes)
        evidence, value = outcomes[0]
        is_counted = is_open_to_others or channel in self.history.tallies
        case = unmet(evidence.all, tally.met, before, writes, empty=True) if is_counted else ""
        if case := case or unkept_last(evidence, tally, value, writes):
            raise unmet_case(channel, case, self.ways_without_proof(channel))
        if channel not in self.used:
            self._note_doubt(channel, evidence, tally, before, writes)
        self.used[channel] = evidence.words
        return value

    def _note_doubt(self, channel: str, evidence: Evidence, tally: Tally, before: Any, writes: Sequence[Any]) -> None:
        is_kept = LAST in evidence.all and not is_nothing(before) and REPLACED not in tally.met
        if evidence.steps < learning.ENOUGH or is_kept:
            self._weak.append(channel)
        elif tally.steps and not tally.shows_kinds_of(ChannelStep(before, writes, ABSENT)):
            self._unseen.append(channel)
        else:
            self._learned.append(channel)

    def _unproven(
        self, channel: str, tally: Tally, candidates: Sequence[Evidence], outcomes: Sequence[tuple[Evidence, Any]]
    ) -> Exception:
        """Why the recorded steps of a channel don't decide what these writes make."""
        if candidates and not outcomes:
            kinds = ", ".join(one.reducer.name for one in candidates)
            message = f"channel {channel!r} can't take several writes in one step: its reducer is {kinds}"
            return UsageError(message, hint=self._ways_with_one_write(channel))
        hint = self.ways_without_proof(channel)
        if outcomes:
            return ambiguous(channel, tally, [one.reducer for one, _ in outcomes], hint)
        if tally.steps:
            return excluded(channel, tally, hint)
        return unrecorded(channel, is_cut=self.may_learn_from_others(channel) and self.others.is_cut, hint=hint)

    def _fold_by_chosen(self, channel: str, reducer: Reducer, before: Any, writes: Sequence[Any]) -> Any:
        is_remembered = channel in self._remembered
        try:
            value = reducer.step(before, writes)
        except Unfit as error:
            option = command("ckpt operations", options=("--forget-reducer", channel))
            forget = f"it was remembered for this database; `{option}` forgets it"
            ways = self._ways_with_one_write if isinstance(error, TooManyWrites) else self.ways_without_proof
            hint = forget if is_remembered else ways(channel)
            message = f"reducer {reducer.name} can't apply that to channel {channel!r}: {error}"
            raise UsageError(message, hint=hint) from error
        self.used[channel] = f"{reducer.name} ({'remembered' if is_remembered else 'as you say'})"
        return value

    def ways_without_proof(self, channel: str) -> str:
        """The hint for a channel whose reducer isn't proven: name it, for once or for this database, or `edit`."""
        revision = self._revision()
        words = [self._ref.thread_id, *([] if revision == "@" else [revision])]
        options = ["--set", f"{spell([channel])}=JSON", *ns_option(self._ref.ns)]
        return (
            f"--reducer {argument(channel + '=NAME')} names it, and --remember keeps that for this database; "
            f"`{command('ckpt edit', *words, options=options)}` needs no reducer; NAME is one of {', '.join(names())}"
        )

    def _ways_with_one_write(self, channel: str) -> str:
        """The hint for several writes in a step to a channel that takes one.

        If finished tasks made them, LangGraph raises the same error in every run, also after the nodes are changed, as
        it applies the stored writes first. Below a new checkpoint it runs the tasks again.
        """
        other = f"--reducer {argument(channel + '=NAME')} names the reducer, if your graph has another one; "
        tasks = {write.task_id for write in self._reader.writes(self._ref) if write.channel == channel}
        if len(tasks) < 2:
            return f"{other}else only one update of a step may write to it"
        options = ["--at", self._revision(), *ns_option(self._ref.ns)]
        return (
            f"{other}else every run ends with an error here: let only one of the nodes write to it, and then "
            f"`{command('ckpt rollback', self._ref.thread_id, options=options)}` lets them run again"
        )

    def _revision(self) -> str:
        """A revision that names the checkpoint where the change starts."""
        thread_id, ns, checkpoint_id = self._ref
        is_head = self._reader.head(thread_id, ns).checkpoint_id == checkpoint_id
        return "@" if is_head else self._reader.short(thread_id)(checkpoint_id)
