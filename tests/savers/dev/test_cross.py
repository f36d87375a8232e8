"""Every kind of graph on a real `InMemorySaver` that stores its dicts in files: ckpt shows what the graph says."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from ckpt_cli.savers.contract import Saver
from tests.cross.backend import Backend, Fresh
from tests.cross.listing import Listing
from tests.cross.look import Look
from tests.savers.dev.storage import server, sync


class Synced(Backend):
    """A server's folder, which is written before each reading."""

    def saver(self) -> Saver:
        """The folder as ckpt opens it."""
        with self.official() as official:
            assert isinstance(official, InMemorySaver)
            sync(official)
        return super().saver()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fresh]:
    """A folder of its own each time."""
    with ExitStack() as stack:

        def make() -> Backend:
            folder = tmp_path_factory.mktemp("dev") / ".langgraph_api"
            running = stack.enter_context(server(folder))
            return Synced(str(folder), _always(running))

        yield make


def _always(running: InMemorySaver) -> Callable[[], nullcontext[InMemorySaver]]:
    return lambda: nullcontext(running)


class TestListing(Listing):
    """Counting and sorting threads."""


class TestLook(Look):
    """Everything that is shown."""
