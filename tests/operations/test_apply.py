"""What `apply` compares with the basis of a plan before it writes."""

import pytest

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import Refused
from ckpt_cli.model import Plan, Ref
from ckpt_cli.operations.apply import apply, basis_of, basis_of_heads
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Phase
from ckpt_cli.savers.memory import MemorySaver
from tests.operations.plans import HEAD, LONGER, OTHER, phases


def test_what_a_plan_was_made_from_must_not_change(log: OperationLog, saver: MemorySaver) -> None:
    """A checkpoint, its writes or a thread that changed meanwhile refuse the plan; writes only where they matter."""
    ref, thread = Ref("t", "", "2"), Ref("t", "*", "")
    bases = {
        "thread": basis_of(saver, thread),
        "writes": basis_of(saver, ref),
        "payload": basis_of(saver, ref, writes=False),
        "other": basis_of(saver, Ref("t", "", "1")),
    }
    saver.apply(Plan("the application", (write("t", "2", idx=1),)))
    for name, basis in bases.items():
        plan = Plan("", (checkpoint("new", name),), basis=(basis,))
        if name in ("thread", "writes"):
            with pytest.raises(Refused, match="has changed since the plan was begun; nothing was written"):
                apply(saver, log, plan, at=1.0)
        else:
            apply(saver, log, plan, at=1.0)
    assert [row.checkpoint_id for row in saver.rows("new")] == ["other", "payload"]
    assert set(phases(log).values()) == {Phase.DONE}


CHANGES = {
    "body": checkpoint("t", "2", parent_id="1", body=OTHER),
    "metadata": checkpoint("t", "2", parent_id="1", metadata=OTHER),
    "parent": checkpoint("t", "2", parent_id="0"),
    "size of a write": write("t", "2", payload=LONGER),
    "channel of a write": write("t", "2", channel="other"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_checkpoint_is_compared_in_all_its_parts(name: str, log: OperationLog, saver: MemorySaver) -> None:
    """A plan made from a checkpoint is refused where any part of it or of its writes is another by then."""
    plan = Plan("", (checkpoint("t", "3", parent_id="2"),), basis=(basis_of(saver, HEAD),))
    saver.apply(Plan("the application", replace=(CHANGES[name],)))
    with pytest.raises(Refused, match="checkpoint 2 has changed since the plan was begun"):
        apply(saver, log, plan, at=1.0)


LATER: dict[str, Plan] = {
    "a checkpoint": Plan("", (checkpoint("t", "3", parent_id="2"),)),
    "a write on the head": Plan("", (write("t", "2", idx=1),)),
    "a longer write on the head": Plan("", replace=(write("t", "2", payload=LONGER),)),
}


@pytest.mark.parametrize("ns", ["", "sub:1", "sub:1|x:2"])
@pytest.mark.parametrize("name", LATER)
def test_a_head_stays_where_it_was(name: str, ns: str, log: OperationLog, saver: MemorySaver) -> None:
    """A plan is refused where its namespace's head, or one around it, is another or has other writes by then."""
    saver.apply(Plan("", (checkpoint("t", "2", ns="sub:1"), checkpoint("t", "2", ns="sub:1|x:2"))))
    plan = Plan("", (checkpoint("t", "9", ns=ns),), basis=basis_of_heads(saver, "t", ns))
    saver.apply(LATER[name])
    with pytest.raises(Refused, match="thread 't' has continued since the plan was begun; nothing was written"):
        apply(saver, log, plan, at=1.0)
    assert saver.row(Ref("t", ns, "9")) is None


def test_what_is_elsewhere_moves_no_head(log: OperationLog, saver: MemorySaver) -> None:
    """Other namespaces, other threads and older checkpoints may change meanwhile."""
    saver.apply(Plan("", (checkpoint("t", "1", ns="other"), checkpoint("u", "1"))))
    plan = Plan("", (checkpoint("t", "9"),), basis=basis_of_heads(saver, "t"))
    meanwhile = (checkpoint("t", "2", ns="other"), checkpoint("u", "2"), write("t", "1"))
    saver.apply(Plan("", meanwhile, (checkpoint("t", "1", body=OTHER),)))
    assert apply(saver, log, plan, at=1.0) == 1


def test_names_with_half_a_surrogate_pair_are_compared(log: OperationLog, saver: MemorySaver) -> None:
    """A name that no encoding carries is compared like any other."""
    saver.apply(Plan("", replace=(write("t", "2", channel="\ud83d"),)))
    plan = Plan("", (checkpoint("t", "3", parent_id="2"),), basis=(basis_of(saver, HEAD), *basis_of_heads(saver, "t")))
    apply(saver, log, plan, at=1.0)
    plan = Plan("", (checkpoint("t", "4", parent_id="2"),), basis=(basis_of(saver, HEAD),))
    saver.apply(Plan("", replace=(write("t", "2", channel="\ude00"),)))
    with pytest.raises(Refused, match="checkpoint 2 has changed"):
        apply(saver, log, plan, at=2.0)
