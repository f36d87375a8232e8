"""One ckpt at a time writes to a database without transactions."""

import pytest

from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.errors import Refused
from ckpt_cli.model import Plan
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.lock import hold_lock
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Heading, Phase
from ckpt_cli.operations.settle import settle
from ckpt_cli.operations.witnesses import Choice, sample_checkpoints
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.memory import MemorySaver


def test_one_ckpt_at_a_time_where_there_are_no_transactions(log: OperationLog, saver: MemorySaver) -> None:
    """While another holds the lock, nothing is planned or settled; with transactions nobody needs it."""
    plan = Plan("", (checkpoint("t", "3", parent_id="2"),))
    log.begin(Heading(1.0, "fork", "", ""), saver.expand(plan), witnessing=Choice(saver, sample_checkpoints(saver)))
    with hold_lock(log.path.with_name("lock")):
        saver.abilities = frozenset(Ability) - {Ability.ATOMIC}  # type: ignore[misc]
        for act in (lambda: apply(saver, log, plan, at=2.0), lambda: settle(saver, log)):
            with pytest.raises(Refused, match="another ckpt is at work on this database"):
                act()
        assert [operation.phase for operation in log.operations()] == [Phase.PLANNED]
        saver.abilities = frozenset(Ability)  # type: ignore[misc]
        assert apply(saver, log, plan, at=2.0) == 2
    assert settle(saver, log)
