"""The view of ``ckpt repair``: threads with lists of messages that models refuse."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.views.base import View


class CallLine(NamedTuple):
    """A tool call; `id` is null if it has none."""

    id: str | None
    name: str


class FaultLine(NamedTuple):
    """What is wrong in a list.

    Attributes:
        channel: the channel with the list.
        kind: ``unanswered``, ``partly answered``, ``answered twice``, ``out of order`` (a result isn't right behind its
            call) or ``not asked for`` (a result of no call).
        position: the position of the message with the calls, or of a result that wasn't asked for; the first is 0.
        calls: the calls that it is about.
        rule: the API whose rule says so: ``Chat Completions``, ``Responses``, ``Anthropic``, ``Gemini``, ``Bedrock``.
    """

    channel: str
    kind: str
    position: int
    calls: tuple[CallLine, ...]
    rule: str


@dataclass(frozen=True, slots=True)
class BrokenThread:
    """A thread with a list that models refuse.

    Attributes:
        ns: the namespace.
        head: the id of the latest checkpoint there.
        status: the status of the thread; null if unknown.
        updated: when the head was made (ISO 8601, UTC); null if unknown.
        faults: what is wrong, in the order of the list.
        left_alone: why ``repair`` doesn't mend it; "" if it does.
        mend: what the given option would do; "" without one.
    """

    thread_id: str
    ns: str
    head: str
    status: str | None
    updated: str | None
    faults: tuple[FaultLine, ...]
    left_alone: str = ""
    mend: str = ""


@dataclass
class RepairView(View):
    """The threads in which something is to be mended; nothing was written.

    Attributes:
        threads: those that are left alone too; rows and tables have them only with ``--all``, or if named.
        only: what was searched for: ``tool-calls``.
        searched: the number of threads that were searched.
        unreadable: the number of threads whose head can't be read; `problem` says why the first can't.
        option: the option that says how to mend, as typed; "" if none was given.
        broken: the number of threads that models refuse until they are mended.
        left_alone: the number of other threads with such calls: a result may still come.
    """

    verb: ClassVar[str] = "repair"
    rows_field: ClassVar[str] = "threads"
    changes_database: ClassVar[bool] = True
    lists_all = False
    """Whether rows and tables have the threads that are left alone."""

    only: str
    threads: list[BrokenThread] = field(default_factory=list)
    searched: int = 0
    unreadable: int = 0
    problem: str = ""
    option: str = ""
    broken: int = 0
    left_alone: int = 0

    def add(self, line: BrokenThread) -> None:
        """Add a thread."""
        self.threads.append(line)
        self.left_alone += bool(line.left_alone)
        self.broken += not line.left_alone

    @property
    def listed(self) -> list[BrokenThread]:
        """The threads of rows and tables."""
        return [one for one in self.threads if self.lists_all or not one.left_alone]

    @property
    def cut(self) -> str:
        """A remark on threads that aren't listed, or couldn't be read."""
        left, unread = self.left_alone, self.unreadable
        parts = []
        if left and not self.lists_all:
            more = " more" if self.broken else ""
            who = f"1{more} thread waits for an answer, or its next nodes" if left == 1 else ""
            who = who or f"{left:,}{more} threads wait for an answer, or their next nodes"
            parts.append(f"{who} may still give the results: --all lists {'it' if left == 1 else 'them'}")
        if unread:
            parts.append(f"{unread:,} thread{'' if unread == 1 else 's'} can't be read: {self.problem}")
        return "; ".join(parts)
