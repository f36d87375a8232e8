"""The views of ``ckpt replay``: the result of pending writes and what would run again, or a line of recorded steps."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ckpt_cli.values.difference import Difference
from ckpt_cli.views.base import View
from ckpt_cli.views.diff import End
from ckpt_cli.views.sends import SendView
from ckpt_cli.views.write_line import WriteLine


@dataclass(frozen=True, slots=True)
class ReplayedTask:
    """One task of the step.

    Attributes:
        again: whether the task would run if the thread were resumed now; nothing shows whether one that is ``due`` ran.
        error: the error as it is stored.
        asks: the questions for which the task waits.
        writes: the writes of the task.
        answers: the recorded answers that the task has not taken yet.
        send: the Send that started the task; null for a task of another kind.
        by_goto: whether only a Command's pending ``goto`` starts the task: ``--commit`` doesn't keep what it wrote.
    """

    node: str | None
    status: str
    again: bool
    error: Any
    asks: list[Any]
    writes: list[WriteLine]
    answers: list[Any]
    send: SendView | None = None
    by_goto: bool = False


@dataclass
class ReplayView(View):
    """A checkpoint after its pending writes are applied; nothing is stored.

    Attributes:
        consumed: whether the checkpoint has a child, so that none of the writes is pending.
        changes: how the writes change the state.
        reducers: texts; each names a channel and its reducer, with the evidence.
        unknown: the written channels whose new value can't be known, each with the reason. They are not in `changes`,
            and ``--commit`` needs their reducers.
        next: the nodes that would run after ``--commit``; null if that can't be known.
        old_answers: the answer that an earlier ``Command(resume=…)`` left; the next run gives it to the first
            ``interrupt()`` that has none.
        command: what an input or a ``Command(update=…)`` wrote to the user's channels at this checkpoint.
        head: whether this is the newest checkpoint of its namespace. A run from another one runs the whole step again.
        unfit: those channels of `unknown` whose reducer, as far as recorded steps show it, can't take the writes: the
            run that applies them raises an error.
        deferred: the nodes of which ``--commit`` needs to know whether they are deferred.
        goto: the nodes to which a Command's ``goto`` leads that no step has taken in yet.
        undecided: those of them that run next unless they are deferred: this thread doesn't show whether they are.
        unplayed: why the state after the step, and `next`, can't be computed; "" if they can.
        doubt: a sentence about the channels whose reducers are learned; "" if there are none.
        unproven: the delta channels of which ``--commit`` stores the whole value, and needs the reducer, as nothing
            proves the value.
        passed_over: the nodes of due tasks that a run from here doesn't start, though ``get_state`` lists them.
    """

    verb: ClassVar[str] = "replay"
    rows_field: ClassVar[str] = "tasks"

    thread: str
    checkpoint_id: str
    short: str
    step: int | None
    consumed: bool
    tasks: list[ReplayedTask]
    changes: list[Difference]
    reducers: list[str]
    unknown: dict[str, str]
    next: list[str] | None
    old_answers: list[Any]
    command: list[WriteLine] = field(default_factory=list)
    unfit: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)
    goto: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    unplayed: str = ""
    head: bool = True
    doubt: str = ""
    unproven: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)

    @property
    def cut(self) -> str:
        """Why the answer has only the tasks, if it has no more."""
        return f"the state after the step can't be computed: {self.unplayed}" if self.unplayed else ""


@dataclass(frozen=True, slots=True)
class PlayedWrite:
    """One write of a recorded step to one of the user's channels; `reducer` is null if it isn't known."""

    channel: str
    value: Any
    reducer: str | None


@dataclass(frozen=True, slots=True)
class PlayedTask:
    """The writes of one task of a recorded step, or of an input or update.

    Attributes:
        node: null if it can't be known, and for writes that no task made.
        by: ``task``, ``input`` or ``update``.
        sends: the nodes that the task called, one for each Send.
        stored: false if what the task wrote isn't stored, only that it asked, was answered or failed, as after a run
            with ``durability="exit"``. True if an error handler handled its failure: then it wrote nothing.
        error: the error as it is stored; null if none is.
        finished: whether the task left an output; if it has an `error` too, it failed before and ran again. True for an
            input and an update.
    """

    node: str | None
    by: str
    writes: list[PlayedWrite]
    sends: list[str]
    stored: bool = True
    error: Any = None
    finished: bool = True


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """A recorded step, played again.

    Attributes:
        step: null if it is not recorded.
        source: ``input``, ``loop``, ``update``, ``fork``; "" if not recorded.
        tasks: the tasks whose writes made the checkpoint, as far as these are stored.
        changes: the changes from the parent's state to this one.
        verdict: ``agrees`` (the recorded state is what the writes make), ``differs`` (it isn't, by a reducer that a
            person named, or because no writes make it), ``suspect`` (a learned reducer that explains all other steps
            makes something else, or a value changed without a new version), ``unknown``.
        why: the reason for the verdict in words; "" for ``agrees``.
        otherwise: the channels whose recorded value differs from the result of the writes.
    """

    checkpoint_id: str
    short: str
    step: int | None
    source: str
    tasks: list[PlayedTask]
    changes: list[Difference]
    verdict: str
    why: str
    otherwise: list[str]


@dataclass
class PlayedView(View):
    """The steps from one checkpoint to a later one, as they are played.

    Attributes:
        before: the start; its `checkpoint_id` is null for the empty state before a first checkpoint.
        count: the number of steps.
        reducers: texts; each names a channel that changes in these steps and its reducer, with the evidence from these
            steps and earlier ones.
        steps: the steps, oldest first.
        verdicts: the number of steps for each verdict; complete after the last step was read.
    """

    verb: ClassVar[str] = "replay"
    rows_field: ClassVar[str] = "steps"

    before: End
    after: End
    count: int
    reducers: list[str]
    steps: Iterable[PlayedStep]
    verdicts: dict[str, int] = field(default_factory=dict)
