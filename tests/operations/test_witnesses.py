"""Which checkpoints an operation chooses as witnesses."""

from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.model import Plan, Ref, WriteKey
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Heading
from ckpt_cli.operations.witnesses import Choice
from ckpt_cli.savers.memory import MemorySaver
from tests.operations.plans import HEAD


def witnesses(log: OperationLog) -> set[str]:
    """The checkpoints that the log keeps as witnesses."""
    return {f"{ref.thread_id}:{ref.checkpoint_id}" for some in log.witnesses(100) for ref in some}


def begin(log: OperationLog, saver: MemorySaver, plan: Plan) -> None:
    """Log an operation where nothing but what is near it was sampled, and make it."""
    log.begin(Heading(1.0, "delete", "", ""), saver.expand(plan), witnessing=Choice(saver, []))
    saver.apply(plan)


def test_what_an_operation_touches_is_no_witness_any_more(log: OperationLog, saver: MemorySaver) -> None:
    """Whether it would have been chosen again or not; what another one left as it was stays."""
    begin(log, saver, Plan("", (checkpoint("t", "3", parent_id="2"),)))
    assert witnesses(log) == {"t:1", "t:2"}
    saver.apply(Plan("the application", tuple(checkpoint("t", str(number)) for number in range(4, 9))))
    begin(log, saver, Plan("", replace=(checkpoint("t", "1", parent_id="0"),)))
    assert witnesses(log) == {"t:2", "t:5", "t:6", "t:7", "t:8"}
    begin(log, saver, Plan("", remove=(Ref("t", "", "8"), Ref("t", "", "2"))))
    assert witnesses(log) == {"t:5", "t:6", "t:7"}


def test_other_threads_are_witnesses_where_nothing_else_is_left(log: OperationLog, saver: MemorySaver) -> None:
    """An operation that touches all that is near it takes the heads of other threads."""
    saver.apply(Plan("", (checkpoint("u", "1"), checkpoint("u", "2", parent_id="1"))))
    begin(log, saver, Plan("", remove=(Ref("t", "", "1"), HEAD, WriteKey(HEAD, "task", 0))))
    assert witnesses(log) == {"u:2"}
