"""Which reducer a channel has: as a person says, or as the history of its thread or of its kin proves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.reducers import learning
from ckpt_cli.history.reducers.reducers import ABSENT, GATHER, MESSAGES, TOPIC, Evidence, Reducer, Unfit
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.plans.messages import as_messages
from ckpt_cli.plans.thread_history import ThreadHistory, read_history, related_histories
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument
from ckpt_cli.values.known import message, messages
from ckpt_cli.values.node import Node

_LINE = 50  # checkpoints whose delta channels are asked for evidence


class Reducers:
    """The reducers of one graph, learned when they are needed.

    Attributes:
        used: channel to the words that tell which was used, and why.
    """

    def __init__(self, reader: Reader, ref: Ref, said: Mapping[str, Reducer], new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._reader = reader
        self._ref = ref
        self._chosen = said
        self.used: dict[str, str] = {}

    @cached_property
    def history(self) -> ThreadHistory:
        """What this thread's namespace tells."""
        return read_history(self._reader, self._ref.thread_id, self._ref.ns)

    @cached_property
    def related(self) -> list[ThreadHistory]:
        """What other threads tell; looked at only where this one can't say."""
        return list(related_histories(self._reader, self._ref.thread_id, self._ref.ns, self.history.nodes))

    @property
    def ephemeral(self) -> frozenset[str]:
        """The user's channels that a step without writes was seen to empty."""
        return frozenset(c for c, tally in self.history.tallies.items() if tally.faded and not tally.kept)

    def is_known(self, channel: str) -> bool:
        """Whether there is such a channel of the user's."""
        return channel in self._chosen or any(
            channel in p.tallies or channel in p.deltas for p in (self.history, *self.related)
        )

    def channel_names(self) -> list[str]:
        """The channels that this thread has."""
        return sorted({*self.history.tallies, *self.history.deltas})

    def holds_messages(self, channel: str, before: Any, given: Any) -> bool:
        """Whether what is written to a channel are messages."""
        if channel in self._chosen:
            return self._chosen[channel] is MESSAGES
        if isinstance(before, list) and before:
            return isinstance(before[-1], Node) and messages(before[-1:]) is not None
        told = next((past for past in (self.history, *self.related) if self._candidates(channel, past)), self.history)
        fitting = {one.reducer for one in self._candidates(channel, told)}
        is_said = any(message(one) is not None for one in (given if isinstance(given, list) else [given]))
        return MESSAGES in fitting and (is_said or GATHER not in fitting)

    def fold(self, channel: str, before: Any, writes: Sequence[Any]) -> Any:
        """What a channel holds after some writes.

        Raises:
            Refused: no reducer is proven, or several are that differ here.
            UsageError: the writes aren't of the kind that the channel takes.
        """
        new_id = self._new_id
        writes = [as_messages(w, before, new_id) if self.holds_messages(channel, before, w) else w for w in writes]
        if not writes:
            return [] if isinstance(before, list) and TOPIC in self._alive(channel) else ABSENT
        if channel in self._chosen:
            return self._by(channel, self._chosen[channel], before, writes)
        found = self._candidates(channel, self.history)
        if any(self.holds_messages(channel, before, write) for write in writes):
            self._must_be_messages(channel, found, writes)
        made = learning.outcomes(found, before, writes)
        if len(made) != 1:
            made = self._by_kin(channel, found, before, writes) or made
        if len(made) != 1:
            raise self._unproven(channel, found, made)
        evidence, value = made[0]
        self.used[channel] = f"{evidence.reducer.name} ({evidence.explained} of {evidence.steps} steps)"
        return value

    def _must_be_messages(self, channel: str, found: Sequence[Evidence], writes: Sequence[Any]) -> None:
        """What may be a message merge takes only what ``add_messages`` does, though it may be an append as well."""
        if found and MESSAGES not in {one.reducer for one in found}:
            return
        try:
            MESSAGES.step(ABSENT, writes)
        except Unfit as error:
            option = f"--reducer {argument(channel + '=append')}"
            hint = f"a message is a text, or an object with role and content; {option} adds any list"
            raise UsageError(f"channel {channel!r} takes messages, and not all of this is", hint=hint) from error

    def _by_kin(
        self, channel: str, found: Sequence[Evidence], before: Any, writes: Sequence[Any]
    ) -> list[tuple[Evidence, Any]]:
        """What other threads settle that this one leaves open; they never speak against it."""
        tally = self.history.tallies.get(channel)
        for kin in self.related if found or tally is None or not tally.steps else ():
            theirs = self._candidates(channel, kin)
            agreed = [one for one in theirs if not found or one.reducer in {own.reducer for own in found}]
            if len(made := learning.outcomes(agreed, before, writes)) == 1:
                return made
        return []

    def _by(self, channel: str, reducer: Reducer, before: Any, writes: Sequence[Any]) -> Any:
        try:
            value = reducer.step(before, writes)
        except Unfit as error:
            raise UsageError(f"channel {channel!r} can't take that by {reducer.name}: {error}") from error
        self.used[channel] = f"{reducer.name} (as you say)"
        return value

    def _alive(self, channel: str) -> list[Reducer]:
        return [one.reducer for one in self._candidates(channel, self.history)]

    def _candidates(self, channel: str, told: ThreadHistory) -> list[Evidence]:
        if channel in told.deltas and told is self.history:
            return list(islice(self._of_delta(channel), 1))
        tally = told.tallies.get(channel)
        return tally.candidates if tally else []

    def _of_delta(self, channel: str) -> Iterator[Evidence]:
        line = self._reader.lineage(self._ref.thread_id, self._ref.ns).line(self._ref.checkpoint_id)
        for checkpoint_id in islice(line, _LINE):
            ref = Ref(self._ref.thread_id, self._ref.ns, checkpoint_id)
            rebuilt = Inspection(self._reader, ref).deltas().get(channel)
            if rebuilt is not None and rebuilt.evidence is not None:
                yield rebuilt.evidence
        for checkpoint_id in islice(line, _LINE):  # nothing stored whole yet: by the kind of its values
            ref = Ref(self._ref.thread_id, self._ref.ns, checkpoint_id)
            rebuilt = Inspection(self._reader, ref).deltas().get(channel)
            if rebuilt is not None and rebuilt.writes and not rebuilt.spans and rebuilt.reducer is not None:
                yield Evidence(rebuilt.reducer, len(rebuilt.writes), len(rebuilt.writes))

    def _unproven(self, channel: str, found: Sequence[Evidence], made: Sequence[tuple[Evidence, Any]]) -> Exception:
        hint = f"--reducer {argument(channel + '=NAME')} says it: {', '.join(learning.names())}"
        if not found:
            tally = self.history.tallies.get(channel)
            if tally is None or not tally.steps:
                return Refused(f"no recorded step tells what channel {channel!r} does with writes", hint=hint)
            what = "the recorded step" if tally.steps == 1 else f"the {tally.steps:,} recorded steps"
            return Refused(f"no reducer explains {what} of channel {channel!r}", hint=hint)
        if not made:
            kinds = ", ".join(one.reducer.name for one in found)
            return UsageError(f"channel {channel!r} doesn't take that: its reducer is {kinds}")
        told = ", ".join(one.reducer.name for one, _ in made)
        return Refused(f"what is recorded of channel {channel!r} fits reducers that differ here: {told}", hint=hint)
