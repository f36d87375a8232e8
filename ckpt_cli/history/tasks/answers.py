"""Answers to interrupts as they are stored: whose question it is, what was answered before, and what waits to be taken.

langgraph 1.2 ``pregel/_algo.py: _scratchpad`` and ``types.py: interrupt``: a task's answers are a list under
``__resume__``, one for each time it calls ``interrupt`` in the order of the calls. The task stores the list anew when
it has taken an answer out of it; so an answer that nobody took yet can't be told from the list alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ckpt_cli.history.state.channels import CONTROL_WRITES, INTERRUPT, RESUME
from ckpt_cli.history.tasks.nesting import inside
from ckpt_cli.history.tasks.task_ids import caller, identified, interrupt_id, pulled
from ckpt_cli.model import Payload
from ckpt_cli.values.known import interrupts
from ckpt_cli.values.state import TaskWrite

PLACEHOLDER = "placeholder-id"
"""The id of every ``NodeInterrupt``: its node takes no answer and asks again until the state is another (1.2)."""

UNTAKEN_NONCE = b"\x00ckpt\x00"
"""What the nonce of an encrypted list begins with that no task has taken yet: the library's own nonces are random."""

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


Below = Callable[[str], Sequence[TaskWrite]]
"""The writes stored on the newest checkpoint of a subgraph's namespace."""


def asked(
    writes: Sequence[TaskWrite],
    asked_id: str,
    namespaces: Callable[[], Iterable[str]] = tuple,
    below: Below | None = None,
) -> Asked | None:
    """Who asked a question that waits at a checkpoint with these writes: in the deepest subgraph that bears its id.

    Every graph above only passes it on, and reads no answer under its own task.
    """
    mine = _bearers(writes, asked_id)
    if not mine:
        return None
    ns, owners = mine[0].row.ns, {write.task_id for write in mine}
    nodes = {pulled(write.row.task_path) for write in mine}
    for space in sorted(inside(namespaces(), ns), key=_depth, reverse=True) if below else ():
        node, _, owner = space[len(ns) :].removeprefix("|").partition("|")[0].partition(":")
        found = asked(below(space), asked_id) if below and (owner in owners if owner else node in nodes) else None
        if found:
            return found
    write = next((w for w in mine if caller(w.row.task_path) is not None), mine[-1])
    given = (w for w in writes if w.channel == RESUME and w.task_id == write.task_id)
    return Asked(write, next(given, None))


def _depth(ns: str) -> int:
    return ns.count("|")


def _bearers(writes: Sequence[TaskWrite], asked_id: str) -> list[TaskWrite]:
    """The unfinished tasks of one checkpoint that ask it or pass it on.

    A call of another task (functional API) asks for itself, and so does its caller with the same id.
    """
    finished = {write.task_id for write in writes if write.channel not in CONTROL_WRITES}
    return [w for w in writes if w.channel == INTERRUPT and w.task_id not in finished and asked_id in _ids(w)]


def _ids(write: TaskWrite) -> set[str | None]:
    return {identified(one).id for one in interrupts(write.value)} if write.read else set()


def answered(found: Asked, asked_id: str) -> bool:
    """Whether the question has an answer that its task has not taken yet.

    Since langgraph 1.2.20 a later question's id counts the answers before it; before, and where the path names no node,
    only the spelling that `untaken` leaves tells. Libraries of before 0.6, whose questions have no id stored, don't
    store a list anew when they take an answer: then the question counts as waiting.
    """
    if found.given is None or found.given.row.payload is None:
        return False
    if not any(one.id for one in interrupts(found.write.value)):
        return False
    counted = (_own_id(found, count) for count in range(1, len(found.answers)))
    return is_untaken(found.given.row.payload) or asked_id in counted


def taken(found: Asked, asked_id: str, called: bool) -> bool:
    """Whether a task that has failed did so with the answer to this question, rather than before it was asked.

    A question that comes after all answers is a later one, which the library tells since 1.2.20; where it doesn't, an
    error beside an answer came after it. One that a subgraph asked which bears it no more was answered there: `called`
    is whether the task has called any.
    """
    if found.given is None:
        return called and asked_id != _own_id(found, 0)
    payload = found.given.row.payload
    return payload is not None and not is_untaken(payload) and asked_id != _own_id(found, len(found.answers))


def _own_id(found: Asked, count: int) -> str:
    """The id of the question that its task asks after so many answers."""
    row = found.write.row
    own = f"{row.ns}|{pulled(row.task_path)}:{row.task_id}".removeprefix("|")
    return interrupt_id(f"{own}|{count}" if count else own)


def untaken(payload: Payload) -> Payload:
    """The same list in another of its spellings: a mark that goes when the library stores the list anew.

    An encrypted one stays as it is: it is marked by `UNTAKEN_NONCE`, for which who writes it needs the key.
    """
    data = payload.data
    if payload.tag == "msgpack" and data and data[0] & 0xF0 == _SHORT:
        return payload._replace(data=_LONG + (data[0] & 0x0F).to_bytes(2) + data[1:])
    if payload.tag in ("json", "") and data[:1] == b"[":
        return payload._replace(data=b" " + data)
    return payload


def is_untaken(payload: Payload) -> bool:
    """Whether a list of answers is in the spelling that `untaken` gives, or under a nonce that says so."""
    if payload.tag.endswith("+aes"):
        return payload.data.startswith(UNTAKEN_NONCE)
    if payload.tag == "msgpack":
        return payload.data[:2] == _LONG + b"\x00" and payload.data[2:3] < b"\x10"
    return payload.tag in ("json", "") and payload.data[:2] == b" ["
