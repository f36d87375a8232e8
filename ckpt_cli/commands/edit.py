"""``ckpt edit``: changes a state directly, without reducers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_task
from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.state.editing import Edit, apply_edits, apply_edits_to_argument, apply_patch_to_state
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Plan
from ckpt_cli.parameters.edits import parse_edits
from ckpt_cli.parameters.json_input import file_or_stdin, is_file, parse_json_input
from ckpt_cli.parameters.metadata_option import MetadataOption, metadata_changes
from ckpt_cli.parameters.options import Ns, OptionalRev
from ckpt_cli.parameters.selector import SelectorOptions
from ckpt_cli.parameters.target import EVERY_THREAD, ONE_THREAD, ManyOptions, OneThread, Target, parse_target
from ckpt_cli.parameters.values_from import ValuesFrom, ValuesOfThreads
from ckpt_cli.plans import edit as plans
from ckpt_cli.plans.metadata import MetadataChanges
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.reruns import must_run_once
from ckpt_cli.queries.thread_plans import change_target
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.difference import Difference
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsontext import parse as parse_json
from ckpt_cli.values.node import Node
from ckpt_cli.values.state import ChannelValues
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView

_TYPES_IN_WORDS: dict[type | tuple[type, ...], str] = {
    bool: "true or false",
    (int, float): "a number",
    str: "text",
    bytes: "bytes",
    (list, tuple): "a list",
    dict: "an object",
}


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
_Rerun = Annotated[bool, typer.Option("--rerun", help="Allow tasks that finished in this step to run again.")]


ChangeState = Callable[[ChannelValues], ChannelValues]
"""Makes the new state out of the old one."""
_Edited = tuple[Plan | None, Sequence[Difference]]
"""The plan of an edit, and how it changes the state; no plan if it changes nothing."""


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
    rerun: _Rerun = False,
    create: Annotated[bool, typer.Option("--create", help="Allow channels that the thread never had.")] = False,
    metadata: MetadataOption = None,
    values_from: ValuesFrom = None,
    selector: SelectorOptions = EVERY_THREAD,
    many: ManyOptions = ONE_THREAD,
    ns: Ns = "",
) -> PlanView | BulkView:
    """Edit the state of a checkpoint directly, without reducers: the result is a new child with the same next nodes.

    Unless an option says what to edit, the state opens as JSON in $VISUAL or $EDITOR. Objects keep their class
    ("$type"); secrets are masked and stay as they are. Everything that isn't edited is copied byte for byte.

    --task edits the argument of a task that a Send started, or an entrypoint's input: paths are then inside it. What
    its siblings have finished or asked is kept. Calls of @task functions are kept with --keep-task.
    A patch is applied first, then --set, --append and --unset in this order. Paths are written as in `ckpt get`.
    Without THREAD, the options choose many threads, each edited in a transaction of its own.

    Examples:
      ckpt edit support-42 --set 'messages[-1].content="Refunded."'
      ckpt edit support-42 step:3 --unset 'files["draft.md"]'
      ckpt edit support-42 --append 'log={"by": "me"}' --metadata user_id=u-7 --dry-run
      ckpt edit --match 'support-*' --status failed --set 'retries=0' --skip-refused
      ckpt edit fan-1 --task 'summarise[3]' --set 'doc="good"'
      ckpt edit flow-1 --task flow --argument '{"n": 2}' --keep-task load
      ckpt edit support-41 --patch '[{"op": "remove", "path": "/draft"}]'
    """
    edits, changes = parse_edits(set_ or (), append or (), unset or ()), metadata_changes(metadata)
    target = parse_target(session, (thread, rev), selector, many, ns=ns, default="@", are_named=bool(values_from))
    _must_fit_task(task, values_from, argument, keep_task)
    if task is not None:
        made = _correction(argument, edits, patch), keep_task or (), rerun, changes
        return _apply(session, target, partial(_correct, session, task, *made))
    make = _EditMaker(session, rerun=rerun, create=create, changes=changes)
    if values_from is not None:
        return _edit_each(session, target, make, ValuesOfThreads(values_from), _state_change(edits, patch))
    if not edits and patch is None and not metadata:
        return _edit_by_hand(session, target, make)
    return _apply(session, target, partial(make.planned, apply_changes=_state_change(edits, patch)))


def _must_fit_task(
    task: str | None, values_from: str | None, argument: str | None, keep_task: Sequence[str] | None
) -> None:
    if task is None and (argument is not None or keep_task):
        raise UsageError("--argument and --keep-task belong to --task TASK")
    if task is not None and values_from is not None:
        raise UsageError("--values-from has channels of the state, and --task edits an argument")


def _edit_by_hand(session: Session, target: Target, make: "_EditMaker") -> PlanView:
    """Edit the state of one thread in the person's editor."""
    if target.chosen is not None:
        raise UsageError("nothing to edit: an editor is for one THREAD", hint="--set, --values-from and the like")
    from ckpt_cli.parameters.draft import edit_in_editor

    return edit_in_editor(session, make, target.thread, target.rev, target.ns)


def _edit_each(
    session: Session, target: Target, make: "_EditMaker", of_threads: ValuesOfThreads, also: ChangeState
) -> PlanView | BulkView:
    """Set the channels that a file has for each thread, and then edit all in the same way."""

    def planned(reader: Reader, row: CheckpointRow) -> _Edited:
        return make.planned(reader, row, lambda state: also({**state, **of_threads[row.thread_id]}))

    return _apply(session, of_threads.target(target), planned)


def _apply(session: Session, target: Target, make: "Callable[[Reader, CheckpointRow], _Edited]") -> PlanView | BulkView:
    """Apply an edit to one thread, whose view shows what changes, or to many."""
    if target.chosen is None:
        plan, changes = session.make_plan(lambda r: make(r, r.resolve(target.thread, target.rev, target.ns)))
        return _nothing() if plan is None else session.change(plan, changes)

    def plan_one(reader: Reader, row: CheckpointRow) -> Plan:
        plan, _ = make(reader, row)
        if plan is None:
            raise Refused("it changes nothing")
        return plan

    return change_target(session, "edit", target, plan_one)


def _nothing() -> PlanView:
    return PlanView("edit", "changes nothing")


def _state_change(edits: Sequence[Edit], patch: str | None) -> Callable[[ChannelValues], ChannelValues]:
    """Makes the new state out of the old one: the patch is applied first."""
    operations = None if patch is None else _read_patch(patch)
    return lambda state: apply_edits(state if operations is None else apply_patch_to_state(state, operations), edits)


def _correction(argument: str | None, edits: Sequence[Edit], patch: str | None) -> Callable[[Any], Any]:
    """Makes the new argument of a task out of the old one."""
    if patch is not None or (argument is None) == (not edits):
        raise UsageError("--task needs either --set, --append and --unset, or --argument JSON")
    if argument is None:
        return lambda given: apply_edits_to_argument(given, edits)
    whole = from_json(parse_json_input(argument, "the argument"))
    return lambda _: whole


def _correct(
    session: Session,
    task: str,
    correct: Callable[[Any], Any],
    keep: Sequence[str],
    rerun: bool,
    changes: MetadataChanges,
    reader: Reader,
    row: CheckpointRow,
) -> _Edited:
    """Plan another argument for a task."""
    from ckpt_cli.plans import edit_argument

    argument = edit_argument.find_argument(reader, row, task)
    value = correct(argument.value)
    shown = differences({"argument": argument.value}, {"argument": value})
    if not shown:
        return None, ()
    mint = Mint(session.clock)
    plan = edit_argument.plan(reader, row, argument, value, mint, rerun=rerun, keep=keep, changes=changes)
    return plan, shown


class _EditMaker:
    """Plans an edit inside a consistent read, and applies the plan after the read."""

    def __init__(self, session: Session, *, rerun: bool, create: bool, changes: MetadataChanges) -> None:
        self._session = session
        self._rerun = rerun
        self._create = create
        self._changes = changes

    def plan(
        self, reader: Reader, row: CheckpointRow, apply_changes: Callable[[ChannelValues], ChannelValues]
    ) -> Callable[[], PlanView]:
        """Plan the edit. The returned function applies the plan; if the edit changes nothing, its view says so."""
        plan, changes = self.planned(reader, row, apply_changes)
        return _nothing if plan is None else lambda: self._session.change(plan, changes)

    def planned(
        self, reader: Reader, row: CheckpointRow, apply_changes: Callable[[ChannelValues], ChannelValues]
    ) -> _Edited:
        """The plan of the edit, and how it changes the state; no plan if the edit changes nothing."""
        before = Inspection(reader, row.ref).values()
        after = apply_changes(before)
        changes = differences(before, after)
        if not changes and not self._changes.has_effect_on(reader.state(row.ref).metadata):
            return None, ()
        mint = Mint(self._session.clock)
        plan = plans.plan(reader, row, after, mint, rerun=self._rerun, create=self._create, changes=self._changes)
        return plan._replace(notes=(*plan.notes, *_type_changes(changes))), changes

    def check_allowed(self, reader: Reader, row: CheckpointRow) -> None:
        """Refuse before the user starts to edit, if `plan` would refuse the edit afterwards."""
        must_run_once(reader, Inspection(reader, row.ref).snapshot(), row, rerun=self._rerun)


def _type_changes(changes: Iterable[Difference]) -> Iterator[str]:
    """A line about each value whose type changes; the graph may not expect the new type."""
    for difference in changes:
        yield from _type_changes(difference.parts)
        old_type, new_type = _type_in_words(difference.before), _type_in_words(difference.after)
        if difference.parts or old_type == new_type or None in (old_type, new_type):
            continue
        if isinstance(difference.before, Node) and not isinstance(difference.after, Node):
            path, name = difference.path, difference.before.type
            yield f'{path} was a {name} and is plain JSON now: {{"$type": …}} keeps a class'
        else:
            yield f"{difference.path} was {old_type} and is {new_type} now"


def _type_in_words(value: Any) -> str | None:
    """The type of a value in words; None for null."""
    if isinstance(value, Node):
        return f"a {value.type}"
    return next((words for kinds, words in _TYPES_IN_WORDS.items() if isinstance(value, kinds)), None)


def _read_patch(name: str) -> Any:
    """The operations of a patch. `name` is a file, ``-`` for stdin, or the JSON itself if no file has that name."""
    inline = name.lstrip()[:1] in ("[", "{") and not is_file(name)
    data = parse_json(name if inline else file_or_stdin(name), "the patch")
    return data["patch"] if isinstance(data, dict) and isinstance(data.get("patch"), list) else data
