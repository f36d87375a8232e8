"""``ckpt edit``: changes a state directly, without reducers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_task
from ckpt_cli.errors import PathNotFound, UsageError
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.state.editing import Act, Edit, apply_edits, apply_edits_to_argument, apply_patch_to_state
from ckpt_cli.history.state.paths import parse
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow
from ckpt_cli.parameters.json_input import file_or_stdin, is_file, parse_json_input
from ckpt_cli.parameters.metadata_option import MetadataOption, metadata_changes
from ckpt_cli.parameters.options import Ns, Rev, Thread
from ckpt_cli.plans import edit as plans
from ckpt_cli.plans.metadata import MetadataChanges
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.reruns import must_run_once
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.difference import Difference
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsontext import parse as parse_json
from ckpt_cli.values.node import Node
from ckpt_cli.values.state import ChannelValues
from ckpt_cli.views.plan import PlanView

_JSON_HINT = "text needs quotes of its own: --set 'name=\"Ada\"'"

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
    thread: Thread,
    rev: Rev = "@",
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
    ns: Ns = "",
) -> PlanView:
    """Edit the state of a checkpoint directly, without reducers: the result is a new child with the same next nodes.

    Unless an option says what to edit, the state opens as JSON in $VISUAL or $EDITOR. Objects keep their class
    ("$type"); secrets are masked and stay as they are. Everything that isn't edited is copied byte for byte.

    --task edits the argument of a task that a Send started, or an entrypoint's input: paths are then inside it. What
    its siblings have finished or asked is kept. Calls of @task functions are kept with --keep-task.

    A patch is applied first, then --set, --append and --unset in this order. Paths are written as in `ckpt get`.

    Examples:
      ckpt edit support-42
      ckpt edit support-42 --set 'messages[-1].content="Refunded."'
      ckpt edit support-42 step:3 --unset 'files["draft.md"]'
      ckpt edit support-42 --append 'log={"by": "me"}' --metadata user_id=u-7 --dry-run
      ckpt edit fan-1 --task 'summarise[3]' --set 'doc="good"'
      ckpt edit flow-1 --task flow --argument '{"n": 2}' --keep-task load
      ckpt diff support-42 step:2 step:5 --query patch > patch.json
      ckpt edit support-41 --patch patch.json
    """
    edits, changes = _parse_edits(set_ or (), append or (), unset or ()), metadata_changes(metadata)
    if task is not None:
        made = _correction(argument, edits, patch, again=again), keep_task or (), rerun, changes, create
        return session.make_plan(partial(_correct, session, thread, rev, ns, task, *made))()
    if argument is not None or keep_task or again:
        raise UsageError("--argument, --keep-task and --again belong to --task TASK")
    make = _EditMaker(session, rerun=rerun, create=create, changes=changes)
    if not edits and patch is None and not metadata:
        from ckpt_cli.parameters.draft import edit_in_editor

        return edit_in_editor(session, make, thread, rev, ns)
    change = _state_change(edits, patch)
    return session.make_plan(lambda reader: make.plan(reader, reader.resolve(thread, rev, ns), change))()


def _parse_edits(set_: Iterable[str], append: Iterable[str], unset: Iterable[str]) -> list[Edit]:
    return [
        *(_parse_assignment(Act.SET, text) for text in set_),
        *(_parse_assignment(Act.APPEND, text) for text in append),
        *(Edit(Act.UNSET, tuple(parse(text))) for text in unset),
    ]


def _state_change(edits: Sequence[Edit], patch: str | None) -> Callable[[ChannelValues], ChannelValues]:
    """Makes the new state out of the old one: the patch is applied first."""
    operations = None if patch is None else _read_patch(patch)
    return lambda state: apply_edits(state if operations is None else apply_patch_to_state(state, operations), edits)


def _correction(
    argument: str | None, edits: Sequence[Edit], patch: str | None, *, again: bool
) -> Callable[[Any], Any] | None:
    """Makes the new argument of a task out of the old one; None if the task starts `again` with the old one."""
    if again:
        if edits or patch is not None or argument is not None:
            raise UsageError("--again starts the task with the argument that it has: leave out --again, or the edit")
        return None
    if patch is not None or (argument is None) == (not edits):
        hint = "--again starts the task anew with the argument that it has"
        raise UsageError("--task needs either --set, --append and --unset, or --argument JSON", hint=hint)
    if argument is None:
        return lambda given: apply_edits_to_argument(given, edits)
    whole = from_json(parse_json_input(argument, "the argument"))
    return lambda _: whole


def _correct(
    session: Session,
    thread: str,
    rev: str,
    ns: str,
    task: str,
    correct: Callable[[Any], Any] | None,
    keep: Sequence[str],
    rerun: bool,
    changes: MetadataChanges,
    create: bool,
    reader: Reader,
) -> Callable[[], PlanView]:
    """Plan another argument for a task, or its new start if `correct` is None; the returned function applies it."""
    from ckpt_cli.plans import edit_argument

    row = reader.resolve(thread, rev, ns)
    argument = edit_argument.find_argument(reader, row, task, again=correct is None)
    value = argument.value if correct is None else correct(argument.value)
    shown = differences({"argument": argument.value}, {"argument": value})
    if not shown and correct is not None:
        return lambda: PlanView("edit", "changes nothing; --again starts the task with the argument that it has")
    if not create:
        edit_argument.must_have_its_keys(argument, value)
    mint = Mint(session.clock)
    plan = edit_argument.plan(reader, row, argument, value, mint, rerun=rerun, keep=keep, changes=changes)
    plan = plan._replace(notes=(*plan.notes, *_type_changes(shown)))
    return lambda: session.change(plan, shown)


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
        before = Inspection(reader, row.ref).values()
        try:
            after = apply_changes(before)
        except PathNotFound as error:
            raise plans.explain_missing_path(reader, row, error) from error
        changes = differences(before, after)
        if not changes and not self._changes.has_effect_on(reader.state(row.ref).metadata):
            return lambda: PlanView("edit", "changes nothing")
        mint = Mint(self._session.clock)
        plan = plans.plan(reader, row, after, mint, rerun=self._rerun, create=self._create, changes=self._changes)
        plan = plan._replace(notes=(*plan.notes, *_type_changes(changes)))
        return lambda: self._session.change(plan, changes)

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


def _parse_assignment(act: Act, text: str) -> Edit:
    """The edit that ``PATH=JSON`` describes. The path ends at the first ``=`` that comes after a valid path."""
    problem = UsageError(f"{text!r} has no =", hint=f"--{act} PATH=JSON")
    equals = text.find("=")
    while equals >= 0:
        try:
            steps = parse(text[:equals])
        except UsageError as error:
            problem, equals = error, text.find("=", equals + 1)
            continue
        data = parse_json_input(text[equals + 1 :], f"the value of {text[:equals]}", hint=_JSON_HINT)
        try:
            return Edit(act, tuple(steps), from_json(data))
        except UsageError as error:
            raise UsageError(f"the value of {text[:equals]}: {error.message}", hint=error.hint) from error
    raise problem


def _read_patch(name: str) -> Any:
    """The operations of a patch. `name` is a file, ``-`` for stdin, or the JSON itself if no file has that name."""
    inline = name.lstrip()[:1] in ("[", "{") and not is_file(name)
    data = parse_json(name if inline else file_or_stdin(name), "the patch")
    return data["patch"] if isinstance(data, dict) and isinstance(data.get("patch"), list) else data
