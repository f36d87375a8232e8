"""What apply compares, which lock it takes, and which operations an undo names: each line that decides is held."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import Refused
from ckpt_cli.model import Payload, Plan, Ref, Write, WriteKey
from ckpt_cli.operations import undo
from ckpt_cli.operations.apply import apply, basis_of, basis_of_heads
from ckpt_cli.operations.lock import hold_lock
from ckpt_cli.operations.log import Heading, OperationLog, Phase
from ckpt_cli.operations.settle import settle
from ckpt_cli.operations.witnesses import Choice, sample_checkpoints
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.memory import MemorySaver

HEAD = Ref("t", "", "2")
OTHER = Payload("json", b"{}")
LONGER = Payload("msgpack", b"longer than it was before, and by far")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[OperationLog]:
    """A log that doesn't exist yet."""
    with closing(OperationLog(tmp_path / "ckpt" / "x" / "log.sqlite")) as made:
        yield made


@pytest.fixture
def saver() -> MemorySaver:
    """A thread of two checkpoints, the second with a write."""
    return MemorySaver([checkpoint("t", "1"), checkpoint("t", "2", parent_id="1"), write("t", "2")])


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
    with pytest.raises(Refused, match="checkpoint 2 changed while the plan was made"):
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
    with pytest.raises(Refused, match="thread 't' went on while the plan was made; nothing was written"):
        apply(saver, log, plan, at=1.0)
    assert saver.row(Ref("t", ns, "9")) is None


def test_what_is_elsewhere_moves_no_head(log: OperationLog, saver: MemorySaver) -> None:
    """Other namespaces, other threads and older checkpoints may change meanwhile."""
    saver.apply(Plan("", (checkpoint("t", "1", ns="other"), checkpoint("u", "1"))))
    plan = Plan("", (checkpoint("t", "9"),), basis=basis_of_heads(saver, "t"))
    meanwhile = (checkpoint("t", "2", ns="other"), checkpoint("u", "2"), write("t", "1"))
    saver.apply(Plan("", meanwhile, (checkpoint("t", "1", body=OTHER),)))
    assert apply(saver, log, plan, at=1.0) == 1


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


UNSETTLED = {
    "a row that it added, which is another by now": (Plan("", (write("t", "2", idx=-1),)), Phase.DONE),
    "a row that it changed, which is another by now": (
        Plan("", replace=(write("t", "2", payload=OTHER),)),
        Phase.PLANNED,
    ),
}


@pytest.mark.parametrize("name", UNSETTLED)
def test_a_row_that_is_neither_as_before_nor_as_after(name: str, log: OperationLog, saver: MemorySaver) -> None:
    """It tells that an operation happened which added it, and nothing of one that changed it."""
    plan, phase = UNSETTLED[name]
    log.begin(Heading(1.0, "resume", "", ""), saver.expand(plan), witnessing=Choice(saver, sample_checkpoints(saver)))
    saver.apply(plan)
    [written] = [one for one in (*plan.add, *plan.replace) if isinstance(one, Write)]
    saver.apply(Plan("the application", replace=(written._replace(payload=LONGER, size=len(LONGER.data)),)))
    settle(saver, log)
    assert [operation.phase for operation in log.operations()] == [phase]


def replacing(body: bytes) -> Plan:
    """A plan that changes the first checkpoint."""
    return Plan("", replace=(checkpoint("t", "1", body=Payload("bytes", body)),), verb="edit", summary="x")


def undone(saver: MemorySaver, log: OperationLog, number: int | None = None) -> None:
    """Take an operation back."""
    undo.undo(saver, log, undo.find_operation(log, number), at=2.0, reason="")


def test_an_undone_operation_is_nobodys_reason(log: OperationLog, saver: MemorySaver) -> None:
    """Where a later operation that changed the row is undone, neither it nor its undo is what stands in the way."""
    for body in (b"first", b"second"):
        apply(saver, log, replacing(body), at=1.0)
    undone(saver, log, 2)
    saver.apply(replacing(b"somebody else's"))
    with pytest.raises(Refused, match="checkpoint 1 of thread 't' was changed since by somebody else"):
        undone(saver, log, 1)


def test_what_went_on_is_nobodys_who_was_undone(log: OperationLog, saver: MemorySaver) -> None:
    """An undone operation that wrote where the application went on isn't named as the one to undo first."""
    added = checkpoint("t", "3", parent_id="2")
    apply(saver, log, Plan("", (added,), verb="fork"), at=1.0)
    later = (write("t", "3"), checkpoint("t", "4", parent_id="3"))
    apply(saver, log, Plan("", later, verb="update"), at=1.0)
    with pytest.raises(Refused, match="went on from what it added") as refused:
        undone(saver, log, 1)
    assert refused.value.hint == "`ckpt undo 2` first, then `ckpt undo 1`"
    undone(saver, log, 2)
    saver.apply(Plan("the application", later))
    with pytest.raises(Refused, match="went on from what it added") as refused:
        undone(saver, log, 1)
    assert refused.value.hint == "`ckpt delete t --after 3` first, then `ckpt undo 1`"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_row_of_an_operation_is_taken_back(size: int, log: OperationLog, saver: MemorySaver) -> None:
    """The first and the last too, and each is compared with what the operation left."""
    places = [Ref("t", "", str(place)) for place in range(3, 3 + size)]
    plan = Plan("", tuple(checkpoint("t", ref.checkpoint_id, parent_id="2") for ref in places), verb="fork")
    before = list(saver.rows("t"))
    apply(saver, log, plan, at=1.0)
    for ref in places:
        was = checkpoint("t", ref.checkpoint_id, parent_id="2")
        saver.apply(Plan("", replace=(was._replace(body=OTHER),)))
        with pytest.raises(Refused, match=f"checkpoint {ref.checkpoint_id} of thread 't' was changed since"):
            undone(saver, log)
        saver.apply(Plan("", replace=(was,)))
    undone(saver, log)
    assert list(saver.rows("t")) == before


def test_names_with_half_a_surrogate_pair_are_compared(log: OperationLog, saver: MemorySaver) -> None:
    """A name that no encoding carries is compared like any other."""
    saver.apply(Plan("", replace=(write("t", "2", channel="\ud83d"),)))
    plan = Plan("", (checkpoint("t", "3", parent_id="2"),), basis=(basis_of(saver, HEAD), *basis_of_heads(saver, "t")))
    apply(saver, log, plan, at=1.0)
    plan = Plan("", (checkpoint("t", "4", parent_id="2"),), basis=(basis_of(saver, HEAD),))
    saver.apply(Plan("", replace=(write("t", "2", channel="\ude00"),)))
    with pytest.raises(Refused, match="checkpoint 2 changed"):
        apply(saver, log, plan, at=2.0)


def test_in_place_of_a_forgotten_operation_one_that_stands_is_named(log: OperationLog, saver: MemorySaver) -> None:
    """The hint names the newest earlier operation that can still be undone; an undo is never named."""
    saver.apply(Plan("", (checkpoint("u", "1"),)))
    for number in ("2", "3"):
        apply(saver, log, Plan("", (checkpoint("u", number, parent_id="1"),), verb="fork"), at=1.0)
    gone = (Ref("t", "", "1"), HEAD, WriteKey(HEAD, "task", 0))
    apply(saver, log, Plan("", remove=gone, verb="delete"), at=2.0, forget=("t",))
    apply(saver, log, Plan("", (checkpoint("u", "4", parent_id="1"),), verb="fork"), at=3.0)
    for number, hint in ((None, "`ckpt undo 2` takes back an earlier one"), (2, "`ckpt undo 1` takes"), (1, "")):
        if number is not None:
            undo.undo(saver, log, undo.find_operation(log, number), at=4.0, reason="")
        with pytest.raises(Refused, match="its rows were forgotten") as refused:
            undo.find_operation(log, 3)
        assert refused.value.hint.startswith(hint) and bool(refused.value.hint) == bool(hint)


def test_a_row_that_is_no_record_is_said_to_be_changed(
    log: OperationLog, saver: MemorySaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of values that several checkpoints share have no checkpoint to be named by."""
    number = apply(saver, log, Plan("", replace=(checkpoint("t", "2", parent_id="1", body=OTHER),)), at=1.0)
    saver.apply(Plan("", replace=(checkpoint("t", "2", parent_id="1", body=LONGER),)))
    monkeypatch.setattr(saver, "record_of", lambda *_: None)
    with pytest.raises(Refused, match=r": a row was changed since by somebody else; nothing was written"):
        undo.undo(saver, log, undo.find_operation(log, number), at=2.0, reason="")


def witnesses(log: OperationLog) -> set[str]:
    """The checkpoints that the log keeps as witnesses."""
    return {f"{ref.thread_id}:{ref.checkpoint_id}" for some in log.witnesses(100) for ref in some}


def planned(log: OperationLog, saver: MemorySaver, plan: Plan) -> None:
    """Log an operation where nothing but what is near it was sampled, and make it."""
    log.begin(Heading(1.0, "delete", "", ""), saver.expand(plan), witnessing=Choice(saver, []))
    saver.apply(plan)


def test_what_an_operation_touches_is_no_witness_any_more(log: OperationLog, saver: MemorySaver) -> None:
    """Whether it would have been chosen again or not; what another one left as it was stays."""
    planned(log, saver, Plan("", (checkpoint("t", "3", parent_id="2"),)))
    assert witnesses(log) == {"t:1", "t:2"}
    saver.apply(Plan("the application", tuple(checkpoint("t", str(number)) for number in range(4, 9))))
    planned(log, saver, Plan("", replace=(checkpoint("t", "1", parent_id="0"),)))
    assert witnesses(log) == {"t:2", "t:5", "t:6", "t:7", "t:8"}
    planned(log, saver, Plan("", remove=(Ref("t", "", "8"), Ref("t", "", "2"))))
    assert witnesses(log) == {"t:5", "t:6", "t:7"}


def test_other_threads_are_witnesses_where_nothing_else_is_left(log: OperationLog, saver: MemorySaver) -> None:
    """An operation that touches all that is near it takes the heads of other threads."""
    saver.apply(Plan("", (checkpoint("u", "1"), checkpoint("u", "2", parent_id="1"))))
    planned(log, saver, Plan("", remove=(Ref("t", "", "1"), HEAD, WriteKey(HEAD, "task", 0))))
    assert witnesses(log) == {"u:2"}
