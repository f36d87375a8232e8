"""Graphs whose own functions record which ways their runs take: the other party for what ckpt reads from a database."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

Way = tuple[str, str | None, str, str, str]
"""The path of the graph, source, target, kind, and by whom."""


class Traced:
    """A StateGraph that counts, while it runs, the ways that are taken and what became of its nodes.

    Ways are counted where they are decided: when a node returns, for its plain edges, joins and gotos; when the
    function of a conditional edge returns, for that edge. Nothing is read from a checkpoint.
    """

    def __init__(self, schema: type, path: str = "") -> None:
        self.builder: Any = StateGraph(schema)
        self.path = path
        self.ways: Counter[Way] = Counter()
        self.runs: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._routed = set[str]()
        self._by = "task"
        self._lock = Lock()

    def node(self, name: str, function: Callable[[Any], Any], **options: Any) -> None:
        """Add a node that counts its runs and the ways from it."""

        def run(state: Any) -> Any:
            try:
                result = function(state)
            except GraphInterrupt:
                self._count(self.asked, name)
                raise
            except Exception:
                self._count(self.failed, name)
                raise
            self._count(self.runs, name)
            self._leave(name, result)
            return result

        self.builder.add_node(name, run, **options)

    def edge(self, source: str | list[str], target: str) -> None:
        """Add an edge, or one that waits for several nodes."""
        self.builder.add_edge(source, target)

    def route(self, source: str, function: Callable[[Any], Any], ways: list[str]) -> None:
        """Add a conditional edge."""
        self._routed.add(source)

        def choose(state: Any) -> Any:
            chosen = function(state)
            for one in chosen if isinstance(chosen, list) else [chosen]:
                self._go(source, one, is_only=one == END)
            return chosen

        self.builder.add_conditional_edges(source, choose, ways)

    def start(self) -> None:
        """Count the ways from the start: a run begins with an input."""
        self._leave(START, None)

    @contextmanager
    def updating(self) -> Iterator[None]:
        """What is decided inside is decided by ``update_state``; the update doesn't run the node."""
        self._by = "update"
        try:
            yield
        finally:
            self._by = "task"

    def updated_as(self, name: str) -> None:
        """Count the plain edges and joins of the node that an update named."""
        with self.updating():
            self._leave(name, None)

    def _leave(self, name: str, result: Any) -> None:
        edges = [target for source, target in self.builder.edges if source == name and target != END]
        joins = [target for sources, target in self.builder.waiting_edges if name in sources]
        gotos: list[Any] = []
        if isinstance(result, Command) and result.goto != ():
            gotos = result.goto if isinstance(result.goto, list | tuple) else [result.goto]
        for target in [*edges, *gotos]:
            self._go(name, target)
        for target in joins:
            self._go(name, target, kind="join")
        if not edges and not joins and name not in self._routed and all(one == END for one in gotos):
            self._go(name, END, is_only=True)

    def _go(self, source: str, to: Any, kind: str = "edge", *, is_only: bool = False) -> None:
        if to == END and (not is_only or self._by == "update"):
            return  # nothing but an end that is the only way shows in a database
        if isinstance(to, Send):
            to, kind = to.node, "send"
        self._count(self.ways, (self.path, None if self._by == "update" else source, to, kind, self._by))

    def _count(self, counter: Counter[Any], key: Any) -> None:
        with self._lock:
            counter[key] += 1
