"""What an undo takes back, what it refuses, and which operations its hints name."""

import pytest

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import NotFound, Refused
from ckpt_cli.model import Checkpoint, Payload, Plan, Ref, WriteKey
from ckpt_cli.operations import undo
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Phase
from ckpt_cli.savers.memory import MemorySaver
from tests.operations.plans import HEAD, LONGER, OTHER, adding, phases, replacing


def test_undo_goes_back_one_by_one(log: OperationLog, saver: MemorySaver) -> None:
    """Undo takes the newest operation that is done, then the one before, and never an undo unless it is named."""
    for checkpoint_id in ("3", "4"):
        apply(saver, log, adding(checkpoint_id), at=1.0)
    for expected in (2, 1):
        operation = undo.find_operation(saver, log, None)
        assert operation.number == expected
        undo.undo(saver, log, operation, at=2.0, reason="")
    assert [row.checkpoint_id for row in saver.rows("t")] == ["1", "2"]
    with pytest.raises(NotFound):
        undo.find_operation(saver, log, None)
    with pytest.raises(Refused, match="operation 1 is undone already") as refused:
        undo.find_operation(saver, log, 1)
    assert refused.value.hint == "`ckpt undo 4` brings it back"
    undo.undo(saver, log, undo.find_operation(saver, log, 4), at=3.0, reason="")
    assert phases(log) == {1: "done", 2: "undone", 3: "done", 4: "undone", 5: "done"}
    assert undo.find_operation(saver, log, None).number == 1


def test_undo_refuses_where_a_later_operation_touched_the_rows(log: OperationLog, saver: MemorySaver) -> None:
    """The later one is named; after it is undone the earlier one can be."""
    for body in (b"first", b"second"):
        apply(saver, log, replacing("1", body), at=1.0)
    with pytest.raises(Refused, match="operation 2 changed the same rows later"):
        undo.undo(saver, log, undo.find_operation(saver, log, 1), at=2.0, reason="")
    for number in (2, 1):
        undo.undo(saver, log, undo.find_operation(saver, log, number), at=2.0, reason="")
    (restored,) = saver.checkpoints([Ref("t", "", "1")])
    assert restored.body == checkpoint("t", "1").body


def test_undo_refuses_where_somebody_else_changed_the_rows(log: OperationLog, saver: MemorySaver) -> None:
    """A row that is not as the operation left it is not overwritten."""
    apply(saver, log, replacing("1", b"mine"), at=1.0)
    saver.apply(replacing("1", b"theirs"))
    with pytest.raises(
        Refused, match="checkpoint 1 of thread 't' was changed since by an agent or somebody else"
    ) as refused:
        undo.undo(saver, log, undo.find_operation(saver, log, None), at=2.0, reason="")
    assert refused.value.hint == "`ckpt show t 1` shows what is there now"
    assert phases(log) == {1: Phase.DONE}


@pytest.mark.parametrize("record", [checkpoint("t", "4", parent_id="3"), write("t", "3")], ids=["child", "write"])
def test_undo_refuses_where_an_application_went_on(log: OperationLog, saver: MemorySaver, record: Checkpoint) -> None:
    """A checkpoint that has got a child or a write is not pulled away from under it."""
    apply(saver, log, adding("3"), at=1.0)
    saver.apply(Plan("the application", (record,)))
    with pytest.raises(Refused, match=r"thread 't' continued from what it added \(.\)"):
        undo.undo(saver, log, undo.find_operation(saver, log, None), at=2.0, reason="")
    assert saver.row(Ref("t", "", "3")) is not None


def replacing_body(body: bytes) -> Plan:
    """A plan that changes the first checkpoint."""
    return Plan("", replace=(checkpoint("t", "1", body=Payload("bytes", body)),), verb="edit", summary="x")


def undone(saver: MemorySaver, log: OperationLog, number: int | None = None) -> None:
    """Take an operation back."""
    undo.undo(saver, log, undo.find_operation(saver, log, number), at=2.0, reason="")


def test_an_undone_operation_is_nobodys_reason(log: OperationLog, saver: MemorySaver) -> None:
    """A later operation that is undone isn't the reason of a refusal, and neither is its undo."""
    for body in (b"first", b"second"):
        apply(saver, log, replacing_body(body), at=1.0)
    undone(saver, log, 2)
    saver.apply(replacing_body(b"somebody else's"))
    with pytest.raises(Refused, match="checkpoint 1 of thread 't' was changed since by an agent or somebody else"):
        undone(saver, log, 1)


def test_what_went_on_is_nobodys_who_was_undone(log: OperationLog, saver: MemorySaver) -> None:
    """An undone operation that wrote where the application continued isn't named as the one to undo first."""
    added = checkpoint("t", "3", parent_id="2")
    apply(saver, log, Plan("", (added,), verb="fork"), at=1.0)
    later = (write("t", "3"), checkpoint("t", "4", parent_id="3"))
    apply(saver, log, Plan("", later, verb="update"), at=1.0)
    with pytest.raises(Refused, match="continued from what it added") as refused:
        undone(saver, log, 1)
    assert refused.value.hint == "`ckpt undo 2` first, then `ckpt undo 1`"
    undone(saver, log, 2)
    saver.apply(Plan("the application", later))
    with pytest.raises(Refused, match="continued from what it added") as refused:
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


def test_in_place_of_a_forgotten_operation_one_that_stands_is_named(log: OperationLog, saver: MemorySaver) -> None:
    """The hint names the newest earlier operation that can still be undone; an undo is never named."""
    saver.apply(Plan("", (checkpoint("u", "1"),)))
    for number in ("2", "3"):
        apply(saver, log, Plan("", (checkpoint("u", number, parent_id="1"),), verb="fork"), at=1.0)
    removed = (Ref("t", "", "1"), HEAD, WriteKey(HEAD, "task", 0))
    apply(saver, log, Plan("", remove=removed, verb="delete"), at=2.0, forget=("t",))
    apply(saver, log, Plan("", (checkpoint("u", "4", parent_id="1"),), verb="fork"), at=3.0)
    for number, hint in ((None, "`ckpt undo 2` takes back an earlier one"), (2, "`ckpt undo 1` takes"), (1, "")):
        if number is not None:
            undo.undo(saver, log, undo.find_operation(saver, log, number), at=4.0, reason="")
        with pytest.raises(Refused, match="its rows were forgotten") as refused:
            undo.find_operation(saver, log, 3)
        assert refused.value.hint.startswith(hint) and bool(refused.value.hint) == bool(hint)


def test_a_row_that_is_no_record_is_said_to_be_changed(
    log: OperationLog, saver: MemorySaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of values that several checkpoints share have no checkpoint to be named by."""
    number = apply(saver, log, Plan("", replace=(checkpoint("t", "2", parent_id="1", body=OTHER),)), at=1.0)
    saver.apply(Plan("", replace=(checkpoint("t", "2", parent_id="1", body=LONGER),)))
    monkeypatch.setattr(saver, "record_of", lambda *_: None)
    with pytest.raises(Refused, match=r": a row was changed since by an agent or somebody else; nothing was written"):
        undo.undo(saver, log, undo.find_operation(saver, log, number), at=2.0, reason="")
