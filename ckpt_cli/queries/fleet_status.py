"""How many threads wait or failed (``stats``), with which questions and errors.

Whether a thread waits or failed mostly shows in the writes on its head. The head itself is read only where they leave a
doubt, or for the other statuses.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import heappush, heappushpop
from typing import Any, NamedTuple

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, INTERRUPT, TASKS
from ckpt_cli.history.tasks.javascript_errors import mark_no_failures
from ckpt_cli.history.tasks.snapshot import Status, status_of
from ckpt_cli.history.tasks.task_ids import pulled
from ckpt_cli.model import NULL_TASK, Ref, Thread, Write
from ckpt_cli.output.text.brief import brief
from ckpt_cli.queries.failed_inside import failed_inside
from ckpt_cli.queries.thread_status import ThreadStatus, prefetch_threads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.values.langgraph_values import interrupts
from ckpt_cli.values.parts import fields
from ckpt_cli.values.questions import tool_question
from ckpt_cli.values.state import TaskWrite

_AT_ONCE = 200  # heads whose writes are read in one go
_LONGEST_VALUE = 1 << 16  # bytes of a question or an error; a thread with a longer one is looked at closely
_OLDEST = 10  # threads that are named
_LONGEST_TEXT = 200
_TEXTS = 1000  # different questions, and different errors, that are counted
_OTHERS = "(other texts)"
_UNREAD = "(can't be read)"
_ERROR_TYPE = re.compile(r"[A-Za-z_][\w.]*")
_QUESTION_KEYS = ("question", "ask", "message", "prompt", "title", "description", "text", "action", "type")
_MARKS = (INTERRUPT, ERROR)


class Place(NamedTuple):
    """The node that stopped (None if unknown), and the nodes inside its subgraph down to the one that failed."""

    node: str | None
    inside: tuple[str, ...] = ()


class Halted(NamedTuple):
    """A thread that waits or failed: when its head was made, in seconds since 1970, and where it stopped."""

    thread_id: str
    since: float | None
    place: Place
    text: str


class FleetStatus:
    """Counts threads by what they do; memory doesn't grow with their number.

    Attributes:
        statuses: threads by status; a thread may wait and have failed. Without `closely`, only these two are known.
        unreadable: threads whose head can't be read.
        questions: (place, question) to the number of threads; `errors`: (place, type of the error).
        oldest: for waiting and for failed threads, those whose heads are oldest, the oldest first.
        threads: how many were looked at.
    """

    def __init__(self, reader: Reader, *, closely: bool) -> None:
        self._reader = reader
        self._closely = closely
        self.threads = self.unreadable = 0
        self.statuses = Counter[str]()
        self.questions = Counter[tuple[Place, str]]()
        self.errors = Counter[tuple[Place, str]]()
        self._oldest: dict[Status, list[tuple[float, str, Halted]]] = {Status.WAITING: [], Status.FAILED: []}

    def add(self, threads: Iterable[Thread]) -> None:
        """Count these threads."""
        for page in pages(threads, _AT_ONCE):
            self.threads += len(page)
            doubtful = page if self._closely else list(self._add_by_writes(page))
            for thread in prefetch_threads(self._reader, doubtful):
                self._add_by_head(thread)

    def oldest(self, status: Status) -> list[Halted]:
        """The threads of a status whose heads are oldest, the oldest first."""
        return [halted for *_, halted in sorted(self._oldest[status], reverse=True)]

    def _add_by_writes(self, threads: list[Thread]) -> Iterator[Thread]:
        """Count those threads whose writes leave no doubt; gives the others."""
        writes: dict[Ref, list[Write]] = {}
        for write in self._reader.saver.writes_on([one.head for one in threads], values=_LONGEST_VALUE):
            writes.setdefault(write.ref, []).append(write)
        marked = [one for one in threads if any(write.channel in _MARKS for write in writes.get(one.head, ()))]
        # an answer may be stored in a subgraph, and which node failed there
        nested = self._reader.saver.with_subgraphs([one.thread_id for one in marked])
        for thread in marked:
            leaves_doubt = thread.thread_id in nested or thread.head.ns or _leave_doubt(writes[thread.head])
            if leaves_doubt or not self._add_tasks(thread, writes[thread.head]):
                yield thread

    def _add_tasks(self, thread: Thread, writes: list[Write]) -> bool:
        """Count a thread by its writes; False if a question in them can't be read."""
        waiting, failed = [], []
        tasks: dict[str, list[TaskWrite]] = {}
        decoded = [TaskWrite(row, self._reader.codec.decode) for row in writes]
        mark_no_failures(decoded)
        for write in decoded:
            tasks.setdefault(write.task_id, []).append(write)
        for own in tasks.values():
            place, status = Place(pulled(own[0].row.task_path)), status_of(own)
            if status is Status.WAITING:
                asked = [i for write in own if write.channel == INTERRUPT for i in interrupts(write.value)]
                if not asked:
                    return False
                waiting += [(place, question_text(one.value, one.response_schema)) for one in asked]
            if status in (Status.WAITING, Status.FAILED):
                failed += [(place, write.value) for write in own if write.channel == ERROR][:1]
        self._count(thread, ids.unix_time(thread.head.checkpoint_id), waiting, failed)
        return True

    def _add_by_head(self, thread: Thread) -> None:
        one = ThreadStatus(self._reader, thread)
        if one.snapshot is None:
            self.unreadable += 1
            return
        statuses = one.statuses
        asking = [task for task in one.snapshot.all_tasks if task.status is Status.WAITING]
        waiting = [(Place(task.node), question_text(i.value, i.response_schema)) for task in asking for i in task.open]
        waiting = waiting or [(Place(task.node), _UNREAD) for task in asking]
        failed = [
            (Place(task.node, failed_inside(self._reader, thread.head, task)), task.error)
            for task in one.snapshot.with_error
        ]
        self._count(
            thread,
            one.updated,
            waiting if Status.WAITING in statuses else [],
            failed if Status.FAILED in statuses else [],
            [status for status in statuses if status not in (Status.WAITING, Status.FAILED)],
        )

    def _count(
        self,
        thread: Thread,
        since: float | None,
        waiting: list[tuple[Place, str]],
        failed: list[tuple[Place, Any]],
        others: Iterable[str] = (),
    ) -> None:
        self.statuses.update(others)
        questions = dict.fromkeys(waiting)
        errors = dict.fromkeys((place, error_type(value)) for place, value in failed)
        for status, texts, counter in (
            (Status.WAITING, questions, self.questions),
            (Status.FAILED, errors, self.errors),
        ):
            if not texts:
                continue
            self.statuses[status] += 1
            for key in texts:
                counter[key if key in counter or len(counter) < _TEXTS else (Place(None), _OTHERS)] += 1
            self._note_age(status, Halted(thread.thread_id, since, *next(iter(texts))))

    def _note_age(self, status: Status, halted: Halted) -> None:
        if halted.since is None:
            return
        heap, item = self._oldest[status], (-halted.since, halted.thread_id, halted)
        (heappush if len(heap) < _OLDEST else heappushpop)(heap, item)


def _leave_doubt(writes: Iterable[Write]) -> bool:
    """Whether the writes on a head don't show what its tasks do.

    They don't if a Command's Sends replaced others, an answer is recorded, an error was handled, a value wasn't read,
    the task of an error has a result too, or the task of a mark isn't that of a node which an edge started: a call's
    error, for example, may have been caught by its caller.
    """
    written = list(writes)
    with_result = {write.task_id for write in written if write.channel not in CONTROL_WRITES}
    for write in written:
        if write.channel == ERROR and write.task_id in with_result:
            return True
        if write.task_id == NULL_TASK and write.channel == TASKS:
            return True
        if write.channel in CONTROL_WRITES and write.channel not in _MARKS:
            return True
        if write.channel in _MARKS and (
            write.payload is None or write.task_id == NULL_TASK or pulled(write.task_path) is None
        ):
            return True
    return False


def error_type(error: Any) -> str:
    """The type of a stored error: of ``ValueError('no')``, or of LangGraph.js' ``{"name", "message"}``."""
    if isinstance(error, dict) and isinstance(error.get("name"), str):
        return str(error["name"])
    found = _ERROR_TYPE.match(error) if isinstance(error, str) else None
    return found[0] if found else "(unknown type)"


def question_text(question: Any, response_schema: Any = None) -> str:
    """What a question asks, without the details in which questions of one node differ: a text, the tools to call, keys.

    A list and a number have no such name: they are shown as they are, as in ``threads``.

    Args:
        question: the value of an interrupt.
        response_schema: the interrupt's; releases before langgraph 1.2.22 stored none.
    """
    asked = tool_question(question, response_schema)
    tools = [request.tool for request in asked.requests] if asked is not None else _tool_without_schema(question)
    if tools:
        return "tool call: " + ", ".join(dict.fromkeys(tools))
    if isinstance(question, str):
        return question[:_LONGEST_TEXT]
    if not (named := fields(question)):
        return brief(question, _LONGEST_TEXT)
    texts = (named[key] for key in _QUESTION_KEYS if isinstance(named.get(key), str))
    keys = ", ".join(sorted(str(key) for key in named))
    return str(next(texts, f"{{{keys}}}"))[:_LONGEST_TEXT]


def _tool_without_schema(question: Any) -> list[str]:
    """The tool of a question about one call whose allowed answers weren't stored; nobody can answer by that alone."""
    is_approval = isinstance(question, dict) and question.get("type") == "tool_approval"
    return [question["name"]] if is_approval and isinstance(question.get("name"), str) else []
