"""Threads with tool calls that models refuse, as they are printed: terminal, pipe and JSON."""

from ckpt_cli.views.repair import BrokenThread, CallLine, FaultLine, RepairView
from tests import golden

WHEN = "2026-11-21T09:28:05.000Z"


def test_looks() -> None:
    """A line for each fault; what becomes of the thread is below its first."""
    calls = (CallLine("call_1", "lookup_order"), CallLine("call_2", "refund"))
    unanswered = FaultLine("messages", "unanswered", 3, calls, "Chat Completions")
    late = FaultLine("messages", "out of order", 7, (CallLine("toolu_1", "search 中"),), "Anthropic")
    nameless = FaultLine("chat", "not asked for", 0, (CallLine(None, ""),), "Gemini")
    threads = [
        BrokenThread("support-42", "", "1f1e", "failed", WHEN, (unanswered, late)),
        BrokenThread("a thread\twith a tab " * 4, "", "1f1f", None, None, (nameless,)),
    ]
    golden.check("repair/listed", view_of(threads, 30_000))
    left = "tools is due, and may answer the calls"
    asked = [
        BrokenThread("due", "", "1f1e", "unfinished", WHEN, (unanswered,), left_alone=left),
        BrokenThread("t", "", "1f1f", "done", WHEN, (late,), mend="1 result moved in messages"),
    ]
    planned = view_of(asked, 2)
    planned.unreadable, planned.problem, planned.option = 1, "messages: truncated @ $[2]", "--answer"
    golden.check("repair/planned", planned)
    planned.lists_all = True
    golden.check("repair/all", planned)
    golden.check("repair/none", view_of([], 1))
    named = [one._replace(name="look_up_the_order_of_a_customer") for one in calls]
    ids = ["183427b6-5514-4227-b759-3f2e1d0c9b8a", "283427b6-5514-4227-b759-3f2e1d0c9b8a"]
    partly = unanswered._replace(kind="partly answered", calls=tuple(named))
    golden.check("repair/ids", view_of([BrokenThread(one, "", "1", "failed", WHEN, (partly,)) for one in ids], 163))


def view_of(threads: list[BrokenThread], searched: int) -> RepairView:
    """The view with these threads."""
    view = RepairView("tool-calls", searched=searched)
    for one in threads:
        view.add(one)
    return view
