"""Answers to interrupts as they are stored: whose question it is, what was answered before, and what waits to be taken.

langgraph 1.2 ``pregel/_algo.py: _scratchpad`` and ``types.py: interrupt``: a task's answers are a list under
``__resume__``, one for each time it calls ``interrupt`` in the order of the calls. The task stores the list anew when
it has taken an answer out of it; so an answer that nobody took yet can't be told from the list alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ckpt_cli.history.channels import CONTROL_WRITES, INTERRUPT, RESUME
from ckpt_cli.history.tasks import caller, identified, interrupt_id
from ckpt_cli.model import Payload
from ckpt_cli.values.known import interrupts
from ckpt_cli.values.state import TaskWrite

PLACEHOLDER = "placeholder-id"
"""The id of every ``NodeInterrupt``: its node takes no answer and asks again until the state is another (1.2)."""

_SHORT, _LONG = 0x90, b"\xdc"  # msgpack: an array of up to 15 items, and the same with a count of two bytes


@dataclass(frozen=True, slots=True)
class Asked:
    """A question where it was asked.

    Attributes:
        write: the task's ``__interrupt__``.
        given: the answers that its task has, None where it has none.
    """

    write: TaskWrite
    given: TaskWrite | None

    @property
    def answers(self) -> list[object]:
        """Those so far, oldest first; a task that was answered otherwise than in a list has one."""
        if self.given is None or not self.given.read:
            return []
        value = self.given.value
        return list(value) if isinstance(value, list) else [value]


def asked(writes: Sequence[TaskWrite], asked_id: str) -> Asked | None:
    """The task that asked a question of a checkpoint, and has not finished since; None where no task of it did.

    A call of another task (functional API) asks for itself: its caller only passes the question on.
    """
    finished = {write.task_id for write in writes if write.channel not in CONTROL_WRITES}
    mine = [w for w in writes if w.channel == INTERRUPT and w.task_id not in finished and asked_id in _ids(w)]
    if not mine:
        return None
    write = next((w for w in mine if caller(w.row.task_path) is not None), mine[-1])
    given = (w for w in writes if w.channel == RESUME and w.task_id == write.task_id)
    return Asked(write, next(given, None))


def _ids(write: TaskWrite) -> set[str | None]:
    return {identified(one).id for one in interrupts(write.value)} if write.read else set()


def answered(found: Asked, asked_id: str, node: str | None) -> bool:
    """Whether the question has an answer that its task has not taken yet.

    Since langgraph 1.2.20 a later question's id counts the answers before it; before, and where the node isn't known,
    only the form that `untaken` leaves tells.
    """
    if found.given is None or found.given.row.payload is None:
        return False
    if is_untaken(found.given.row.payload):
        return True
    row = found.write.row
    own = f"{row.ns}|{node}:{row.task_id}" if row.ns else f"{node}:{row.task_id}"
    counts = range(1, len(found.answers))
    return any(asked_id == interrupt_id(f"{own}|{count}") for count in counts)


def untaken(payload: Payload) -> Payload:
    """The same list in another of its spellings: a mark that goes when the library stores the list anew.

    An encrypted one stays as it is.
    """
    data = payload.data
    if payload.tag == "msgpack" and data and data[0] & 0xF0 == _SHORT:
        return replace(payload, data=_LONG + (data[0] & 0x0F).to_bytes(2) + data[1:])
    if payload.tag in ("json", "") and data[:1] == b"[":
        return replace(payload, data=b" " + data)
    return payload


def is_untaken(payload: Payload) -> bool:
    """Whether a list of answers is in the spelling that `untaken` gives."""
    if payload.tag == "msgpack":
        return payload.data[:2] == _LONG + b"\x00" and payload.data[2:3] < b"\x10"
    return payload.tag in ("json", "") and payload.data[:2] == b" ["
