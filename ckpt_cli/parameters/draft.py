"""``edit`` without a value: the draft's JSON, errors shown in it, merging; its folder: `output/editor`.

After an error, the editor opens again. If the thread has changed in the meantime, the edits are merged into its new
state.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ckpt_cli.errors import CkptError, NotFound, Refused, UsageError
from ckpt_cli.history.diff.patch import patch
from ckpt_cli.history.diff.patch_application import apply_patch
from ckpt_cli.history.state.editing import merge_document
from ckpt_cli.model import CheckpointRow, Seen
from ckpt_cli.operations.apply import basis_of
from ckpt_cli.output.editor import Draft
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values import draft_masks
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.jsontext import parse
from ckpt_cli.values.same import same
from ckpt_cli.values.state import ChannelValues
from ckpt_cli.views.plan import PlanView

_SURROGATES = re.compile("[\ud800-\udfff]")


class EditMaker(Protocol):
    """Makes the plan for new values, those of a state or of a task's argument; see `commands.edit`."""

    subject: str
    """What is edited, before the id of its checkpoint."""

    def values(self, reader: Reader, row: CheckpointRow) -> ChannelValues:
        """The values to edit."""

    def plan(
        self, reader: Reader, row: CheckpointRow, apply_changes: Callable[[ChannelValues], ChannelValues]
    ) -> Callable[[], PlanView]:
        """Plan the edit, and return a function that applies the plan."""

    def check_allowed(self, reader: Reader, row: CheckpointRow) -> None:
        """Refuse a checkpoint that can't be edited."""


@dataclass(frozen=True, slots=True)
class _EditBase:
    """The checkpoint that is edited, and its state as JSON: complete (`whole`), and with secrets masked (`shown`)."""

    row: CheckpointRow
    seen: Seen
    whole: dict[str, Any]
    shown: dict[str, Any]
    hidden: draft_masks.Hidden


def edit_in_editor(session: Session, make: EditMaker, thread: str, rev: str, ns: str) -> PlanView:
    """Edit a checkpoint's state in an editor. No transaction is open while the editor is open.

    Raises:
        Refused: the user didn't confirm or gave up, or the thread has changed and the edits no longer fit. The file
            with the user's text is kept.
    """

    def read(reader: Reader) -> _EditBase:
        row = reader.resolve(thread, rev, ns)
        make.check_allowed(reader, row)
        return _read_base(reader, row, make.values(reader, row))

    base = session.make_plan(read)
    draft = Draft(_as_text(base.shown), re.sub(r"[^\w-]+", "-", thread)[:40])
    session.say(f"{make.subject} {base.row.checkpoint_id}; an empty file, or one left as it is, changes nothing")
    try:
        view = _Editing(session, make, read, draft, base).until_done()
    except BaseException:
        if draft.worth_keeping:
            session.say(f"what you wrote is kept in {draft.path}")
        else:
            draft.discard()
        raise
    draft.discard()
    return view


class _Editing:
    """The edits of one draft, until they are applied."""

    def __init__(
        self, session: Session, make: EditMaker, read: Callable[[Reader], _EditBase], draft: Draft, base: _EditBase
    ) -> None:
        self._session = session
        self._make = make
        self._read = read
        self._draft = draft
        self._base = base
        self._rebased = False

    def until_done(self) -> PlanView:
        """Open the editor, again and again, until its text can be applied."""
        problem, last = "", _as_text(self._base.shown)
        while True:
            text = self._draft.edit(problem)
            if text == last and problem and not self._rebased:
                raise Refused("given up: the text is as it was; nothing was written")
            last, self._rebased = text, False
            try:
                document = _parse_document(text)
            except UsageError as error:
                problem = _in_words(error)
                continue
            if document is None or same(document, self._base.shown):
                return PlanView("edit", "changes nothing")
            try:
                return self._apply(document)
            except (UsageError, NotFound) as error:
                problem = _in_words(error)
            except Refused as error:
                problem = self._rebase(document, error)

    def _apply(self, document: dict[str, Any]) -> PlanView:
        base = self._base
        after = draft_masks.fill(document, base.hidden)

        def plan(reader: Reader) -> Callable[[], PlanView]:
            current = self._read(reader)
            if current.row.ref != base.row.ref or current.seen != base.seen:
                raise Refused("the thread moved on while you edited")
            return self._make.plan(reader, base.row, lambda state: merge_document(state, base.whole, after))

        return self._session.read(plan)()

    def _rebase(self, document: dict[str, Any], error: Refused) -> str:
        """Merge the edits into the thread's new state, so that the user can check the result in the editor.

        Returns a text that says what happened, for the user.

        Raises:
            Refused: the thread hasn't changed, or the edits don't fit its new state.
        """
        base, current = self._base, self._session.read(self._read)
        if current.row.ref == base.row.ref and current.seen == base.seen:
            raise error
        try:
            merged = apply_patch(current.shown, list(patch(base.shown, document)))
        except CkptError as clash:
            what = f"the thread moved on while you edited, and your edits don't fit: {clash.message}"
            raise Refused(f"{what}; nothing was written") from clash
        self._base, self._rebased = current, True
        self._draft.write(_as_text(merged))
        place = f"{self._make.subject} {current.row.checkpoint_id}"
        return f"the thread moved on while you edited: your edits are now in {place}"


def _read_base(reader: Reader, row: CheckpointRow, values: ChannelValues) -> _EditBase:
    whole, shown = to_json(values, reveal=True), to_json(values)
    return _EditBase(row, basis_of(reader.saver, row.ref), whole, shown, draft_masks.number(shown, whole))


def _parse_document(text: str) -> dict[str, Any] | None:
    if not text.strip():
        return None
    data = parse(text, "the text")
    if not isinstance(data, dict):
        raise UsageError("the text must be a JSON object that contains channels")
    return data


def _as_text(document: Any) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _in_words(error: CkptError) -> str:
    return "\n".join(part for part in (error.message, *error.candidates, error.hint) if part)
