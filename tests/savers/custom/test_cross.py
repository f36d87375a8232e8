"""Every kind of graph on checkpointers named by ``module:attribute``: ckpt shows what the graph says."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from itertools import count
from types import ModuleType
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.inspection import Inspection
from tests.cross.backend import Backend, Fresh
from tests.cross.listing import Listing
from tests.cross.look import Look, Run
from tests.graphs.building import on

MODULE = "tests_savers_custom_live"


class AsyncOnly(BaseCheckpointSaver[str]):
    """Async methods alone, over the official SQLite saver; graphs write with those of it."""

    def __init__(self, inner: SqliteSaver) -> None:
        super().__init__(serde=inner.serde)
        self.inner = inner

    async def aget_tuple(self, config: Any) -> Any:
        return self.inner.get_tuple(config)

    async def alist(self, config: Any, **words: Any) -> Any:
        for item in list(self.inner.list(config, **words)):
            yield item


@pytest.fixture(scope="module", params=["memory", "async"])
def fresh(request: pytest.FixtureRequest) -> Iterator[Fresh]:
    """A checkpointer of its own each time, as an attribute of a module."""
    live, numbers = ModuleType(MODULE), count()
    sys.modules[MODULE] = live
    with ExitStack() as stack:

        def make() -> Backend:
            name = f"saver_{next(numbers)}"
            if request.param == "memory":
                official: Any = InMemorySaver()
                setattr(live, name, official)
            else:
                official = stack.enter_context(SqliteSaver.from_conn_string(":memory:"))
                setattr(live, name, AsyncOnly(official))
            return Backend(f"{MODULE}:{name}", _always(official))

        yield make
    del sys.modules[MODULE]


def _always(saver: Any) -> Callable[[], nullcontext[Any]]:
    return lambda: nullcontext(saver)


class TestListing(Listing):
    """Counting and sorting threads."""


class TestLook(Look):
    """Everything that is shown; without task paths an entrypoint that never finished has no name."""

    def test_next_and_tasks(self, run: Run) -> None:
        """Tasks equal the graph's; where an entrypoint's name is unknown, everything else about them does."""
        if not functional(run):
            super().test_next_and_tasks(run)
            return
        for ref, state in run.states():
            tasks = Inspection(run.reader, ref).snapshot().tasks
            assert {task.id for task in tasks} == {task.id for task in state.tasks}
            assert {task.node for task in tasks} <= {None, *state.next}

    def test_heads(self, run: Run) -> None:
        """The next nodes and interrupts equal the graph's; an unknown name is shown as unknown, never a wrong one."""
        if not functional(run):
            super().test_heads(run)
            return
        for thread_id, graph in run.threads:
            now, head = graph.get_state(on(thread_id)), run.reader.head(thread_id).ref
            shot = Inspection(run.reader, head).snapshot()
            assert shot.next is None or sorted(shot.next) == sorted(now.next)
            assert [interrupt.id for interrupt in shot.interrupts] == [interrupt.id for interrupt in now.interrupts]


def functional(run: Run) -> bool:
    return run.threads[0][0] == "flow"
