"""Databases that take damage: a few threads of LangGraph's own savers, any part of which can be replaced."""

import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from hypothesis import strategies as st
from langchain_core.messages import HumanMessage

from tests.damage.stored import PLAIN
from tests.graphs.building import on
from tests.graphs.lines import asking, chat_graph, nested

COUNT = int(os.environ.get("CKPT_DAMAGED_ROWS", "3"))
"""How many damaged rows each kind of database is looked at with; hundreds were, once."""

MISSING = "<missing>"
"""In the place of a value: the field goes."""

ANY: st.SearchStrategy[Any] = st.one_of(st.just(MISSING), PLAIN)
"""What a field of JSON becomes."""


class Kind(ABC):
    """One kind of database.

    Attributes:
        url: what ``--db`` gets.
        written: ckpt writes to it, so that a damaged thread can be deleted.
        left: how many damaged rows are still to be looked at.
    """

    url: str
    left: int = COUNT
    written: ClassVar[bool] = True

    @abstractmethod
    def restore(self) -> None:
        """Make everything sound again."""

    @abstractmethod
    def harm(self, draw: Any) -> str:
        """Damage one row, and give the thread that it belongs to."""

    def close(self) -> None:  # noqa: B027 - only where something is open
        """Close everything that is open."""

    @abstractmethod
    def dump(self) -> Any:
        """All that is in it, byte for byte."""


def talk(saver: Any) -> None:
    """A chat with metadata of the application's, a question, and a question two subgraphs down."""
    chat_graph(saver).invoke({"messages": [HumanMessage("hello")], "topic": "x"}, on("chat", user="Åsa"))
    asking(saver).invoke({"log": []}, on("ask"))
    nested(saver, ask=True).invoke({"log": []}, on("sub"))


THREADS = ("chat", "ask", "sub")


def with_field(draw: Any, document: dict[str, Any], inner: str = "", *, most: int = 1) -> dict[str, Any]:
    """A document with some of its fields replaced; those of an object inside it count as its own."""
    names = [(name,) for name in document] + [
        (inner, name) for name in (document[inner] if isinstance(document.get(inner), dict) else ())
    ]
    changed = dict(document)
    for _ in range(draw(st.integers(1, most))):
        *above, name = draw(st.sampled_from(names))
        value = draw(ANY)
        whole = changed
        if above:
            if not isinstance(changed.get(inner), dict):
                continue
            whole = changed[inner] = dict(changed[inner])
        whole.pop(name, None)
        if value != MISSING:
            whole[name] = value
    return changed
