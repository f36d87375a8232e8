"""``ckpt writes``: what each task wrote."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.commands.writes import writes
from tests import golden
from tests.commands.asking import at

Database = Callable[[str], Path]

LOOKS = {
    "interrupts": ("real", "interrupt-multi", {}),
    "error": ("real", "error-sibling", {"full": True}),
    "sends": ("real", "mapreduce", {"rev": "step:0"}),
    "resumed": ("real", "interrupt-resumed", {"rev": "@^"}),
    "functional": ("real", "functional", {}),
    "history": ("real", "chat-linear", {"rev": "step:2"}),
    "none": ("real", "mapreduce", {}),
    "js": ("js", "js-chat", {"rev": "^"}),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name: str, database: Database) -> None:
    """Results, errors, interrupts, answers, Sends and calls on every kind of output."""
    source, thread, options = LOOKS[name]
    golden.check(f"writes/{name}", at(database(source), writes, thread, **options))


@pytest.mark.parametrize("source", ["real", "legacy/py-0.5.4", "legacy/py-0.6.11", "legacy/py-1.2.22"])
def test_nodes_are_named_with_and_without_task_paths(source: str, database: Database) -> None:
    """Without that column the nodes are the same: they are found by the task ids."""
    thread = "chat-linear" if source == "real" else "chat"
    view = at(database(source), writes, thread, "step:0")
    assert [task.node for task in view.tasks] == ["model" if source == "real" else "agent"]
    assert view.consumed


def test_every_question_has_the_id_that_answers_it(database: Database) -> None:
    """Two tasks wait with a question each; the third is finished."""
    view = at(database("real"), writes, "interrupt-multi")
    asked = {task.node: [q.id for w in task.writes for q in w.interrupts] for task in view.tasks}
    assert {task.node: task.status for task in view.tasks} == {
        "fine": "finished",
        "legal": "waiting",
        "review": "waiting",
    }
    assert (len(asked["legal"]), len(asked["review"]), asked["fine"]) == (1, 1, [])


def test_a_send_names_the_node_it_calls(database: Database) -> None:
    """And its argument is the value."""
    view = at(database("real"), writes, "mapreduce", "step:0")
    sent = [write for task in view.tasks for write in task.writes if write.kind == "send"]
    assert [(write.to, write.value) for write in sent] == [("work", {"i": n, "tag": f"t{n}"}) for n in range(12)]


def test_sent_tasks_are_named(database: Database) -> None:
    """A node that only Sends start is named, also while its task waits."""
    view = at(database("real"), writes, "mapreduce-interrupted")
    assert {task.node for task in view.tasks} == {"work"}
