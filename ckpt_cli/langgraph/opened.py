"""`Opened`: the open database that a `CkptSaver` shares with its clones, and who may write at once.

LangGraph clones a checkpointer when it compiles a graph whose state has classes of its own (checkpoint 4.3,
``base/__init__.py: with_allowlist``). If `setup` opens the database anew after that, the clones must follow.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import BoundedSemaphore, RLock

from ckpt_cli.langgraph.databases import agent_faults
from ckpt_cli.savers.agent_rows import AgentRows, TaskWrites
from ckpt_cli.savers.contract import Saver


class Opened:
    """An open database.

    Attributes:
        lock: makes calls run one by one.
        saver: the database.
        rows: stores and reads an agent's records.
        writing: what a thread must hold to store a record: the lock or, where several threads may, their number.
    """

    saver: Saver
    rows: AgentRows
    writing: AbstractContextManager[object]

    def __init__(self, check: Callable[[Saver], None], saver: Saver) -> None:
        self._check = check
        self.lock = RLock()
        self.use(saver)

    def use(self, saver: Saver) -> None:
        """Use another saver from now on; it is closed if `check` refuses it."""
        try:
            self._check(saver)
        except BaseException:
            saver.close()
            raise
        rows = saver.agent_rows()
        self.saver, self.rows = saver, rows
        self.writing = self.lock if rows.writers == 1 else BoundedSemaphore(rows.writers)

    def put_tasks(self, tasks: Sequence[TaskWrites]) -> None:
        """Store what tasks wrote; a task may have written nothing. See `AgentRows.put_tasks`."""
        if some := [task for task in tasks if task.writes]:
            with self.writing, agent_faults():
                self.rows.put_tasks(some)
