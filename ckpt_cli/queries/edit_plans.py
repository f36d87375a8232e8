"""What `edit` plans for one checkpoint: another state, or another argument of a task."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ckpt_cli.errors import PathNotFound, UsageError
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.state.editing import ARGUMENT
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Plan
from ckpt_cli.plans import edit as plans
from ckpt_cli.plans.metadata import MetadataChanges
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.reruns import must_run_once
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.difference import Difference, DifferenceKind
from ckpt_cli.values.node import Node
from ckpt_cli.values.state import ChannelValues
from ckpt_cli.views.plan import PlanView

if TYPE_CHECKING:
    from ckpt_cli.plans.edit_argument import Argument

ChangeValues = Callable[[ChannelValues], ChannelValues]
"""Makes new values out of the old ones."""

Edited = tuple[Plan | None, Sequence[Difference]]
"""A plan, and what it changes; no plan if the edit changes nothing."""

_TYPES_IN_WORDS: dict[type | tuple[type, ...], str] = {
    bool: "true or false",
    (int, float): "a number",
    str: "text",
    bytes: "bytes",
    (list, tuple): "a list",
    dict: "an object",
}


class EditMaker:
    """Plans an edit inside a consistent read.

    Attributes:
        subject: what is edited, before the id of a checkpoint.
        unchanged: what an edit that changes nothing does.
    """

    subject = "the state of"
    unchanged = "changes nothing"

    def __init__(self, session: Session, *, rerun: bool, create: bool, changes: MetadataChanges) -> None:
        self._session = session
        self._rerun = rerun
        self._create = create
        self._changes = changes

    def values(self, reader: Reader, row: CheckpointRow) -> ChannelValues:
        """The user's channels; of a delta channel whose value isn't proven, its seed and writes."""
        return Inspection(reader, row.ref).values_to_store()

    def plan(self, reader: Reader, row: CheckpointRow, apply_changes: ChangeValues) -> Callable[[], PlanView]:
        """Plan the edit. The returned function applies the plan; if the edit changes nothing, its view says so."""
        plan, changes = self.planned(reader, row, apply_changes)
        return (lambda: nothing(self.unchanged)) if plan is None else lambda: self._session.change(plan, changes)

    def planned(self, reader: Reader, row: CheckpointRow, apply_changes: ChangeValues) -> Edited:
        """The plan of the edit, and how it changes the values."""
        before = self.values(reader, row)
        try:
            after = apply_changes(before)
        except PathNotFound as error:
            raise plans.explain_missing_path(reader, row, error) from error
        changes = differences(before, after)
        if not changes and not self._changes.has_effect_on(reader.state(row.ref).metadata):
            return None, ()
        mint = Mint(self._session.clock)
        plan = plans.plan(reader, row, after, mint, rerun=self._rerun, create=self._create, changes=self._changes)
        return plan._replace(notes=(*plan.notes, *_type_changes(changes))), changes

    def check_allowed(self, reader: Reader, row: CheckpointRow) -> None:
        """Refuse before the user starts to edit, if `plan` would refuse the edit afterwards."""
        must_run_once(reader, Inspection(reader, row.ref).snapshot(), row, rerun=self._rerun)


class ArgumentMaker(EditMaker):
    """Plans another argument for a task, or its new start with the old one. Its values have one item, the argument."""

    subject = "the argument of the task that starts at"
    unchanged = "changes nothing; --again starts the task with the argument that it has"

    def __init__(
        self,
        session: Session,
        task: str,
        *,
        keep: Sequence[str],
        rerun: bool,
        create: bool,
        again: bool,
        changes: MetadataChanges,
    ) -> None:
        super().__init__(session, rerun=rerun, create=create, changes=changes)
        self._task = task
        self._keep = keep
        self._again = again

    def values(self, reader: Reader, row: CheckpointRow) -> ChannelValues:
        """The argument as it is stored."""
        return {ARGUMENT: self._find(reader, row).value}

    def planned(self, reader: Reader, row: CheckpointRow, apply_changes: ChangeValues) -> Edited:
        """The plan of the new argument, and how it differs from the old one."""
        from ckpt_cli.plans.edit_argument import must_have_its_keys

        argument = self._find(reader, row)
        before = {ARGUMENT: argument.value}
        after = before if self._again else apply_changes(before)
        if after.keys() != before.keys():
            raise UsageError(f"the text must have one key, {ARGUMENT!r}")
        shown = differences(before, after)
        if not shown and not self._again:
            return None, ()
        if not self._create:
            must_have_its_keys(argument, after[ARGUMENT])
        plan = self._plan(reader, row, argument, after[ARGUMENT])
        return plan._replace(notes=(*plan.notes, *_type_changes(shown))), shown

    def check_allowed(self, reader: Reader, row: CheckpointRow) -> None:
        """Refuse before the user starts to edit, if `plan` would refuse another argument afterwards."""
        argument = self._find(reader, row)
        self._plan(reader, row, argument, argument.value)

    def _find(self, reader: Reader, row: CheckpointRow) -> "Argument":
        from ckpt_cli.plans.edit_argument import find_argument

        return find_argument(reader, row, self._task, again=self._again)

    def _plan(self, reader: Reader, row: CheckpointRow, argument: "Argument", value: Any) -> Plan:
        from ckpt_cli.plans import edit_argument

        options: dict[str, Any] = {"rerun": self._rerun, "keep": self._keep, "changes": self._changes}
        return edit_argument.plan(reader, row, argument, value, Mint(self._session.clock), **options)


def nothing(summary: str) -> PlanView:
    """The view of an edit that changes nothing."""
    return PlanView("edit", summary)


def _type_changes(changes: Iterable[Difference]) -> Iterator[str]:
    """A line about each value whose type changes; the graph may not expect the new type."""
    for difference in changes:
        yield from _type_changes([*difference.parts, *_replaced(difference)])
        old_type, new_type = _type_in_words(difference.before), _type_in_words(difference.after)
        if difference.parts or old_type == new_type or None in (old_type, new_type):
            continue
        if is_unproven(difference.before):  # its type isn't known
            continue
        if isinstance(difference.before, Node) and not isinstance(difference.after, Node):
            path, name = difference.path, difference.before.type
            yield f'{path} was a {name} and is plain JSON now: {{"$type": …}} keeps a class'
        else:
            yield f"{difference.path} was {old_type} and is {new_type} now"


def _replaced(difference: Difference) -> Iterator[Difference]:
    """The elements of a list in whose place another one is, if all others kept their places.

    They have too little in common to be one element that changed.
    """
    counts = difference.counts
    if counts is None or counts.removed != counts.added or counts.moved:
        return
    removed = {part.path: part for part in difference.parts if part.kind is DifferenceKind.REMOVED}
    for part in difference.parts:  # the members of a set have the set's own path
        if part.kind is DifferenceKind.ADDED and part.path in removed and part.path != difference.path:
            yield Difference(part.path, DifferenceKind.CHANGED, removed[part.path].before, part.after)


def _type_in_words(value: Any) -> str | None:
    """The type of a value in words; None for null."""
    if isinstance(value, Node):
        return f"a {value.type}"
    return next((words for kinds, words in _TYPES_IN_WORDS.items() if isinstance(value, kinds)), None)
