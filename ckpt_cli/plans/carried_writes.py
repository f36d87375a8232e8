"""Writes of a checkpoint's tasks, stored again for the same tasks of a child, which have other ids.

A task id is a hash over the checkpoint's id, not over arguments (langgraph 1.2 ``pregel/_algo.py:
prepare_single_task``). So the writes of a sibling are stored again under the id that its task has in the child, where
the library finds them. A subgraph's namespace contains the id of the task that called it, and the tasks inside hash
this namespace: a sibling that stopped in a subgraph starts again. The id of a ``@task`` call hashes the function's
name, which isn't stored, and the id of its caller.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ckpt_cli.errors import NotFound, NotSupported, Refused
from ckpt_cli.history.state.channels import INTERRUPT, RESUME, RETURN, START
from ckpt_cli.history.state.editing import Act, Edit, apply_edits
from ckpt_cli.history.tasks.answers import count_answers
from ckpt_cli.history.tasks.node_names import place
from ckpt_cli.history.tasks.pending_goto import with_goto
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task, snapshot
from ckpt_cli.history.tasks.task_ids import PUSH, pull_path, push_path, question_ids, split_call
from ckpt_cli.history.tasks.task_names import task_names
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK, Write
from ckpt_cli.plans.new_checkpoint import Origin
from ckpt_cli.plans.reruns import tasks_in_subgraphs
from ckpt_cli.plans.wording import describe_unfinished_again
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import command, ns_option
from ckpt_cli.values.langgraph_values import interrupts
from ckpt_cli.values.state import State, TaskWrite


@dataclass(frozen=True, slots=True)
class Carried:
    """Writes for a new checkpoint, and lines about them for the plan."""

    writes: tuple[Write, ...]
    notes: tuple[str, ...]


class Carrier:
    """Stores the writes of one checkpoint's tasks again, for the tasks of a child with the same tasks."""

    def __init__(self, reader: Reader, origin: Origin, tasks: Snapshot, changed: Task, child: State) -> None:
        self._reader = reader
        self._origin = origin
        self._tasks = tasks
        self._changed = changed
        self._others = [task for task in tasks.tasks if task is not changed]
        self._child = child
        self._by_task: dict[str, list[TaskWrite]] = {}
        for write in reader.writes(origin.ref):
            self._by_task.setdefault(write.task_id, []).append(write)

    def carry(self, keep: Sequence[str], *, rerun: bool, is_same: bool) -> Carried:
        """The writes of the siblings, and of the calls whose names are in `keep`; `is_same` is that of the argument."""
        started = self._started(rerun=rerun)
        ids = {task.id for task in started}
        siblings = [task for task in self._others if task.writes and task.id not in ids]
        self._must_have_ids(siblings)
        kept_calls, dropped = self._calls(keep, siblings)
        if dropped and not rerun:
            raise Refused(
                f"{_calls(len(dropped))} of @task functions finished there; the new checkpoint would not have "
                f"{_results(len(dropped))}, as names aren't stored",
                hint="--keep-task NAME keeps the results of a @task, --rerun drops them: the run makes its calls anew",
            )
        writes = [w for task in siblings for w in self._again(task, self._new_ids[task.id or ""])]
        for call in kept_calls.values():
            writes += [one.row._replace(checkpoint_id=self._id, task_id=call.new_id) for one in call.writes]
        writes += [
            w.row._replace(checkpoint_id=self._id)
            for w in self._by_task.get(NULL_TASK, ())
            if w.channel not in (RESUME, INTERRUPT)
        ]
        again = describe_unfinished_again(self._reader, self._origin.stored.row, self._tasks.only(started))
        return Carried(tuple(writes), (*self._notes(siblings, kept_calls, len(dropped), is_same=is_same), *again))

    @property
    def _id(self) -> str:
        return self._child.ref.checkpoint_id

    def _started(self, *, rerun: bool) -> list[Task]:
        """The siblings that stopped in a subgraph: they start again, if `rerun` allows it."""
        started = list(tasks_in_subgraphs(self._reader, self._others, self._origin.stored.row))
        if started and not rerun:
            raise Refused(
                f"{', '.join(task_names(started))} stopped in a subgraph; that belongs to the id of its task, which is "
                "another one in the new checkpoint",
                hint="--rerun lets it start again",
            )
        return started

    @cached_property
    def _new_ids(self) -> Mapping[str, str]:
        """The id of each task to the id that it has in the child; without those that can't be recomputed."""
        history = Inspection(self._reader, self._origin.ref).others
        goto = self._by_task.get(NULL_TASK, [])  # which is carried too
        before = snapshot(with_goto(self._origin.state, goto), (), history=history).tasks
        after = snapshot(with_goto(self._child, goto), (), history=history).tasks
        pairs = {b.id: a.id for b, a in zip(before, after, strict=True) if b.id and a.id}
        old, new, task = place(self._origin.state), place(self._child), self._changed
        if task.packet is None and task.node and old and new:
            pairs[next(old.pull(task.node, [START]))] = next(new.pull(task.node, [START]))
        return pairs

    def _must_have_ids(self, siblings: Sequence[Task]) -> None:
        if unknown := [task for task in siblings if task.id not in self._new_ids]:
            names = ", ".join(task_names(unknown))
            raise NotSupported(f"the task ids of {names} can't be recomputed; nothing was written")

    def _again(self, task: Task, new_id: str) -> Iterator[Write]:
        for write in self._by_task.get(task.id or "", ()):
            row = write.row._replace(checkpoint_id=self._id, task_id=new_id)
            yield row if write.channel != INTERRUPT else row._replace(payload=self._asked(write, task, new_id))

    def _asked(self, write: TaskWrite, task: Task, new_id: str) -> Any:
        """The question of a sibling, with the id that it has in the child: a hash over the task's namespace.

        Before langgraph 0.6 the namespace itself is stored.
        """
        ns = self._origin.ref.ns
        inside = f"{ns}|{task.node}" if ns else task.node
        edits, new_ids = list[Edit](), self._question_ids(task, inside, new_id)
        for at, one in enumerate(interrupts(write.value)):
            steps = ("asked", *([at] if isinstance(write.value, list | tuple) else []))
            if one.id in new_ids:
                edits.append(Edit(Act.SET, (*steps, "id"), new_ids[one.id]))
            if one.ns:
                parts = [part.replace(task.id or "", new_id) for part in one.ns]
                edits.append(Edit(Act.SET, (*steps, "ns"), parts))
        value = apply_edits({"asked": write.value}, edits)["asked"]
        payload = write.row.payload
        return self._reader.codec.encode(value, payload) if edits and payload is not None else payload

    def _question_ids(self, task: Task, inside: str | None, new_id: str) -> dict[str | None, str]:
        """The ids of a task's questions, each with the one that it has in the child."""
        count = count_answers(self._by_task.get(task.id or "", ()))
        old, new = (question_ids(f"{inside}:{task_id}", count) for task_id in (task.id, new_id))
        return dict(zip(old, new, strict=True))

    def _calls(self, keep: Sequence[str], siblings: Sequence[Task]) -> tuple[dict[str, "_Call"], list[str]]:
        """The calls to keep, by id, and the ids of the other finished calls of tasks that run again.

        Only the run shows which of those calls the new argument makes.
        """
        ended = [task.path for task in siblings if task.status is Status.FINISHED]
        callers = {path: task for task in self._tasks.tasks if (path := self._path(task))}
        kept: dict[str, _Call] = {}
        dropped = list[str]()
        for task_id, writes in sorted(self._by_task.items(), key=lambda item: len(item[1][0].row.task_path)):
            path = writes[0].row.task_path
            if not any(write.channel == RETURN for write in writes) or _is_inside(path, ended):
                continue
            call = self._named_call(task_id, path, callers, keep)
            if call is None:
                dropped.append(task_id)
            else:
                kept[task_id] = _Call(*call, writes)
                ended.append(path)
        names = dict.fromkeys(call.name for call in kept.values())
        if missing := [name for name in keep if name not in names]:
            what = f"no finished call of a @task {missing[0]!r} is stored there; nothing was written"
            raise NotFound(what, hint=self._other_calls(list(names), len(kept), len(dropped)))
        return kept, dropped

    def _other_calls(self, names: Sequence[str], kept: int, others: int) -> str:
        """Which finished calls there are instead, `kept` of them of these names; of the others no name is stored."""
        if not kept and not others:
            return "leave --keep-task out: no call of a @task has finished there"
        named = f"{_calls(kept)} of {', '.join(names)}"
        if not others:
            return f"leave it out: all that have finished there are {named}"
        ref, short = self._origin.ref, self._reader.short(self._origin.ref.thread_id)
        show = command("ckpt writes", ref.thread_id, short(ref.checkpoint_id), options=ns_option(ref.ns))
        left, them = f"{_calls(others)} of functions whose names aren't stored", "it" if others == 1 else "them"
        return (
            f"finished there: {f'{named}, and ' if kept else ''}{left}; `{show}` shows what "
            f"{'it' if others == 1 else 'they'} returned, --rerun lets the run make {them} anew"
        )

    def _path(self, task: Task) -> str:
        """The path of a task. One that was killed before it wrote has the path that its node or its Send gives it."""
        if task.path or task.node is None:
            return task.path
        return pull_path(task.node) if task.packet is None else push_path(self._sent.index(task))

    @cached_property
    def _sent(self) -> list[Task]:
        return [task for task in self._tasks.tasks if task.packet is not None]

    def _named_call(
        self, task_id: str, path: str, callers: Mapping[str, Task], keep: Sequence[str]
    ) -> tuple[str, str] | None:
        """The name of a call that is kept, and its id in the child; the id that is stored proves the name."""
        old, new = place(self._origin.state), place(self._child)
        if old is None or new is None:
            return None
        for task, caller_path, number in self._possible_calls(path, callers) if keep else ():
            caller, new_id = f"{task.node}:{task.id}", self._new_ids.get(task.id or "")
            for name in keep if new_id else ():
                if old.call(caller, name, caller_path, number) == task_id:
                    return name, new.call(f"{task.node}:{new_id}", name, caller_path, number)
        return None

    def _possible_calls(self, path: str, callers: Mapping[str, Task]) -> Iterator[tuple[Task, str, int]]:
        """The caller, its path and the number of a call; without stored paths, all that there may be."""
        parts = split_call(path)
        if parts is not None and parts[0] in callers:
            yield callers[parts[0]], *parts
        elif not path and self._changed.packet is None:
            for number in range(len(self._by_task)):
                yield self._changed, pull_path(self._changed.node or ""), number

    def _notes(
        self, siblings: Iterable[Task], calls: Mapping[str, "_Call"], dropped: int, *, is_same: bool
    ) -> Iterator[str]:
        failed = [t for t in siblings if t.status is Status.FAILED and t.id not in self._tasks.handlers]
        if carried := task_names((task for task in siblings if task not in failed), lambda task: str(task.status)):
            yield f"kept: {', '.join(carried)}"
        yield from _describe_handlers(self._tasks.handlers, siblings)
        if failed:
            yield f"{', '.join(task_names(failed))} failed and {'runs' if len(failed) == 1 else 'run'} again"
        if calls:
            names = ", ".join(dict.fromkeys(call.name for call in calls.values()))
            also = "" if is_same else ", also those computed from the old argument"
            yield f"kept: the results of {_calls(len(calls))} ({names}){also}"
        if dropped:
            yield f"dropped: {_results(dropped)} of {_calls(dropped)}; the run makes its calls anew"


def _describe_handlers(handlers: Mapping[str, Task], siblings: Iterable[Task]) -> Iterator[str]:
    """A line about each error handler of these tasks: in the child it has another id, and nothing it left counts."""
    for task in siblings:
        if (handler := handlers.get(task.id or "")) is None:
            continue
        name = "its error handler" if handler.node is None else f"its error handler {handler.node}"
        asks = ", and asks again" if handler.status in (Status.WAITING, Status.ANSWERED) else ""
        runs = "runs" if handler.status is Status.DUE else "starts again"
        yield f"{task_names([task])[0]} does not run: {name} {runs}{asks}"


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    new_id: str
    writes: list[TaskWrite]


def _is_inside(path: str, callers: Iterable[str]) -> bool:
    """Whether one of these tasks made the call with this path."""
    return any(caller and path.startswith(f"~{PUSH}, {caller}, ") for caller in callers)


def _results(count: int) -> str:
    return "the result" if count == 1 else "the results"


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
