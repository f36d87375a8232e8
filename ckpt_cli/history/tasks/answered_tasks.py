"""A task that asked, with the stored answers that it has not taken yet."""

from ckpt_cli.history.tasks.answers import WaitingQuestions, failed_with_answer, is_answered
from ckpt_cli.history.tasks.task_status import Status, Task


def with_answers(task: Task, waiting: WaitingQuestions) -> Task:
    """A waiting task with its answers.

    Its status is ANSWERED if every question has an answer, and FAILED if the task, or a call that it made, took the
    answers and the task then ended with an error. Of several questions, those whose answers were taken so are left out.
    """
    ids = {i.id for i in task.interrupts if i.id} if task.status is Status.WAITING else set()
    if not ids:
        return task
    taken = {i: one.answers[-1:] for i in sorted(ids) if (one := waiting.taken(i)) is not None}
    if taken.keys() == ids:
        return task._replace(status=Status.ANSWERED if task.error is None else Status.FAILED, answered=taken)
    questions = {i: one for i in sorted(ids) if (one := waiting.find(i)) is not None}
    asked = questions.items() if task.error is not None else ()
    if left_behind := {i: one.answers[-1:] for i, one in asked if failed_with_answer(one, i, task, waiting)}:
        if left_behind.keys() == ids:
            return task._replace(status=Status.FAILED, answered=left_behind)
        task = task._replace(interrupts=[one for one in task.interrupts if one.id not in left_behind])
    answers = taken | {i: one.answers[-1:] for i, one in questions.items() if is_answered(one, i)}
    status = Status.ANSWERED if answers and answers.keys() == {i.id for i in task.interrupts} else task.status
    return task._replace(status=status, answered=answers) if answers else task
