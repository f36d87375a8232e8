"""AgentCore's databases satisfy the contract of savers, except writing and the indexes of writes."""

from collections.abc import Iterable, Iterator

import pytest

from ckpt_cli.conformance import Conformance, Make
from ckpt_cli.errors import NotSupported
from ckpt_cli.model import NULL_TASK, Checkpoint, Write
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.valkey import open_url
from tests.savers.valkey.agentcore import fill
from tests.servers.redis import Server


class TestAgentCore(Conformance):
    """Keys as the saver writes them."""

    @pytest.fixture
    def make(self, valkey_server: Server) -> Iterator[Make]:
        """The same database each time, emptied."""
        opened: list[Saver] = []

        def make(records: Iterable[Checkpoint | Write]) -> Saver:
            url = valkey_server.empty()
            fill(valkey_server, records)
            opened.append(open_url(url))
            return opened[-1]

        yield make
        for saver in opened:
            saver.close()

    def test_abilities(self, make: Make) -> None:
        """It stores parents and task paths, and is never written."""
        assert make([]).abilities == {Ability.BRANCHES, Ability.TASK_PATHS}

    def test_writes_in_canonical_order(self, make: Make) -> None:
        """Writes are sorted by checkpoint, path and task; a task's special writes come first, others as they were put.

        Of a channel with a fixed place the last that was put has it, and those before it stand before it.
        """
        pull, push = "~__pregel_pull, a", "~__pregel_push, 0000000001, 0000000000"
        resumed, asked, failed = "__resume__", "__interrupt__", "__error__"
        put = [
            (push, "a", "x", 0),
            (pull, "b", asked, -7),
            (pull, "b", "x", 0),
            (pull, "b", resumed, -4),
            (pull, "b", "x", 1),
            (pull, "b", asked, -3),
            (pull, "b", failed, -1),
            ("", NULL_TASK, resumed, -8),
            ("", NULL_TASK, resumed, -4),
        ]
        writes = [self.write("t", "1", task, path=path, channel=channel) for path, task, channel, _ in put]
        saver = make([self.checkpoint("t", "1"), *writes])
        read = [(w.task_path, w.task_id, w.channel, w.idx) for w in saver.writes("t")]
        assert read == sorted(put, key=lambda one: (one[0], one[1], one[3]))

    def test_writes_of_some_checkpoints(self, make: Make) -> None:
        """As elsewhere; a checkpoint in the namespace is needed to know the start of its keys."""
        super().test_writes_of_some_checkpoints(lambda records: make([*records, self.checkpoint("t", "0", ns="s")]))

    def test_rows_of_a_plan(self, make: Make) -> None:
        """A plan is never expanded."""
        with pytest.raises(NotSupported, match="AgentCore"):
            make([]).must_be_writable(trying=False)
