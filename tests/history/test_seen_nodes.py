"""The nodes of steps that left no writes, as ``versions_seen`` shows them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.commands.show import run as show_run
from ckpt_cli.history.tasks.seen_nodes import nodes_by_seen
from ckpt_cli.queries.checkpoint_list import LogRequest
from ckpt_cli.queries.checkpoint_list import run as log_run
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.databases import truth
from tests.history.recorded import sent, state


@pytest.mark.parametrize("name", ["legacy/py-0.0.38", "legacy/py-0.0.48"])
def test_every_step_of_langgraph_0_0_has_its_nodes(name: str, database: Callable[[str], Path]) -> None:
    """The nodes of a step are those that the library itself saw as next before it; `log` and `show` agree."""
    saver = open_file(database(name))
    reader = Reader(saver, Codec())
    for thread_id, spaces in truth(name)["threads"].items():
        known = {one["checkpoint_id"]: one for one in spaces[""]["checkpoints"]}
        for step in log_run(reader, thread_id, LogRequest(everything=True)).steps:
            older = (i for i in sorted(known, reverse=True) if i < step.checkpoint_id)
            before = known.get(known[step.checkpoint_id]["parent_checkpoint_id"] or next(older, ""), {})
            readable = "versions_seen" in known[step.checkpoint_id] and "state" in before
            if step.nodes == {"__start__": 1} or step.source in ("input", "update") or not readable:
                continue
            if known[step.checkpoint_id]["versions_seen"] == before["versions_seen"]:
                assert not step.nodes  # langgraph 0.0.38 recorded no source; this is an update
            else:
                assert sorted(step.nodes) == sorted(before["state"]["next"]), step.checkpoint_id
            assert show_run(reader, thread_id, step.checkpoint_id).nodes == step.nodes
    saver.close()


def test_a_single_checkpoint_shows_no_step(database: Callable[[str], Path]) -> None:
    """A row of langgraph 0.0.26 is all that it kept of a thread: which step made it isn't known."""
    saver = open_file(database("legacy/py-0.0.26"))
    reader = Reader(saver, Codec())
    threads = [thread.thread_id for thread in saver.threads()]
    assert [log_run(reader, thread, LogRequest()).steps[0].nodes for thread in threads] == [{}] * len(threads)
    saver.close()


START_SEEN = {"__start__": {"__start__": 1}}


def test_what_one_step_saw() -> None:
    """Nodes that saw the versions of the checkpoint before ran; anything else leaves them unknown."""
    before = state(1, versions={"__start__": 1, "a": 3, "x": 3}, seen={**START_SEEN, "b": {}}, v=1)
    after = state(2, versions={"__start__": 1, "a": 3, "x": 4, "b": 4}, seen={**START_SEEN, "b": {"a": 3}}, v=1)
    assert nodes_by_seen(after, before) == {"b": 1}
    several = state(2, versions={"a": 3, "b": 4}, seen={**START_SEEN, "b": {"a": 3}, "c": {"b": 4}}, v=1)
    assert nodes_by_seen(several, before) == {}  # c saw what b wrote: two steps
    assert nodes_by_seen(after, before._replace(sends=[sent("c")])) == {}  # the Send's task sees nothing
    assert nodes_by_seen(after, after) == {}


def test_an_input_discards_due_tasks() -> None:
    """They are marked as if they had run, but only ``__start__`` did (langgraph 0.0.38)."""
    before = state(1, versions={"__start__": 1, "a": 3}, seen={**START_SEEN, "b": {}}, v=1)
    after = state(
        2, versions={"__start__": 4, "a": 3, "x": 5}, seen={"__start__": {"__start__": 4}, "b": {"a": 3}}, v=1
    )
    assert nodes_by_seen(after, before) == {"__start__": 1}
    assert nodes_by_seen(state(0, versions={"__start__": 1}, seen=START_SEEN, v=1), None) == {"__start__": 1}
