"""The nodes of tasks without paths that a question, or the error handler that ran, shows.

Neither depends on what triggered the node. A question's id is a hash over the namespace of the task that asked,
``node:task id`` (langgraph 0.6 and newer), and the id of an error handler's task is one over the failed task's. So each
fits one node, and no call of a ``@task``. The namespace of a subgraph with its own memory is the node that calls it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ckpt_cli.history.state.channels import ERROR_SOURCE, INTERRUPT
from ckpt_cli.history.tasks.answers import count_answers, takes_answer
from ckpt_cli.history.tasks.error_handlers import Handler
from ckpt_cli.history.tasks.nesting import path
from ckpt_cli.history.tasks.task_ids import Place, question_ids
from ckpt_cli.values.langgraph_values import interrupts
from ckpt_cli.values.state import TaskWrite


def marked_nodes(
    tasks: Mapping[str, Sequence[TaskWrite]],
    handlers: Mapping[str, Handler],
    place: Place,
    nodes: Collection[str],
    memory: Callable[[str], Iterable[TaskWrite]],
) -> dict[str, str]:
    """Task id to its node, for those of these tasks that show it.

    Args:
        tasks: the writes of tasks, by task id.
        handlers: the recorded tasks of error handlers.
        place: where the tasks start.
        nodes: the nodes that may have asked.
        memory: gives the writes on the newest checkpoint of a namespace, [] if there is none.
    """
    handled = {handler.failed for handler in handlers.values()}
    found = {task_id: _asking_node(task_id, own, place, nodes, memory) for task_id, own in tasks.items()}
    found |= {task_id: _failed_node(own) for task_id, own in tasks.items() if task_id in handled}
    return {task_id: node for task_id, node in found.items() if node is not None}


def _asking_node(
    task_id: str,
    own: Sequence[TaskWrite],
    place: Place,
    nodes: Collection[str],
    memory: Callable[[str], Iterable[TaskWrite]],
) -> str | None:
    asked = _asked(own)
    if not asked:
        return None
    count = count_answers(own)
    possible = ((node, question_ids(f"{place.inside(node)}:{task_id}", count)) for node in nodes)
    asking = next((node for node, ids in possible if not asked.isdisjoint(ids)), None)
    return asking or next((node for node in nodes if asked & _asked(memory(path(place.inside(node))))), None)


def _asked(writes: Iterable[TaskWrite]) -> set[str]:
    questions = (one for w in writes if w.channel == INTERRUPT and w.read for one in interrupts(w.value))
    return {one.id for one in questions if one.id is not None and takes_answer(one.id)}


def _failed_node(own: Sequence[TaskWrite]) -> str | None:
    source = next((write.value for write in own if write.channel == ERROR_SOURCE and write.read), None)
    return source if isinstance(source, str) else None
