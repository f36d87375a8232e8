"""The view of ``ckpt show``: one checkpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.sends import SendView
from ckpt_cli.views.write_line import WriteLine


class Link(NamedTuple):
    """Another checkpoint of the same namespace.

    Attributes:
        stored: false for a parent whose id is known, but which isn't in the database.
    """

    checkpoint_id: str
    short: str
    step: int | None
    stored: bool = True


class Channel(NamedTuple):
    """One channel of a checkpoint.

    Attributes:
        value: null if the channel is empty.
        empty: whether the channel has a version but no value.
        version: the version as it is stored; null if there is none.
        changed: whether the value differs from the parent's; null for a delta channel that was written to, if nothing
            proves what its reducer made of the writes.
        control: whether this is one of the graph's own channels, not a part of the user's state.
        problem: why the value can't be decoded; null if it can.
        note: for a delta channel, how its value was computed (it isn't stored here); null for other channels.
    """

    value: Any
    empty: bool
    version: int | float | str | None
    changed: bool | None
    control: bool
    problem: str | None = None
    note: str | None = None


class TaskLine(NamedTuple):
    """A task of the step that begins here.

    Attributes:
        node: null if it can't be known.
        status: ``finished``, ``waiting``, ``answered``, ``failed``, ``due``, or ``left``: a task of a subgraph
            without a result, although the call of the subgraph has finished. If the checkpoint has a child, ``due``
            only means that the task has left nothing there.
        error: what is stored; of a finished task, of its failure before or in its conditional edge, or see `aborted`.
        namespaces: the namespaces of the subgraphs that the task called.
        answers: the recorded answers that the task has not taken yet.
        send: the Send that started the task; null for a task of another kind.
        asked: the questions that a finished task asked last.
        taken: the answers that a finished task has taken, oldest first; empty if they aren't stored with the task.
        inside: for a task that failed in a subgraph, the nodes there, the outermost first, down to the one that failed;
            empty if it failed itself, or if what is stored doesn't show the node.
        handler: the node of the error handler that ran for this task after it failed; null if none did.
        aborted: whether LangGraph.js stored beside a result that it aborted the task as another one failed: when its
            node had returned, so that the writes of its edges are missing, or before the task ran again.
    """

    id: str | None
    node: str | None
    status: str
    path: str
    error: Any
    interrupts: list[InterruptView]
    namespaces: list[str]
    answers: Sequence[Any] = ()
    send: SendView | None = None
    asked: Sequence[InterruptView] = ()
    taken: Sequence[Any] = ()
    inside: Sequence[str] = ()
    handler: str | None = None
    aborted: bool = False


class Stored(NamedTuple):
    """A payload as it is in the database.

    Attributes:
        what: ``checkpoint``, ``metadata``, or ``channel NAME`` if channels are stored separately.
        tag: the serializer's type tag, "" if the schema has none.
        head: the first bytes of the payload, in hexadecimal.
    """

    what: str
    tag: str
    size: int
    head: str


@dataclass(eq=False, repr=False)
class ShowView(View):
    """One checkpoint.

    Attributes:
        step: null if it isn't recorded.
        source: ``input``, ``loop``, ``update``, ``fork``; "" if not recorded.
        nodes: the nodes that made the checkpoint, as far as known, each with its number of tasks.
        time: when the checkpoint was made (ISO 8601, UTC).
        format: the checkpoint format (`v`).
        parent: null for a first checkpoint.
        marks: ``head``, ``tip``, ``fork point``; if there are several branches, ``branch:N`` for each branch of this
            checkpoint, or ``on N branches`` if it is on more than three.
        metadata: the metadata without source and step.
        metadata_problem: which part of the metadata can't be read; null if all of it can.
        given: an input that the step beginning here will take in; null if there is none.
        channels: the channels by name; control channels only if the user asked for them.
        hidden: the number of control channels that are left out.
        next: the nodes that are still to run; if the checkpoint has a child, the nodes that ran; null if unknown.
        tasks: the tasks of the step that begins here.
        consumed: whether the checkpoint has a child.
        config: the config that names this checkpoint in code. With it, ``invoke`` runs the step that begins here again,
            finished tasks too, and drops recorded answers; ``get_state`` reads the checkpoint.
        config_to_go_on: the config with which ``invoke`` goes on from this checkpoint; null unless it is the head of
            the root graph.
        stored: with ``--raw``, the payloads.
        problem: which part besides the channels can't be read; then channels, versions and next may be incomplete. Null
            if everything can be read.
        not_continued: for a tip of a subgraph with tasks, why the next run doesn't continue it; null if it may.
        old_answers: the answer that an earlier ``Command(resume=…)`` left; the next run gives it to the first
            ``interrupt()`` that has none.
        own_memory: what the next run does with the subgraphs with their own memory that are due at this head.
        command: what a ``Command(update=…)`` that a run was given wrote to the user's channels. It isn't in `channels`:
            a run applies it first, and ``get_state`` shows it applied.
        goto: the nodes to which a Command's pending ``goto`` leads; `next` and `tasks` have what it starts, which
            ``get_state`` lacks.
        unplaced: tasks that ask or failed, whose node nothing shows; they aren't among `tasks`. Each is the task of a
            node that is due, or a task that a node called, and the node may have gone on without it.
        passed_over: the nodes of `next` that a run from here doesn't start, though ``get_state`` lists them.
    """

    verb: ClassVar[str] = "show"
    full = False
    only_channels = False
    has_something_to_run = True
    """Whether a run from this checkpoint runs a node, as far as what is stored shows it."""
    given_otherwise = tuple[tuple[str, list[Any]], ...]()
    """What the input's task wrote to channels, where `given` says something else: a run from here takes that in."""
    is_blank = False
    """Whether no channel was written to yet; a run from here needs an input."""
    is_javascript = False
    """Whether LangGraph.js wrote the checkpoint; with its id in the config, newer releases run only what is due."""
    can_replay = False
    """Whether `replay` can apply what finished tasks wrote: only in a StateGraph's threads of the current format."""

    thread_id: str
    ns: str
    checkpoint_id: str
    short: str
    step: int | None
    source: str
    nodes: dict[str, int]
    time: str | None
    format: int
    parent: Link | None
    children: list[Link]
    marks: list[str]
    metadata: dict[str, Any]
    channels: Mapping[str, Channel]
    hidden: int
    next: list[str] | None
    tasks: list[TaskLine]
    consumed: bool
    config: dict[str, Any]
    stored: list[Stored]
    problem: str | None = None
    given: Channel | None = None
    metadata_problem: str | None = None
    old_answers: Sequence[Any] = ()
    not_continued: str | None = None
    config_to_go_on: dict[str, Any] | None = None
    own_memory: Sequence[str] = ()
    command: Sequence[WriteLine] = ()
    goto: Sequence[str] = ()
    unplaced: Sequence[TaskLine] = ()
    passed_over: Sequence[str] = ()
