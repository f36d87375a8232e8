"""`tree` shows that a message replaced one of the same id, in a turn's row and in few cells too."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from ckpt_cli.commands.tree import tree
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.output.text.changes import one
from ckpt_cli.views.steps import ChangeView
from tests.commands.asking import look


class _Chat(TypedDict):
    messages: Annotated[list[Any], add_messages]


def test_an_input_that_replaces_a_message_says_so(tmp_path: Path) -> None:
    """The second question has the id of the first, so the list doesn't grow by it; the third is a new one."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        graph = StateGraph(_Chat).add_node("agent", lambda _: {"messages": [AIMessage("one moment")]})
        graph.add_node("last", lambda _: {"messages": [AIMessage("here")]})
        graph.add_edge(START, "agent").add_edge("agent", "last").add_edge("last", END)
        app = graph.compile(checkpointer=saver)
        for text, message_id in (("a lamp?", "1"), ("a chair?", "1"), ("a table?", "2")):
            app.invoke({"messages": [HumanMessage(text, id=message_id)]}, {"configurable": {"thread_id": "t"}})
    view, _ = look(path, lambda session: tree(session, "t"))
    lines = [plain(line) for line in render(view, Page(80, 0))]
    assert [line for line in lines if "~1" in line] == [line for line in lines if "chair" in line]
    assert sum("chair" in line for line in lines) == 1


def test_the_number_of_replaced_messages_stays_where_little_fits() -> None:
    """The channel's name is cut before the number."""
    change = ChangeView("messages", "edited", 2, 0, [], None, {}, 0, edited=1)
    assert plain(one(change, 10)).endswith("~1 +2")
