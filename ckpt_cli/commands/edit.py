"""``ckpt edit``: changes a state directly, without reducers."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_task
from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.state.editing import (
    ARGUMENT,
    Edit,
    apply_edits,
    apply_edits_to_argument,
    apply_patch_to_argument,
    apply_patch_to_state,
)
from ckpt_cli.model import CheckpointRow, Plan
from ckpt_cli.parameters.edits import parse_edits
from ckpt_cli.parameters.json_input import file_or_stdin, is_file, parse_json_input
from ckpt_cli.parameters.metadata_option import MetadataOption, metadata_changes
from ckpt_cli.parameters.options import Ns, OptionalRev
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions
from ckpt_cli.parameters.target import ONE_THREAD, ManyOptions, OneThread, Target, parse_target
from ckpt_cli.parameters.values_from import ValuesFrom, ValuesOfThreads
from ckpt_cli.queries.edit_plans import ArgumentMaker, ChangeValues, Edited, EditMaker, nothing
from ckpt_cli.queries.thread_plans import change_target
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.jsontext import parse as parse_json
from ckpt_cli.values.loadable import read_typed
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView


def _option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, show_default=False, rich_help_panel="Edits")


_Set = Annotated[
    list[str] | None,
    _option("--set", "PATH=JSON", "Set the value at a path; @FILE reads it from a file. May be repeated."),
]
_Append = Annotated[list[str] | None, _option("--append", "PATH=JSON", "Append a value to a list; may be repeated.")]
_Unset = Annotated[list[str] | None, _option("--unset", "PATH", "Remove a value; may be repeated.")]
_Patch = Annotated[
    str | None,
    _option("--patch", "FILE", "Apply an RFC 6902 patch, as in diff --json: a file, - for stdin, or the JSON itself."),
]
_Task = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="Edit a task's argument, not the state: summarise[3], a node, the start of a task id.",
        autocompletion=complete_task,
        show_default=False,
        rich_help_panel="Edits",
    ),
]
_WholeArgument = Annotated[
    str | None, _option("--argument", "JSON", "With --task: the whole argument; @FILE reads it from a file.")
]
_KeepTask = Annotated[
    list[str] | None,
    _option("--keep-task", "NAME", "With --task: keep the finished calls of a @task function; may be repeated."),
]
_Again = Annotated[
    bool,
    typer.Option(
        "--again",
        help="With --task: start the task anew with the argument that it has; what it asked, it asks again.",
        rich_help_panel="Edits",
    ),
]
_Rerun = Annotated[bool, typer.Option("--rerun", help="Allow tasks that finished in this step to run again.")]
_Create = Annotated[
    bool, typer.Option("--create", help="Allow channels, or keys of an argument, that were never there.")
]


def edit(
    session: Session,
    thread: OneThread = None,
    rev: OptionalRev = None,
    set_: _Set = None,
    append: _Append = None,
    unset: _Unset = None,
    patch: _Patch = None,
    task: _Task = None,
    argument: _WholeArgument = None,
    keep_task: _KeepTask = None,
    again: _Again = False,
    rerun: _Rerun = False,
    create: _Create = False,
    metadata: MetadataOption = None,
    values_from: ValuesFrom = None,
    selector: SelectorOptions = NOTHING_TYPED,
    many: ManyOptions = ONE_THREAD,
    ns: Ns = "",
) -> PlanView | BulkView:
    """Edit the state of a checkpoint directly, without reducers: the result is a new child with the same next nodes.

    Unless an option says what to edit, the state, or with --task the argument, opens as JSON in $VISUAL or $EDITOR.
    Objects keep their class ("$type"); secrets are masked and stay as they are. The rest is copied byte for byte.

    --task edits the argument of a task that a Send started, or an entrypoint's input: paths are then inside it. What
    its siblings have finished or asked is kept. Calls of @task functions are kept with --keep-task.
    A patch is applied first, then --set, --append and --unset in this order. Paths are written as in `ckpt get`.
    Without THREAD, the options choose many threads, each edited in a transaction of its own.

    Examples:
      ckpt edit support-42 --set 'messages[-1].content="Refunded."'
      ckpt edit support-42 --append 'log={"by": "me"}' --metadata user_id=u-7 --dry-run
      ckpt edit --match 'support-*' --status failed --set 'retries=0' --skip-refused
      ckpt edit fan-1 --task 'summarise[3]' --set 'doc="good"'
      ckpt edit flow-1 --task flow --argument '{"n": 2}' --keep-task load
      ckpt edit support-41 --patch '[{"op": "remove", "path": "/draft"}]'
    """
    edits, changes = parse_edits(set_ or (), append or (), unset or ()), metadata_changes(metadata)
    target = parse_target(session, (thread, rev), selector, many, ns=ns, default="@", are_named=bool(values_from))
    _must_fit_task(task, values_from, argument is not None or bool(keep_task) or again)
    _must_be_alone(argument is not None or patch is not None or bool(edits), again=again)
    of_task = partial(ArgumentMaker, session, task or "", keep=keep_task or (), again=again)
    make = (partial(EditMaker, session) if task is None else of_task)(rerun=rerun, create=create, changes=changes)
    if values_from is not None:
        return _edit_each(session, target, make, ValuesOfThreads(values_from), _state_change(edits, patch))
    if not edits and patch is None and argument is None and not again and (task is not None or not metadata):
        return _edit_by_hand(session, target, make)
    change = _state_change(edits, patch) if task is None else _correction(argument, edits, patch)
    return _apply(session, target, partial(make.planned, apply_changes=change), make.unchanged)


def _must_fit_task(task: str | None, values_from: str | None, of_task: bool) -> None:
    if task is None and of_task:
        raise UsageError("--argument, --keep-task and --again belong to --task TASK")
    if task is not None and values_from is not None:
        raise UsageError("--values-from has channels of the state, and --task edits an argument")


def _must_be_alone(has_edits: bool, *, again: bool) -> None:
    if again and has_edits:
        raise UsageError("--again starts the task with the argument that it has: leave out --again, or the edit")


def _edit_by_hand(session: Session, target: Target, make: EditMaker) -> PlanView:
    """Edit the state of one thread in the person's editor."""
    if target.chosen is not None:
        raise UsageError("nothing to edit: an editor is for one THREAD", hint="--set, --values-from and the like")
    from ckpt_cli.parameters.draft import edit_in_editor

    return edit_in_editor(session, make, target.thread, target.rev, target.ns)


def _edit_each(
    session: Session, target: Target, make: EditMaker, of_threads: ValuesOfThreads, also: ChangeValues
) -> PlanView | BulkView:
    """Set the channels that a file has for each thread, and then edit all in the same way."""

    def planned(reader: Reader, row: CheckpointRow) -> Edited:
        return make.planned(reader, row, lambda state: also({**state, **of_threads[row.thread_id]}))

    return _apply(session, of_threads.target(target), planned, make.unchanged)


def _apply(
    session: Session, target: Target, make: Callable[[Reader, CheckpointRow], Edited], unchanged: str
) -> PlanView | BulkView:
    """Apply an edit to one thread, whose view shows what changes, or to many."""
    if target.chosen is None:
        plan, changes = session.make_plan(lambda r: make(r, r.resolve(target.thread, target.rev, target.ns)))
        return nothing(unchanged) if plan is None else session.change(plan, changes)

    def plan_one(reader: Reader, row: CheckpointRow) -> Plan:
        plan, _ = make(reader, row)
        if plan is None:
            raise Refused("it changes nothing")
        return plan

    return change_target(session, "edit", target, plan_one)


def _state_change(edits: Sequence[Edit], patch: str | None) -> ChangeValues:
    """Makes the new state out of the old one: the patch is applied first."""
    operations = None if patch is None else _read_patch(patch)
    return lambda state: apply_edits(state if operations is None else apply_patch_to_state(state, operations), edits)


def _correction(argument: str | None, edits: Sequence[Edit], patch: str | None) -> ChangeValues:
    """Makes the new argument of a task out of the old one: the patch is applied first."""
    if argument is None:  # also to start the task again with the argument that it has
        operations = None if patch is None else _read_patch(patch)
        return lambda given: apply_edits_to_argument(
            given if operations is None else apply_patch_to_argument(given, operations), edits
        )
    if edits or patch is not None:
        raise UsageError("--argument is the whole argument, so --set, --append, --unset and --patch don't go with it")
    whole = read_typed(parse_json_input(argument, "the argument"))
    return lambda _: {ARGUMENT: whole}


def _read_patch(name: str) -> Any:
    """The operations of a patch. `name` is a file, ``-`` for stdin, or the JSON itself if no file has that name."""
    inline = name.lstrip()[:1] in ("[", "{") and not is_file(name)
    data = parse_json(name if inline else file_or_stdin(name), "the patch")
    return data["patch"] if isinstance(data, dict) and isinstance(data.get("patch"), list) else data
