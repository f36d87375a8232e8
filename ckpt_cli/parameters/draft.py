"""Edits a state in the person's own editor: opens it again after an error, and merges if the thread moved on."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ckpt_cli.errors import CkptError, NotFound, Refused, UsageError
from ckpt_cli.history.diff.patch import patch
from ckpt_cli.history.diff.patch_application import apply_patch
from ckpt_cli.history.state.editing import merge_document
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Seen
from ckpt_cli.operations.apply import basis_of
from ckpt_cli.output.editor import Draft
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values import masks
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.jsontext import parse
from ckpt_cli.values.same import same
from ckpt_cli.values.state import ChannelValues
from ckpt_cli.views.plan import PlanView

_SURROGATES = re.compile("[\ud800-\udfff]")


class EditMaker(Protocol):
    """Makes the plan for a new state; see `commands.edit`."""

    def plan(
        self, reader: Reader, row: CheckpointRow, changed: Callable[[ChannelValues], ChannelValues]
    ) -> Callable[[], PlanView]:
        """A function that applies the edit."""

    def may(self, reader: Reader, row: CheckpointRow) -> None:
        """Refuse a checkpoint that can't be edited."""


@dataclass(frozen=True, slots=True)
class _Base:
    """What is edited: a checkpoint, and its state as JSON, with secrets (`whole`) and masked (`shown`)."""

    row: CheckpointRow
    seen: Seen
    whole: dict[str, Any]
    shown: dict[str, Any]
    hidden: masks.Hidden


def edit_in_editor(session: Session, make: EditMaker, thread: str, rev: str, ns: str) -> PlanView:
    """Edit a checkpoint's state; no transaction is open while the editor is.

    Raises:
        Refused: not confirmed, given up, or the thread moved on and the edits no longer fit; the text is kept.
    """

    def read(reader: Reader) -> _Base:
        row = reader.resolve(thread, rev, ns)
        make.may(reader, row)
        return _base(reader, row)

    base = session.make_plan(read)
    draft = Draft(_text(base.shown), re.sub(r"[^\w-]+", "-", thread)[:40])
    session.say(f"the state of {base.row.checkpoint_id}; an empty file, or one left as it is, changes nothing")
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
        self, session: Session, make: EditMaker, read: Callable[[Reader], _Base], draft: Draft, base: _Base
    ) -> None:
        self._session = session
        self._make = make
        self._read = read
        self._draft = draft
        self._base = base
        self._rebased = False

    def until_done(self) -> PlanView:
        """Open the editor until its text can be applied."""
        problem, last = "", _text(self._base.shown)
        while True:
            text = self._draft.edit(problem)
            if text == last and problem and not self._rebased:
                raise Refused("given up: the text is as it was; nothing was written")
            last, self._rebased = text, False
            try:
                document = _document(text)
            except UsageError as error:
                problem = _said(error)
                continue
            if document is None or same(document, self._base.shown):
                return PlanView("edit", "changes nothing")
            try:
                return self._apply(document)
            except (UsageError, NotFound) as error:
                problem = _said(error)
            except Refused as error:
                problem = self._moved(document, error)

    def _apply(self, document: dict[str, Any]) -> PlanView:
        base = self._base
        after = masks.fill(document, base.hidden)

        def plan(reader: Reader) -> Callable[[], PlanView]:
            now = self._read(reader)
            if now.row.ref != base.row.ref or now.seen != base.seen:
                raise Refused("the thread moved on while you edited")
            return self._make.plan(reader, base.row, lambda state: merge_document(state, base.whole, after))

        return self._session.read(plan)()

    def _moved(self, document: dict[str, Any], error: Refused) -> str:
        """Merge the edits into the thread's new state, to be checked in the editor; gives the problem in words.

        Raises:
            Refused: the thread didn't move on, or the edits don't fit its new state.
        """
        base, now = self._base, self._session.read(self._read)
        if now.row.ref == base.row.ref and now.seen == base.seen:
            raise error
        try:
            both = apply_patch(now.shown, list(patch(base.shown, document)))
        except CkptError as clash:
            what = f"the thread moved on while you edited, and your edits don't fit: {clash.message}"
            raise Refused(f"{what}; nothing was written") from clash
        self._base, self._rebased = now, True
        self._draft.write(_text(both))
        return f"the thread moved on while you edited: your edits are now in the state of {now.row.checkpoint_id}"


def _base(reader: Reader, row: CheckpointRow) -> _Base:
    values = Inspection(reader, row.ref).values()
    whole, shown = to_json(values, reveal=True), to_json(values)
    return _Base(row, basis_of(reader.saver, row.ref), whole, shown, masks.number(shown, whole))


def _document(text: str) -> dict[str, Any] | None:
    if not text.strip():
        return None
    data = parse(text, "the text")
    if not isinstance(data, dict):
        raise UsageError("the text is no JSON object of channels")
    return data


def _text(document: Any) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _said(error: CkptError) -> str:
    return "\n".join(part for part in (error.message, *error.candidates, error.hint) if part)
