"""What an undo may restore in a thread that continued or was made again, and the warning that one is running."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import Refused
from ckpt_cli.model import Plan, Ref, WriteKey
from ckpt_cli.operations import recent_writes, undo
from ckpt_cli.operations.apply import apply
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.restoring import ParentSearch, find_clash, find_restored
from ckpt_cli.plans.mint import Mint
from ckpt_cli.savers.memory import MemorySaver
from tests.work import LINEAR, growth

NOW = 1_700_000_000.0
DAY = 86400.0
_LOWEST = "1b000000-0000-6000-8000-000000000000"


def at(seconds: float) -> str:
    """The id of a checkpoint made so many seconds from now."""
    return Mint(lambda: NOW + seconds).stamp(_LOWEST, "", 1).id


@pytest.fixture
def log(tmp_path: Path) -> Iterator[OperationLog]:
    """A log that doesn't exist yet."""
    with closing(OperationLog(tmp_path / "ckpt" / "x" / "log.sqlite")) as made:
        yield made


def deleted(saver: MemorySaver, log: OperationLog, *ids: str, thread_id: str = "t") -> None:
    """Some checkpoints go, by an operation of now."""
    refs = tuple(Ref(thread_id, "", one) for one in ids)
    apply(saver, log, Plan("", remove=refs, verb="delete", summary="of checkpoints"), at=NOW)


def undone(saver: MemorySaver, log: OperationLog, number: int) -> int:
    """Take an operation back."""
    return undo.undo(saver, log, undo.find_operation(saver, log, number), at=NOW + 60, reason="")


@pytest.mark.parametrize("seconds", [5.0, -5.0, 7200.0])
def test_a_thread_made_anew(seconds: float, log: OperationLog) -> None:
    """Nothing comes back into it, also where the application's clock is behind."""
    old, new = at(-60), at(seconds)
    saver = MemorySaver([checkpoint("t", old), checkpoint("u", old)])
    deleted(saver, log, old)
    saver.apply(Plan("", (checkpoint("t", new),)))
    with pytest.raises(
        Refused, match="thread 't' was created again since, and two histories would be mixed"
    ) as refused:
        undone(saver, log, 1)
    keeps = "before that, `ckpt fork t @ --to NEW_THREAD --with-pending` keeps a copy of what is there now"
    assert refused.value.hint == f"`ckpt delete t` first ({keeps}), then `ckpt undo 1`"
    assert [row.checkpoint_id for row in saver.rows("t")] == [new]


def test_a_thread_made_anew_by_ckpt(log: OperationLog) -> None:
    """A fork to the same id keeps older ids; the operation that made it is named, and undone first it's all as was."""
    old, older = at(-60), at(-DAY)
    saver = MemorySaver([checkpoint("t", old), checkpoint("other", old)])
    deleted(saver, log, old)
    apply(saver, log, Plan("", (checkpoint("t", older),), verb="fork", summary="to t"), at=NOW + 1)
    with pytest.raises(Refused, match="was created again since") as refused:
        undone(saver, log, 1)
    assert refused.value.hint == "`ckpt undo 2` first, then `ckpt undo 1`"
    undone(saver, log, 2)
    undone(saver, log, 1)
    assert [row.checkpoint_id for row in saver.rows("t")] == [old]


def test_a_thread_brought_back_by_an_undo(log: OperationLog) -> None:
    """The undo that brought back a thread of the same id is named, and undone first the older thread comes back."""
    old, new = at(-60), at(5)
    saver = MemorySaver([checkpoint("t", old), checkpoint("u", old)])
    deleted(saver, log, old)
    saver.apply(Plan("", (checkpoint("t", new),)))
    deleted(saver, log, new)
    assert undone(saver, log, 2) == 3
    with pytest.raises(Refused, match="was created again since") as refused:
        undone(saver, log, 1)
    restored = "it took back operation 2"
    assert refused.value.hint == f"`ckpt undo 3` first ({restored}), then `ckpt undo 1`"
    undone(saver, log, 3)
    undone(saver, log, 1)
    assert [row.checkpoint_id for row in saver.rows("t")] == [old]


def test_a_branch_beside_what_an_operation_added(log: OperationLog) -> None:
    """Of a copied history only what somebody hung in the middle of it is to be deleted."""
    ids = [at(seconds) for seconds in (-60, -50, -40)]
    saver = MemorySaver([checkpoint("u", ids[0])])
    rows = [checkpoint("t", one, parent_id=above) for one, above in zip(ids, [None, *ids], strict=False)]
    apply(saver, log, Plan("", tuple(rows), verb="fork", summary="to t"), at=NOW)
    child, tip = at(30), at(31)
    saver.apply(Plan("", (checkpoint("t", child, parent_id=ids[0]), checkpoint("t", tip, parent_id=child))))
    with pytest.raises(Refused, match="continued from what it added") as refused:
        undone(saver, log, 1)
    assert refused.value.hint == f"`ckpt delete t --branch {tip}` first, then `ckpt undo 1`"


def test_an_undone_fork_made_again(log: OperationLog) -> None:
    """The undo of an undo adds to a thread as well, and is refused as well."""
    made, new = at(-60), at(30)
    saver = MemorySaver([checkpoint("u", at(-DAY))])
    apply(saver, log, Plan("", (checkpoint("t", made),), verb="fork", summary="to t"), at=NOW)
    undone(saver, log, 1)
    saver.apply(Plan("", (checkpoint("t", new),)))
    with pytest.raises(Refused, match="was created again since"):
        undone(saver, log, 2)


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_runs_that_share_no_checkpoint(removed: int, log: OperationLog) -> None:
    """Where each run left one checkpoint whose parent was never stored (durability "exit"), any of them comes back."""
    runs = [at(-3 * DAY), at(-2 * DAY), at(-DAY)]
    saver = MemorySaver([checkpoint("t", run, parent_id=at(-4 * DAY)) for run in runs])
    deleted(saver, log, runs[removed])
    undone(saver, log, 1)
    assert [row.checkpoint_id for row in saver.rows("t")] == runs


def test_a_checkpoint_that_stays_and_changes(log: OperationLog) -> None:
    """One that the operation itself hung elsewhere was there before, however young it is."""
    root, child = at(-60), at(-30)
    saver = MemorySaver([checkpoint("t", root), checkpoint("t", child, parent_id=root)])
    plan = Plan("", replace=(checkpoint("t", child),), remove=(Ref("t", "", root),), verb="delete")
    apply(saver, log, plan, at=NOW)
    undone(saver, log, 1)
    assert [row.parent_id for row in saver.rows("t")] == [None, root]


def test_writes_under_another_child(log: OperationLog) -> None:
    """What a checkpoint's tasks left doesn't come back once it has a child that they didn't make."""
    root, child, other = at(-60), at(-30), at(30)
    saver = MemorySaver([checkpoint("t", root), write("t", root), checkpoint("t", child, parent_id=root)])
    writes = next(iter(saver.writes("t")))
    removed = undo.WriteKey(writes.ref, writes.task_id, writes.idx)
    apply(saver, log, Plan("", remove=(Ref("t", "", child), removed), verb="delete"), at=NOW)
    saver.apply(Plan("", (checkpoint("t", other, parent_id=root),)))
    with pytest.raises(Refused, match=f"thread 't' has continued from {root} since") as refused:
        undone(saver, log, 1)
    assert f"`ckpt delete t --after {root}` first" in refused.value.hint


def test_a_branch_beside_the_head(log: OperationLog) -> None:
    """Without writes it is restored, and a note says that the head stays where the application continued."""
    root, child, other = at(-60), at(-30), at(30)
    saver = MemorySaver([checkpoint("t", root), checkpoint("t", child, parent_id=root)])
    deleted(saver, log, child)
    assert undo.undo_notes(saver, log, undo.find_operation(saver, log, 1)) == []
    saver.apply(Plan("", (checkpoint("t", other, parent_id=root),)))
    assert undo.undo_notes(saver, log, undo.find_operation(saver, log, 1)) == [
        f"the head stays {other}; the restored checkpoints are another branch"
    ]
    undone(saver, log, 1)
    assert [row.checkpoint_id for row in saver.rows("t")] == [root, child, other]


def test_what_ckpt_wrote_is_no_sign_of_an_application(log: OperationLog) -> None:
    """Threads with a recent newest checkpoint are named, but not those where an operation made it."""
    theirs, ours = Ref("t", "", at(-4)), Ref("u", "", at(-3))
    saver = MemorySaver([checkpoint("t", theirs.checkpoint_id)])
    apply(saver, log, Plan("", (checkpoint("u", ours.checkpoint_id),), verb="fork"), at=NOW - 2)
    assert list(recent_writes.notes(saver, log, [ours], NOW)) == []
    assert list(recent_writes.notes(saver, log, [theirs], NOW)) == [
        "the thread t was last written 4s ago; the application may be running"
    ]
    many = [Ref(f"t{place}", "", at(-4)) for place in range(7)]
    notes = list(recent_writes.notes(saver, log, [*many, ours], NOW))
    assert notes[0] == "the thread t0 was last written 4s ago; the application may be running"
    assert notes[5:] == ["and 2 more threads were also written to just now"]


@pytest.mark.parametrize("column", ["parent_checkpoint_id", "document"])
def test_work_is_linear_in_the_restored_and_the_removed_checkpoints(column: str) -> None:
    """Twice as many of both take twice the work, in tables and in documents; each parent is found."""
    names = [at(float(n)) for n in range(200)]

    def search(size: int) -> Callable[[], None]:
        removed = {Ref("t", "", one): None for one in names[:size]}
        wanted = list(zip(names[1 : size + 1], names, strict=False))

        def run() -> None:
            parents = ParentSearch(removed)
            for own, parent in wanted:
                text = parent if column != "document" else f'{{"id": "{own}", "parent": "{parent}"}}'
                assert parents.find(Ref("t", "", own), {column: text}) == Ref("t", "", parent)

        return run

    assert growth(90, search) < LINEAR


def test_work_is_linear_in_the_threads_that_continued(tmp_path: Path) -> None:
    """Twice as many threads, each of which an application continued since, take twice the work."""
    root, kid, new = at(-60), at(-30), at(30)

    def search(size: int) -> Callable[[], None]:
        names = [f"t{n}" for n in range(size)]
        records = [(checkpoint(t, root), checkpoint(t, kid, parent_id=root), write(t, kid)) for t in names]
        saver = MemorySaver([record for some in records for record in some])
        gone = [WriteKey(one.ref, one.task_id, one.idx) for t in names for one in saver.writes(t)]
        made = OperationLog(tmp_path / f"{size}" / "log.sqlite")
        apply(saver, made, Plan("", remove=(*(Ref(t, "", kid) for t in names), *gone), verb="delete"), at=NOW)
        saver.apply(Plan("", tuple(checkpoint(t, new, parent_id=root) for t in names)))
        operation = undo.find_operation(saver, made, 1)

        def run() -> None:
            assert find_clash(saver, made, operation, find_restored(saver, made, 1)) is None

        return run

    assert growth(20, search) < LINEAR


@pytest.mark.parametrize("parent", ["1", "2024-05-01T00:00:00+00:00", "a “b”", "1ee833b0-5485-6680-8001-98848c03db53"])
@pytest.mark.parametrize("encoded", [False, True])
def test_the_parent_of_a_document_is_found_by_its_text(parent: str, encoded: bool) -> None:
    """Whatever form its id has; an id of another namespace or thread isn't the parent, nor is the checkpoint itself."""
    own = Ref("t", "", at(2.0))
    document: str | bytes = f"_id {own.checkpoint_id} before {parent}."
    image = {"document": document.encode() if encoded else document}
    refs = [own, Ref("t", "", parent), Ref("t", "n", parent), Ref("u", "", parent)]
    assert ParentSearch(refs).find(own, image) == refs[1]
    assert ParentSearch([refs[0], *refs[2:]]).find(own, image) is None
