"""Stored answers to interrupts: the task that asked, its answers, and which answers it has not taken yet.

langgraph 1.2 ``pregel/_algo.py: _scratchpad`` and ``types.py: interrupt``: a task's answers are a list under
``__resume__``, one for each call of ``interrupt``, in the order of the calls. When the task has taken an answer, it
stores the same list again. So the list alone doesn't show whether an answer was taken.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from ckpt_cli.history.state.channels import CONTROL_WRITES, INTERRUPT, RESUME
from ckpt_cli.history.tasks.nesting import below, reached
from ckpt_cli.history.tasks.task_ids import PUSH, interrupt_id, pulled, with_id
from ckpt_cli.history.tasks.task_status import Task
from ckpt_cli.history.tasks.untaken_answers import is_untaken
from ckpt_cli.model import NULL_TASK
from ckpt_cli.values.langgraph_values import interrupts
from ckpt_cli.values.state import TaskWrite

_PLACEHOLDER = "placeholder-id"  # the id of every `NodeInterrupt` since langgraph 0.6
_LATER = 16  # LangGraph may store fewer answers than came before a question: so many more are looked for


def takes_answer(question_id: str | None) -> bool:
    """Whether a question takes an answer: not a ``NodeInterrupt``, whose node asks again until the state has changed.

    Before langgraph 0.6 and in LangGraph.js, it has no id, unlike ``interrupt()``, which came with langgraph 0.2.47.
    """
    return question_id not in (None, _PLACEHOLDER)


class AskedQuestion(NamedTuple):
    """A question and the task that asked it.

    Attributes:
        write: the task's ``__interrupt__``.
        resume: the task's ``__resume__``, which holds its answers; None if it has none.
        node_of: gives the node of a task whose path doesn't name it.
    """

    write: TaskWrite
    resume: TaskWrite | None
    node_of: Callable[[TaskWrite], str | None] = lambda _: None

    @property
    def answers(self) -> list[object]:
        """The answers so far, oldest first; a ``__resume__`` that is no list is one answer."""
        if self.resume is None or not self.resume.read:
            return []
        value = self.resume.value
        return list(value) if isinstance(value, list) else [value]

    @property
    def node(self) -> str | None:
        """The node of the task that asked; None if it can't be known, and for a call."""
        return pulled(self.write.row.task_path) or self.node_of(self.write)


class Below(NamedTuple):
    """What is stored in the subgraphs of a thread.

    Attributes:
        writes: gives, for a subgraph's namespace, the writes stored on its newest checkpoint. Answers to questions that
            were asked in the subgraph are stored there.
        node_of: gives the node of a task, of a subgraph or not, whose path doesn't name it; None if it can't be known.
    """

    writes: Callable[[str], Sequence[TaskWrite]]
    node_of: Callable[[TaskWrite], str | None]


class WaitingQuestions:
    """The questions that wait at a checkpoint, found by their ids; its writes and namespaces are walked through once.

    Args:
        writes: the writes stored on the checkpoint.
        namespaces: gives the thread's namespaces; called only if a question waits.
    """

    def __init__(
        self,
        writes: Sequence[TaskWrite],
        namespaces: Callable[[], Iterable[str]] = tuple,
        below: Below | None = None,
    ) -> None:
        self._writes = writes
        self._namespaces = namespaces
        self._below = below
        self._in_subgraph = cache(self._read_subgraph)

    def find(self, asked_id: str) -> AskedQuestion | None:
        """The question with this id; None if no task asks it.

        If tasks in several graphs have the id, the question is from the deepest subgraph. The outer graphs only pass
        the question on, and nobody reads an answer that is stored under a task of an outer graph.
        """
        asking = self._asking.get(asked_id)
        if not asking:
            return None
        for deeper_ns in self._called(asking) if self._below else ():
            if (deeper := self._in_subgraph(deeper_ns).find(asked_id)) is not None:
                return deeper
        write = max(reversed(asking), key=_calls)
        return self._asked(write)

    def taken(self, asked_id: str) -> AskedQuestion | None:
        """The question with this id of a call that has finished, and so has taken its answers; None if there is none.

        Its caller's ``__interrupt__`` stays stored, but nobody asks the question any more: when the caller runs again,
        it gets the stored result of the call. The same holds for a task of a subgraph.
        """
        if not takes_answer(asked_id):
            return None
        if (write := self._asked_by_finished.get(asked_id)) is not None:
            return self._asked(write)
        asking = self._asking.get(asked_id, ())
        deeper = (self._in_subgraph(ns).taken(asked_id) for ns in (self._called(asking) if self._below else ()))
        return next((one for one in deeper if one is not None), None)

    def called_subgraph(self, task_id: str | None, node: str | None) -> bool:
        """Whether the thread has a subgraph that this task of a node called; False if subgraphs aren't read at all.

        The namespace of a subgraph with a memory of its own names the node alone.
        """
        return self._below is not None and (task_id in self._callers or node in self._with_own_memory)

    @cached_property
    def _callers(self) -> set[str]:
        return {ns.rpartition("|")[2].partition(":")[2] for ns in self._namespaces()}

    @cached_property
    def _asking(self) -> dict[str | None, list[TaskWrite]]:
        """Question id to the ``__interrupt__`` writes with this id, from those tasks that are not finished.

        Such a task asks the question or passes it on. In the functional API, a called task and its caller have the
        same id.
        """
        asking: dict[str | None, list[TaskWrite]] = {}
        for write in self._writes:
            if write.channel == INTERRUPT and write.task_id not in self._finished:
                for asked_id in _ids(write):
                    asking.setdefault(asked_id, []).append(write)
        return asking

    @cached_property
    def _asked_by_finished(self) -> dict[str | None, TaskWrite]:
        asked = (w for w in self._writes if w.channel == INTERRUPT and w.task_id in self._finished)
        return {asked_id: write for write in asked for asked_id in _ids(write)}

    @cached_property
    def _finished(self) -> set[str]:
        return {write.task_id for write in self._writes if write.channel not in CONTROL_WRITES}

    @cached_property
    def _resumes(self) -> dict[str, TaskWrite]:
        """Task id to the task's first ``__resume__``."""
        return {write.task_id: write for write in reversed(self._writes) if write.channel == RESUME}

    def _called(self, asking: Sequence[TaskWrite]) -> list[str]:
        """The subgraphs that these tasks called, and the subgraphs in them; the deepest first.

        The path of a Send doesn't end with its node. So each subgraph with a memory of its own may be the one that was
        called; the id of the question shows whether it was.
        """
        nodes = {pulled(write.row.task_path) for write in asking}
        own_memory = self._with_own_memory if None in nodes else nodes
        calls = {f":{write.task_id}" for write in asking} | own_memory
        places = {place for call in calls for place in self._subgraphs.get(call, ())}
        return [ns for _, ns in sorted(places)]

    @cached_property
    def _with_own_memory(self) -> set[str | None]:
        return {call for call in self._subgraphs if call is not None and not call.startswith(":")}

    @cached_property
    def _subgraphs(self) -> dict[str | None, list[tuple[int, str]]]:
        """The subgraphs of each caller, each with its place in the order from the deepest to the outermost.

        The key is ``:task id``, or the node for a subgraph with a memory of its own, whose namespace names no task.
        """
        ns = self._writes[0].row.ns
        by_caller: dict[str | None, list[tuple[int, str]]] = {}
        for place, deeper in enumerate(sorted(reached(sorted(self._namespaces()), ns), key=_depth, reverse=True)):
            first, *others = (part.partition(":") for part in below(deeper, ns).split("|"))
            by_caller.setdefault(f":{first[2]}" if first[2] else first[0], []).append((place, deeper))
            for _, _, owner in others:  # a call, or an error handler, which runs inside the namespace of another task
                by_caller.setdefault(f":{owner}", []).append((place, deeper))
        return by_caller

    def _asked(self, write: TaskWrite) -> AskedQuestion:
        resume = self._resumes.get(write.task_id)
        return AskedQuestion(write, resume, self._below.node_of) if self._below else AskedQuestion(write, resume)

    def _read_subgraph(self, ns: str) -> "WaitingQuestions":
        if self._below is None:
            return WaitingQuestions(())
        return WaitingQuestions(self._below.writes(ns), below=self._below)


def _depth(ns: str) -> int:
    return ns.count("|")


def _calls(write: TaskWrite) -> int:
    """How many calls are around a task: the path of a call holds its caller's path. A Send counts as one more."""
    return write.row.task_path.count(f"~{PUSH}")


def _ids(write: TaskWrite) -> set[str | None]:
    return {with_id(one).id for one in interrupts(write.value)} if write.read else set()


def is_answered(question: AskedQuestion, asked_id: str) -> bool:
    """Whether the question has an answer that its task has not taken yet.

    Since langgraph 1.2.20, the id of a later question is computed from the number of earlier answers, so the id shows
    this. In older releases, and if the task's node isn't known, only the spelling of `mark_untaken` shows it.
    Releases before 0.6 store no question ids, and don't store the list again when a task takes an answer.
    For those releases the question counts as waiting.
    """
    if question.resume is None or question.resume.row.payload is None:
        return False
    if not any(one.id for one in interrupts(question.write.value)):
        return False
    if is_untaken(question.resume.row.payload):
        return True
    counts = range(1, len(question.answers))
    return bool(counts) and (node := question.node) is not None and asked_id in _own_ids(question, node, counts)


def taken_answers(writes: Iterable[TaskWrite], task_id: str | None, asked_ids: Collection[str | None]) -> list[object]:
    """The answers that a finished task has taken, oldest first; the last one is to its last question.

    In the functional API a called task took the answer; its caller has the same question.
    """
    resumes: dict[str, TaskWrite] = {}
    asking = set()
    for write in writes:
        if write.channel == RESUME and write.read and write.task_id != NULL_TASK:
            resumes.setdefault(write.task_id, write)
        elif write.channel == INTERRUPT and _ids(write) & set(asked_ids):
            asking.add(write.task_id)
    of_called = (i for i in resumes if i in asking)
    taker = task_id if task_id in resumes else next(of_called, None)
    value = resumes[taker].value if taker is not None else []
    return list(value) if isinstance(value, list) else [value]


def count_answers(own: Iterable[TaskWrite]) -> int:
    """How many answers are stored with the task that left these writes."""
    answers = [write.value for write in own if write.channel == RESUME and write.read]
    return len(answers[0]) if answers and isinstance(answers[0], list) else len(answers)


def failed_with_answer(question: AskedQuestion, asked_id: str, task: Task, waiting: WaitingQuestions) -> bool:
    """Whether this failed task had already taken the answer to this question when it failed.

    Since langgraph 1.2.20, the id shows how many answers came before the question; as many or more than are stored, and
    it has none. In older releases, an error that is stored beside an answer came after the answer. If a subgraph no
    longer asks a question, it was answered there. The id of a question can't be computed for a call; such a task asks
    it if it has no answer, unless it called a subgraph.
    """
    row = question.write.row
    asker = task.id if pulled(row.task_path) is not None else row.task_id
    own_node = task.node if asker == task.id else None
    node = question.node or own_node
    if question.resume is None:
        called = waiting.called_subgraph(asker, own_node)
        return called and (node is None or asked_id not in _own_ids(question, node, [0]))
    payload = question.resume.row.payload
    if payload is None or is_untaken(payload):
        return False
    count = len(question.answers)
    return node is None or asked_id not in _own_ids(question, node, range(count, count + _LATER))


def _own_ids(question: AskedQuestion, node: str, counts: Iterable[int]) -> set[str]:
    """The ids of the questions that a task of this node asks after so many answers."""
    row = question.write.row
    task_ns = f"{row.ns}|{node}:{row.task_id}".removeprefix("|")
    return {interrupt_id(f"{task_ns}|{count}" if count else task_ns) for count in counts}
