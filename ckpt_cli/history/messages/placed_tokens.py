"""`PlacedTokens`: each message's tokens once, with the first task of a node that wrote the message."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from ckpt_cli.history.messages.added_messages import Added, Returned, Task
from ckpt_cli.history.messages.later_ids import LaterIds
from ckpt_cli.history.messages.message_states import (
    NO_SOURCES,
    NO_STATES,
    Sources,
    StepMessages,
    StepStates,
    all_usages,
)
from ckpt_cli.history.messages.token_usage import Usage

Key = str | int


class _Made(NamedTuple):
    """The ids in the state that a step made.

    Attributes:
        unheard: those that belong to no message that was added, by the digests of their messages.
        named: how many belong to messages that were added without an id.
    """

    step: StepStates
    unheard: dict[int, list[str]]
    named: Counter[int]


class PlacedTokens:
    """Gives the tokens of each message to the first task of a node that wrote it, and to no other.

    A message that came from outside (an input, an update), or that was there before the first recorded task, belongs to
    no node, even if nodes write it again. A subgraph's input has messages of the graph above: only a task of a graph
    above may have made them.

    A node may return a message without an id, which ``add_messages`` gives later (langgraph 1.2 ``graph/message.py``):
    a message with a new id that is otherwise equal is taken for that one if it was there when its task began, or if the
    state that the other's step made has it, or has no id for it. Not if the same step wrote both: LangGraph may store
    one write before the message has its id, and the next one after. A message that a task has from a subgraph that it
    called is the subgraph's. A second equal message without an id counts if its task can't have got the first one, or
    if the state that its step made has one more id than were counted; else it may be the first one, stored again. A
    task gets messages from the state in which it began, from Sends, answers and Commands; a task that another one
    called also from those that the same one called.
    """

    def __init__(self) -> None:
        self._doubts = Counter[int]()
        self._known = set[Key]()
        self._nameless: dict[int, list[Added]] = {}  # messages that were added without an id, and have none yet
        self._given = (0, 0)
        self._copied: dict[Key, tuple[int, int, int]] = {}  # depth, input and output tokens
        self._named: dict[int, str] = {}  # copied messages without an id, which have one now
        self._made = _Made(NO_STATES, {}, Counter())
        self._before: tuple[StepStates, dict[str | None, int]] = NO_STATES, {}  # the ids there, with their digests
        self._later = LaterIds()
        self._around = StepMessages(NO_STATES)
        self._assumed: dict[str, StepStates] = {}  # the ids that `_is_more` took, with the step in which it did

    @property
    def doubtful(self) -> int:
        """How many messages didn't count that may be other ones than the equal ones before: their state has more."""
        return self._doubts.total()

    @property
    def unplaced(self) -> tuple[int, int]:
        """The input and output tokens of messages that belong to no node."""
        read, wrote = self._given
        return read + sum(one[1] for one in self._copied.values()), wrote + sum(one[2] for one in self._copied.values())

    def add_written(
        self, values: Iterable[Any], depth: int, step: StepStates = NO_STATES, sources: Sources = NO_SOURCES
    ) -> tuple[int, int]:
        """Add what a task wrote, and give the tokens that are its own; `depth` is that of its graph.

        The states around it, and its other sources, are read only if a message equals one that was added without an id.
        """
        if self._around.step is not step:
            self._around = StepMessages(step)
        return self._add(values, Task(depth, step, sources))

    def add_given(self, value: Any) -> None:
        """Add what no task of a node made."""
        read, wrote = self._add([value], Task(-1, NO_STATES, NO_SOURCES))
        self._given = self._given[0] + read, self._given[1] + wrote

    def add_copied(self, value: Any, depth: int) -> None:
        """Add the input of a subgraph at a depth."""
        for usage in all_usages([value]):
            key = self._key(usage)
            if self._is_new(key, depth):
                self._copied[key] = depth, usage.input, usage.output
                if isinstance(key, int):
                    self._nameless.setdefault(key, [])

    def _add(self, values: Iterable[Any], task: Task) -> tuple[int, int]:
        read = wrote = 0
        for value in values:
            task.earlier = {*task.own}
            for usage in all_usages([value]):
                if self._counts(usage, task):
                    read, wrote = read + usage.input, wrote + usage.output
        return read, wrote

    def _counts(self, usage: Usage, task: Task) -> bool:
        """Add a message; whether its tokens count."""
        step = task.step
        if self._is_returned(usage, task.returned):
            return self._was_doubtful(usage, step)
        key = self._key(usage, step)
        if self._is_new(key, task.depth):
            self._known.add(key)
            self._copied.pop(key, None)
            if isinstance(key, int):
                self._own(key, task)
            return True
        if isinstance(key, str) and self._assumed.get(key) is step:  # it was another one's then
            del self._assumed[key]
            self._nameless.setdefault(digest := usage.nameless_key(), []).append(Added(digest, step))
            return True
        return usage.message_id is None and self._counts_again(usage.nameless_key(), task)

    def _own(self, key: int, task: Task) -> None:
        """Note that a message without an id counts as a task's own."""
        task.own.add(key)
        self._nameless.setdefault(key, []).append(Added(key, task.step))
        if task.step is self._around.step:
            self._around.count(key, task.sources)

    def _is_returned(self, usage: Usage, returned: Returned) -> bool:
        """Whether a task has a message from a subgraph that it called, whose state has it without an id."""
        if not self._nameless or (usage.message_id is not None and not self._is_unheard(usage.message_id)):
            return False
        key = usage.nameless_key()
        return key in self._nameless and key not in self._copied and returned.has(usage, key)

    def _was_doubtful(self, usage: Usage, step: StepStates) -> bool:
        """Whether a message from a subgraph is one that didn't count there, as it may have been an equal one.

        It is another one if it has an id of its own: ``add_messages`` gives one object one id.
        """
        key, own_id = usage.nameless_key(), usage.message_id
        if own_id is None:
            self._later.write(step)
            self._look(step)
            is_named = self._made.named[key] > 0
            self._made.named[key] -= is_named
            is_other = not is_named and self._is_more(key, step)
        else:
            self._key(usage, step)
            is_other = own_id not in self._known
            self._known.add(own_id)
        is_other = is_other and self._doubts[key] > 0
        self._doubts[key] -= is_other
        return is_other

    def _counts_again(self, key: int, task: Task) -> bool:
        """Whether a message without an id, of which an equal one was added, is another one."""
        if task.step is NO_STATES:
            return False
        around, sources = self._around, task.sources
        if key not in task.own and around.is_without(key, sources):
            self._own(key, task)
            return True
        if key in self._known and self._is_more(key, task.step):
            around.count(key, sources)
            return True
        is_copy = key in task.earlier  # the same message, written to another channel
        self._doubts[key] += not is_copy and around.has_one_more(key, sources)
        return False

    def _is_new(self, key: Key, depth: int) -> bool:
        return key not in self._known and (key not in self._copied or depth < self._copied[key][0])

    def _key(self, usage: Usage, step: StepStates | None = None) -> Key:
        """A message's id, or its digest; if the message was added without the id, it has it from here on."""
        if (own_id := usage.message_id) is None:
            self._later.write(step)
            nameless = usage.nameless_key()
            return self._named.get(nameless, nameless)
        if self._nameless and self._is_unheard(own_id):
            nameless = self._added_as(usage, step)
            added = self._nameless.get(nameless, [])
            if (place := self._place(added, own_id, step)) is not None:
                del added[place]
                self._known.add(own_id)
            elif nameless in self._copied:
                self._copied[own_id] = self._copied.pop(nameless)
                self._named[nameless] = own_id
        return own_id

    def _added_as(self, usage: Usage, step: StepStates | None) -> int:
        """The digest under which a message was added without its id; a node may write it with other contents later."""
        digest = usage.nameless_key()
        if digest in self._nameless or step is None or step is NO_STATES:
            return digest
        is_read = self._before[0] is step
        if not (is_read or self._later.may_be_before(step)) or not self._was_there(usage.message_id, step):
            return digest
        return self._before[1].get(usage.message_id, digest)

    def _place(self, added: list[Added], own_id: str, step: StepStates | None) -> int | None:
        """Which of the messages that were added without an id has this one now; equal ones have equal tokens."""
        earlier = [at for at, one in enumerate(added) if not one.is_of(step)]
        if not earlier or (step is not None and self._was_there(own_id, step)):
            return next(iter(earlier), None)
        return next((at for at in earlier if added[at].may_be(own_id)), None)

    def _was_there(self, own_id: str | None, step: StepStates) -> bool:
        """Whether a message was there when the tasks of a step began."""
        if self._before[0] is not step:
            self._before = step, {one.message_id: one.nameless_key() for one in all_usages(step.before().values)}
            if step is not NO_STATES:
                self._later.look(step)
        return own_id in self._before[1]

    def _is_unheard(self, own_id: str) -> bool:
        return own_id not in self._known and own_id not in self._copied

    def _is_more(self, key: int, step: StepStates) -> bool:
        """Whether the state that a step made has one more message like this than were added; it is known then."""
        self._look(step)
        ids = self._made.unheard.get(key, [])
        while ids:
            if self._is_unheard(own_id := ids.pop()):
                self._known.add(own_id)
                self._assumed[own_id] = step
                return True
        return False

    def _look(self, step: StepStates) -> None:
        """Take the ids in the state that a step made for those of messages that were added without an id."""
        if self._made.step is step:
            return
        self._made = _Made(step, {}, Counter())
        for usage in all_usages(step.made().values):
            if (own_id := usage.message_id) is None or not self._is_unheard(own_id):
                continue
            self._key(usage)
            if own_id in self._known:
                self._made.named[usage.nameless_key()] += 1
            elif self._is_unheard(own_id):
                self._made.unheard.setdefault(usage.nameless_key(), []).append(own_id)
