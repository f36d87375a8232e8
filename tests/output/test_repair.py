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
    golden.check("repair/listed", RepairView("tool-calls", threads, 30_000))
    left = "tools is due, and may answer the calls"
    asked = [
        BrokenThread("due", "", "1f1e", "unfinished", WHEN, (unanswered,), left_alone=left),
        BrokenThread("t", "", "1f1f", "done", WHEN, (late,), mend="1 result moved in messages"),
    ]
    golden.check("repair/planned", RepairView("tool-calls", asked, 2, 1, "messages: truncated @ $[2]", "--answer"))
    golden.check("repair/none", RepairView("tool-calls", [], 1))
