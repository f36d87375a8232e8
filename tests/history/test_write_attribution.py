"""Which checkpoints decide which writes made others."""

from collections.abc import Callable, Iterator
from typing import Any

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.tasks.metadata_notes import Note
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.model import CheckpointRow
from tests.work import LINEAR, growth


class _Slow(list[str]):
    """A list whose elements are given by Python, so that each look at one is counted."""

    def __iter__(self) -> Iterator[str]:
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

        return everything

    assert growth(200, attributed) < LINEAR
