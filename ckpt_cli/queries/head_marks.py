"""What the tasks of a head have left, by digests: a watch looks again at a head where these differ."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ckpt_cli.history.state.channels import ERROR, INTERRUPT, RESUME
from ckpt_cli.history.tasks.nesting import inside_sorted
from ckpt_cli.model import Ref, Write
from ckpt_cli.reading import Reader

_HALTS = frozenset({ERROR, INTERRUPT, RESUME})
_VALUE = 4096  # of a longer question, error or answer only the length is compared
_SUBGRAPHS = 50  # at most so many subgraphs of one head are looked at for answers


class Marks(NamedTuple):
    """What is stored on a head, and on the checkpoints of subgraphs that ask for it.

    Attributes:
        written: the writes of tasks, without their values.
        halts: the questions, errors and answers, each as its write and a digest of the value.
        asking: the newest checkpoints of the subgraphs that the waiting tasks called; answers are stored there.
    """

    written: frozenset[tuple[str, int | str, str, int]] = frozenset()
    halts: frozenset[tuple[str, str, int]] = frozenset()
    asking: tuple[Ref, ...] = ()


NO_MARKS = Marks()


def read_marks(reader: Reader, heads: Mapping[Ref, Sequence[Ref]]) -> dict[Ref, Marks]:
    """The marks of these heads; `heads` also has, for each, the checkpoints of subgraphs to look at with it.

    Values are read only where a task asked, failed or was answered, and no long ones.
    """
    places = list(dict.fromkeys(ref for head, asking in heads.items() for ref in (head, *asking)))
    written: dict[Ref, list[Write]] = {}
    for write in reader.saver.writes_on(places, values=0):
        written.setdefault(write.ref, []).append(write)
    halted = [ref for ref, writes in written.items() if any(write.channel in _HALTS for write in writes)]
    halts: dict[Ref, set[tuple[str, str, int]]] = {}
    for write in reader.saver.writes_on(halted, values=_VALUE) if halted else ():
        if write.channel in _HALTS:
            halts.setdefault(write.ref, set()).add((write.task_id, write.channel, _digest(write)))
    return {
        head: Marks(
            frozenset((w.task_id, w.idx, w.channel, w.size) for w in written.get(head, ())),
            frozenset(mark for ref in (head, *asking) for mark in halts.get(ref, ())),
            tuple(asking),
        )
        for head, asking in heads.items()
    }


def with_asking(reader: Reader, heads: Mapping[Ref, Marks]) -> dict[Ref, Marks]:
    """The same marks, with those of the subgraphs that the waiting tasks of each head called."""
    asking = {head: _asking(reader, head, marks) for head, marks in heads.items()}
    more = read_marks(reader, {head: refs for head, refs in asking.items() if refs})
    return {**heads, **more}


def _asking(reader: Reader, head: Ref, marks: Marks) -> Sequence[Ref]:
    """A subgraph's namespace ends with the id of the task that called it; one with its own memory has only a name."""
    waiting = {task_id for task_id, channel, _ in marks.halts if channel == INTERRUPT}
    if not waiting:
        return ()
    inside = inside_sorted(reader.namespaces(head.thread_id), head.ns)
    calls = [[part.partition(":")[2] for part in ns.removeprefix(head.ns).split("|") if part] for ns in inside]
    called = [ns for ns, tasks in zip(inside, calls, strict=True) if not tasks[0] or tasks[0] in waiting]
    return tuple(reader.head(head.thread_id, ns).ref for ns in called[-_SUBGRAPHS:])


def _digest(write: Write) -> int:
    return hash((write.size, write.payload))
