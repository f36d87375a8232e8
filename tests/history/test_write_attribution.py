"""Which checkpoints decide which writes made others."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.tasks.metadata_notes import Note
from ckpt_cli.history.tasks.step_nodes import StepNodes
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.model import CheckpointRow, Write
from ckpt_cli.savers.paging import pages
from ckpt_cli.values.state import TaskWrite
from tests.work import LINEAR, growth

T = TypeVar("T")


class _Slow(list[T]):
    """A list whose elements are given by Python, so that each look at one is counted."""

    def __iter__(self) -> Iterator[T]:
        for at in range(len(self)):
            yield self[at]


def test_work_is_linear_in_the_children_of_a_fork() -> None:
    """Twice as many children of one checkpoint take twice the work, whichever of them a run made."""

    def attributed(size: int) -> Callable[[], Any]:
        children = [f"{n:06}" for n in range(1, size + 1)]
        rows = [CheckpointRow("t", "", "000000", None), *(CheckpointRow("t", "", i, "000000") for i in children)]
        lineage = Lineage(rows)
        lineage.children["000000"] = _Slow(children)
        attribution = WriteAttribution(lineage)
        attribution.fill({i: Note("fork", 1, {}) for i in children[:-1]}, {})

        def everything() -> None:
            attribution.relatives(children)
            for checkpoint_id in children:
                attribution.credited(checkpoint_id)
            attribution.fill({i: Note("update", 1, {}) for i in children[size // 2 :]}, {})
            for checkpoint_id in children:
                attribution.credited(checkpoint_id)
            for page in pages(children, 20):
                attribution.fill({i: Note("update", 1, {}) for i in attribution.unread(page)}, {})
                for checkpoint_id in page:
                    attribution.credited(checkpoint_id)
                    attribution.runs("000000")
                attribution.forget()

        return everything

    assert growth(200, attributed) < LINEAR


@pytest.mark.parametrize("task_path", ["~__pregel_push, {:010}", ""])
@pytest.mark.parametrize("source", ["loop", "input"])
def test_work_is_linear_in_the_tasks_of_a_step(task_path: str, source: str) -> None:
    """Twice as many tasks take twice the work to name, whether or not anything shows their nodes."""

    def named(size: int) -> Callable[[], Any]:
        attribution = WriteAttribution(Lineage([CheckpointRow("t", "", "1", None)]))
        ids = (f"{n:08}-0000-5000-8000-000000000000" for n in range(size))
        rows = (Write("t", "", "1", one, 0, "x", task_path.format(n)) for n, one in enumerate(ids))
        writes = _Slow(TaskWrite(row, lambda _: None) for row in rows)
        attribution.fill({"1": Note(source, 1, {})}, {"1": writes})
        namespaces = [f"node:{n}" for n in range(size)]
        nodes = StepNodes(attribution, namespaces=lambda: namespaces)
        return lambda: [nodes.node(write) for write in writes]

    assert growth(100, named) < LINEAR
