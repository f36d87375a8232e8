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
        only: what was searched for: ``tool-calls``.
        searched: the number of threads that were searched.
        unreadable: the number of threads whose head can't be read; `problem` says why the first can't.
        option: the option that says how to mend, as typed; "" if none was given.
    """

    verb: ClassVar[str] = "repair"
    rows_field: ClassVar[str] = "threads"
    changes_database: ClassVar[bool] = True

    only: str
    threads: list[BrokenThread] = field(default_factory=list)
    searched: int = 0
    unreadable: int = 0
    problem: str = ""
    option: str = ""

    @property
    def cut(self) -> str:
        """A remark if not every thread could be searched."""
        if not self.unreadable:
            return ""
        return f"{self.unreadable:,} thread{'' if self.unreadable == 1 else 's'} can't be read: {self.problem}"
