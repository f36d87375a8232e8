"""After a crash the rows of the database say how an operation ended."""

import pytest

from ckpt_cli.conformance.records import write
from ckpt_cli.errors import Refused
from ckpt_cli.model import Plan, Write
from ckpt_cli.operations import undo
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Heading, Phase
from ckpt_cli.operations.settle import settle
from ckpt_cli.operations.witnesses import Choice, sample_checkpoints
from ckpt_cli.savers.memory import MemorySaver
from tests.operations.plans import LONGER, OTHER, adding, phases


@pytest.mark.parametrize("written", [True, False])
def test_a_crash_is_settled_by_the_rows(log: OperationLog, saver: MemorySaver, written: bool) -> None:
    """An operation found planned is done if its rows are written, else abandoned; the same for an undo."""
    number = log.begin(
        Heading(1.0, "fork", "", ""), saver.expand(adding("3")), witnessing=Choice(saver, sample_checkpoints(saver))
    )
    if written:
        saver.apply(adding("3"))
    assert [operation.number for operation in settle(saver, log)] == [number]
    assert phases(log) == {1: Phase.DONE if written else Phase.ABANDONED}
    assert settle(saver, log) == []
    if not written:
        with pytest.raises(Refused, match="operation 1 is abandoned already") as refused:
            undo.find_operation(saver, log, 1)
        assert refused.value.hint == "it was interrupted, and changed nothing or was taken back"
        return
    operation = undo.find_operation(saver, log, None)
    heading = Heading(2.0, "undo", "", "", operation.number)
    log.begin(heading, undo.inverse(saver, log, operation), witnessing=Choice(saver, sample_checkpoints(saver)))
    saver.change(undo.inverse(saver, log, operation))
    settle(saver, log)
    assert phases(log) == {1: Phase.UNDONE, 2: Phase.DONE}


UNSETTLED = {
    "a row that it added, which is another by now": (Plan("", (write("t", "2", idx=-1),)), Phase.DONE),
    "a row that it changed, which is another by now": (
        Plan("", replace=(write("t", "2", payload=OTHER),)),
        Phase.PLANNED,
    ),
}


@pytest.mark.parametrize("name", UNSETTLED)
def test_a_row_that_is_neither_as_before_nor_as_after(name: str, log: OperationLog, saver: MemorySaver) -> None:
    """It proves that an operation happened that added it, and nothing about one that changed it."""
    plan, phase = UNSETTLED[name]
    log.begin(Heading(1.0, "resume", "", ""), saver.expand(plan), witnessing=Choice(saver, sample_checkpoints(saver)))
    saver.apply(plan)
    [written] = [one for one in (*plan.add, *plan.replace) if isinstance(one, Write)]
    saver.apply(Plan("the application", replace=(written._replace(payload=LONGER, size=len(LONGER.data)),)))
    with pytest.raises(Refused, match="was interrupted, or is running now: what it wrote isn't known"):
        undo.find_operation(saver, log, 1)
    settle(saver, log)
    assert [operation.phase for operation in log.operations()] == [phase]
