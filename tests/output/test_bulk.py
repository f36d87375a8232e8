"""A plan for many threads as it is printed: why threads are refused is whole, also with long ids in 80 columns."""

from uuid import UUID

from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.views.bulk import BulkView, RowCount, ThreadLine
from tests import golden


def thread(number: int) -> str:
    """An id as applications make them."""
    return str(UUID(int=number * 0x1234567890ABCDEF1234567890ABCDEF % (1 << 128)))


def refused(number: int, problem: str) -> ThreadLine:
    """A thread for which there is no plan."""
    return ThreadLine(thread(number), "refused", "", problem)


def test_looks() -> None:
    """Each reason is whole, once, and equal ones count together although they differ by ids."""
    at = "rollback", "of 1 thread to before:text:order O[0-9]+: parcel marked LOST"
    why = "is answered 'approve', which its schema refuses: 'much' is not of type 'number'; nothing was written"
    threads = (
        ThreadLine(thread(1), "planned", "to 7e6302 (step 1): a new checkpoint; the next graph.invoke runs tools"),
        *(refused(n, "no text of the head's line fits order O[0-9]+: parcel marked LOST") for n in range(2, 7)),
        *(refused(n, f"question {n:032x} {why}") for n in range(7, 9)),
        refused(9, f"thread {thread(9)!r} has no checkpoint of the root graph"),
    )
    rows = [RowCount("add", "checkpoints", 30), RowCount("add", "checkpoint_blobs", 30)]
    view = BulkView(*at, selected=9, changes=1, refused=8, rows=rows, log_bytes=109_000, stopped=True, threads=threads)
    golden.check("bulk/refused", view)


def test_what_a_plan_repeats_is_left_out() -> None:
    """Neither the undone operation nor the ids of questions are in every line; what is too long has its own line."""
    undone = ThreadLine(thread(1), "planned", "of operation 9 (rollback to ea987f (step 5))")
    question = "1 answer recorded for HumanInTheLoopMiddleware.after_model (bf5378dfb366fad4171b2ca62a673d1a)"
    answered = ThreadLine(thread(2), "planned", f"{question}; the next graph.invoke(None, config) continues with it")
    view = BulkView("undo", "of operation 9 (rollback of 2 threads)", changes=2, threads=(undone, answered))
    golden.check("bulk/repeats", view)


def test_the_command_to_type_first_is_whole() -> None:
    """The hint of a refused undo is not cut, and its commands are each on one line, to be copied."""
    name, after = thread(1), "1f0d05cf-4eb5-6330-8007-3b0a31ee54e2"
    first, then = f"`ckpt delete {name} --after {after}`", f"`ckpt undo 9 --thread {name}`"
    what = f"operation 9 on thread {name!r} can't be taken back: the thread continued from what it added ({after})"
    view = BulkView(
        "undo",
        "of operation 9",
        selected=1,
        refused=1,
        threads=(refused(1, f"{what} (hint: {first} first, then {then})"),),
    )
    for width in (80, 200):
        lines = [plain(line) for line in render(view, Page(width, golden.NOW))]
        assert all(any(part in line for line in lines) for part in (first, then, after)), lines
