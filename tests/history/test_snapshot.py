"""Snapshots: next, tasks, interrupts and status from channels and writes."""

from collections.abc import Sequence
from typing import Any

import pytest

from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.history.tasks.node_names import place
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, graph_of, snapshot
from ckpt_cli.history.tasks.task_ids import Place, update_ids
from ckpt_cli.values.state import State, TaskWrite
from tests.history.recorded import interrupted, sent, state, write

DUE = state(values={"branch:to:a": None, "branch:to:b": None})
"""Two nodes due."""


def task_id(node: str, at: State = DUE) -> str:
    """The id of a node's task."""
    where = place(at)
    assert isinstance(where, Place)
    return next(where.pull(node, [f"branch:to:{node}"]))


def shot_of(*writes: TaskWrite, at: State = DUE, **options: Any) -> Snapshot:
    """The snapshot with these writes."""
    return snapshot(at, writes, **options)


def statuses(shot: Snapshot) -> dict[str | None, str]:
    """Each task's status by node."""
    return {task.node: str(task.status) for task in shot.tasks}


def test_due_and_nothing_recorded() -> None:
    """Nodes that have not run are next, with the ids that their tasks will have."""
    shot = shot_of()
    assert (shot.next, shot.status, shot.complete) == (["a", "b"], Status.UNFINISHED, True)
    assert [task.id for task in shot.tasks] == [task_id("a"), task_id("b")]


@pytest.mark.parametrize(
    ("writes", "want", "status"),
    [
        ([("log", ["x"])], "finished", Status.UNFINISHED),
        ([("__no_writes__", None)], "finished", Status.UNFINISHED),
        ([("__error__", "ValueError('x')")], "failed", Status.FAILED),
        ([("__interrupt__", [interrupted("ok?")])], "waiting", Status.WAITING),
        ([("__interrupt__", [interrupted("ok?")]), ("__resume__", ["yes"])], "waiting", Status.WAITING),
        (
            [("__interrupt__", [interrupted("ok?")]), ("__resume__", ["yes"]), ("log", [])],
            "finished",
            Status.UNFINISHED,
        ),
        ([("__error__", "x"), ("__error_source_node__", "a")], "failed", Status.UNFINISHED),  # its handler is due
    ],
)
def test_status_of_a_task(writes: Sequence[tuple[str, Any]], want: str, status: Status) -> None:
    """A task has finished if and only if it left an output; otherwise it waits, has failed, or is due."""
    shot = shot_of(*(write(task_id("a"), *pair) for pair in writes))
    assert statuses(shot) == {"a": want, "b": "due"}
    assert shot.status == status
    assert shot.next == (["b"] if want == "finished" else ["a", "b"])


def test_all_finished_and_no_child_is_not_done() -> None:
    """Writes that have not become a checkpoint are lost work if nobody resumes."""
    shot = shot_of(write(task_id("a"), "log"), write(task_id("b"), "log"))
    assert (shot.next, shot.status) == ([], Status.UNFINISHED)
    assert shot_of(at=state(values={"log": []}, versions={"log": 3, "__start__": 2})).status == Status.DONE


def test_a_child_ends_all_waiting() -> None:
    """If a child continues the checkpoint, every task is given and none waits any more."""
    waits = write(task_id("a"), "__interrupt__", [interrupted("ok?")])
    shot = shot_of(waits, write(task_id("b"), "log"), consumed=True)
    assert (shot.next, shot.interrupts) == (["a", "b"], [])
    assert [i.value for i in shot_of(waits).interrupts] == ["ok?"]
    assert [i.value for i in shot.tasks[0].interrupts] == ["ok?"]


def test_path_names_a_task_whose_id_is_strange() -> None:
    """A recorded path counts more than a computed id: triggers that left no trace are part of the id."""
    shot = shot_of(write("strange", "log", path="~__pregel_pull, a"))
    assert (shot.tasks[0].id, shot.tasks[0].node) == ("strange", "a")


def test_recorded_id_is_found_by_a_neighbour() -> None:
    """If an id fits none of the triggers seen here, another checkpoint may show one more."""
    where = place(DUE)
    assert where is not None
    real = next(where.pull("a", ["branch:to:a", "join:x+y:a"]))
    other = state(5, versions={"join:x+y:a": 3})
    shot = shot_of(write(real, "log"), history=lambda: [other])
    assert statuses(shot) == {"a": "finished", "b": "due"}
    assert shot.tasks[0].id == real


def test_sends() -> None:
    """Each Send is a task of its own, matched by its index."""
    two_sends = state(values={"__pregel_tasks": [sent("w", 1), sent("w", 2)]})
    path = "~__pregel_push, 0000000001, 0000000000"
    shot = shot_of(write("second", "log", path=path), at=two_sends)
    assert [(task.node, task.status) for task in shot.tasks] == [("w", Status.DUE), ("w", Status.FINISHED)]
    assert shot.next == ["w"]


def test_updates_inputs_and_calls_are_no_tasks() -> None:
    """Writes of ``update_state``, of the null task and of a task's own calls belong to no due task."""
    where = place(DUE)
    assert where is not None
    null = "00000000-0000-0000-0000-000000000000"
    call = "~__pregel_push, ~__pregel_pull, a, 0000000000, 0000000001"
    updates = [write(task_id, "log") for task_id in sorted(update_ids(where.checkpoint_id))]
    shot = shot_of(*updates, write(null, "log"), write("c", "__return__", path=call))
    assert statuses(shot) == {"a": "due", "b": "due"}


def test_an_unknown_next_is_none() -> None:
    """In v 1 an end and a stop before a node that never ran look the same."""
    old = state(values={"a": "a"}, seen={"a": {"start:a": 1}}, v=1)
    shot = shot_of(at=old)
    assert (shot.next, shot.complete, shot.status) == (None, False, Status.UNKNOWN)
    assert shot_of(at=old, ended=lambda: True).next == []


def test_interrupt_names_a_node_that_never_ran() -> None:
    """An interrupt of 0.2.60 to 0.5 has its task's namespace, and the other tasks have finished."""
    old = state(values={"a": "a"}, seen={"a": {"start:a": 1}}, v=1)
    question = interrupted("ok?")
    question.state["ns"] = ["ask:t1"]
    shot = shot_of(write("t1", "__interrupt__", question), at=old)
    assert (shot.next, shot.status) == (["ask"], Status.WAITING)


def test_namespace_names_the_task_that_called_it() -> None:
    """A subgraph's namespace contains the id of the task that called it."""
    old = state(values={"a": "a"}, seen={"a": {"start:a": 1}}, v=1)
    shot = shot_of(write("t1", "__interrupt__", interrupted("?")), at=old, namespaces=lambda: ["", "child:t1|grand:t2"])
    assert shot.next == ["child"]


def test_entrypoint() -> None:
    """The functional API's own task is the one that is no call; its path names it."""
    fresh = state(-1, values={"__start__": 1}, source="input")
    call = write("c", "__return__", 4)
    waits = write("f", "__interrupt__", [interrupted("ok?")])
    shot = shot_of(call, waits, at=fresh)
    assert [(task.id, task.node, task.status) for task in shot.tasks] == [("f", None, Status.WAITING)]
    assert (shot.next, shot.complete) == (None, True)
    named = write("f", "__interrupt__", [interrupted("ok?")], path="~__pregel_pull, flow")
    assert shot_of(named, at=fresh).next == ["flow"]


def test_javascript_is_known_by_its_versions_and_sends() -> None:
    """MongoDB's versions are plain numbers too; only JavaScript's times end in Z, and its Sends are plain objects."""
    assert is_javascript(state(values={"__pregel_tasks": [{"node": "w"}]}, versions={"x": 3}))
    assert not is_javascript(state(values={"__pregel_tasks": []}, versions={"x": 3}))
    assert not is_javascript(state(values={}, versions={"x": 3}))
    assert not is_javascript(state(values={"__pregel_tasks": [sent("w")]}, versions={"x": 3}))
    assert is_javascript(state(versions={"__start__:a": 3}, v=1))


def test_graph_of() -> None:
    """Runs of one subgraph differ only in the ids of the tasks that called it."""
    assert graph_of("child:1-2|grand:3-4") == "child|grand" == graph_of("child|grand:5")
