"""Finds the checkpoint that a revision names, reading little; errors and candidates if none or several fit.

The head, an exact id and ancestors are read row by row. Prefixes, branches, steps and times need the lineage of the
namespace; what happened is searched on the head's line.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from ckpt_cli.errors import AmbiguousRevision, CheckpointNotFound
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.printed_times import printed_time, short_form
from ckpt_cli.history.lineage.revisions import FORMS, Revision, RevisionKind, parse
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.lineage.typed_times import second_end
from ckpt_cli.model import CheckpointRow

_PREFIX = 4
_LISTED = 12
_AT_ONCE = 500  # the recorded steps of this many checkpoints are read together


class Rows(Protocol):
    """What a `Finder` reads of one namespace of one thread; each method reads when it is called."""

    def row(self, checkpoint_id: str) -> CheckpointRow | None:
        """One row by its exact id."""
        ...

    def head(self) -> CheckpointRow:
        """The row that the saver returns when no id is given."""
        ...

    def lineage(self) -> Lineage:
        """All rows of the namespace."""
        ...

    def tags(self) -> Mapping[str, str]:
        """Tag to checkpoint id."""
        ...

    def steps(self, checkpoint_ids: Iterable[str]) -> Mapping[str, int]:
        """The steps that metadata records."""
        ...

    def short(self) -> ShortIds:
        """The short ids of the thread."""
        ...

    def search(self, line: Sequence[str]) -> "Happened":
        """Searches a line of ancestors, newest first, by what happened."""
        ...


class Happened(Protocol):
    """See `revision_search.LineSearch`."""

    def before_text(self, pattern: str) -> str | None:
        """The checkpoint before a text first appeared; "" if the first one has it, None if none has."""
        ...

    def before_node(self, node: str) -> str | None:
        """The checkpoint from which a node ran last."""
        ...

    def failed(self) -> str | None:
        """The newest checkpoint from which a task failed."""
        ...


class Finder:
    """Looks revisions up in one namespace of one thread.

    Args:
        clock: gives the present time in seconds since 1970, for ``@{2h}``.
    """

    def __init__(self, rows: Rows, clock: Callable[[], float]) -> None:
        self._rows = rows
        self._clock = clock

    def find(self, text: str) -> CheckpointRow:
        """The checkpoint that a revision names.

        Raises:
            UsageError: the text is no revision; AmbiguousRevision if it names several checkpoints.
            CheckpointNotFound: the revision names no checkpoint.
        """
        exact = self._rows.row(text) if text not in ("@", "HEAD") else None
        if exact is not None:
            return exact
        revision = parse(text)
        return self._ancestor(self._start(revision), revision.up, text)

    def _start(self, revision: Revision) -> CheckpointRow:
        match revision.kind:
            case RevisionKind.HEAD:
                return self._rows.head()
            case RevisionKind.ID:
                return self._rows.row(revision.name) or self._prefixed(revision.name)
            case RevisionKind.STEP:
                return self._step(int(revision.name))
            case RevisionKind.BRANCH:
                return self._branch(int(revision.name))
            case RevisionKind.TIME:
                return self._at_time(revision.name)
            case RevisionKind.TAG:
                return self._tagged(revision.name)
            case RevisionKind.BEFORE_TEXT | RevisionKind.BEFORE_NODE | RevisionKind.FAILED:
                return self._happened(revision)

    def _ancestor(self, row: CheckpointRow, up: int, text: str) -> CheckpointRow:
        for climbed in range(up):
            parent = row.parent_id
            above = self._rows.row(parent) if parent is not None and parent != row.checkpoint_id else None
            if above is None:
                raise CheckpointNotFound(f"{text!r} goes too far up: {_why_no_parent(row, climbed)}")
            row = above
        return row

    def _prefixed(self, prefix: str) -> CheckpointRow:
        lineage, short = self._rows.lineage(), self._rows.short()
        matching = [i for i in short.find(prefix.lower()) or short.find(prefix) if i in lineage]
        if len(matching) > 1:
            shown = self._described(matching[:_LISTED])
            more = [f"and {len(matching) - _LISTED} more"] if len(matching) > _LISTED else []
            hint = f"did you mean step:{prefix}?" if _is_step(prefix) else ""
            fits = f"{prefix!r} fits {len(matching)} checkpoints"
            raise AmbiguousRevision(fits, hint=hint, candidates=[*shown, *more])
        if matching and len(prefix) >= _PREFIX:
            return lineage.rows[matching[0]]
        raise CheckpointNotFound(f"no checkpoint {prefix!r}", hint=_prefix_hint(prefix, matching, short))

    def _step(self, step: int) -> CheckpointRow:
        lineage = self._rows.lineage()
        line = list(lineage.line(self._rows.head().checkpoint_id))
        known: dict[str, int] = {}
        for candidates in ([i for i in line if _may_be(i, step)], line):
            for page in (candidates[at : at + _AT_ONCE] for at in range(0, len(candidates), _AT_ONCE)):
                known |= self._stepped(page)
                for checkpoint_id in page:
                    if known.get(checkpoint_id) == step:
                        return lineage.rows[checkpoint_id]
        raise self._no_step(step, known)

    def _stepped(self, checkpoint_ids: list[str]) -> dict[str, int]:
        """Checkpoint id to step: the recorded step, else the step that the id contains."""
        recorded = self._rows.steps(checkpoint_ids)
        steps = {i: recorded.get(i, ids.step(i)) for i in checkpoint_ids}
        return {i: step for i, step in steps.items() if step is not None}

    def _no_step(self, step: int, line: Mapping[str, int]) -> CheckpointNotFound:
        """The error for a step that the head's line doesn't have; candidates have this step on other branches."""
        lineage = self._rows.lineage()
        aside = self._stepped([i for i in lineage.rows if i not in line and _may_be(i, step)])
        elsewhere = [i for i, own in aside.items() if own == step]
        numbers = {branch.tip: branch.number for branch in lineage.branches} if elsewhere else {}
        described = zip(self._described(elsewhere[:_LISTED]), elsewhere, strict=False)
        shown = [f"{words}  on branch:{numbers[lineage.carrier(i)]}" for words, i in described]
        more = [f"and {len(elsewhere) - _LISTED} more"] if len(elsewhere) > _LISTED else []
        hint = f"its steps are {spans(set(line.values())) or 'not recorded'}"
        if elsewhere:
            hint += "; name a step of another branch by its id"
        return CheckpointNotFound(f"no step {step} on the head's line", hint=hint, candidates=[*shown, *more])

    def _branch(self, number: int) -> CheckpointRow:
        lineage = self._rows.lineage()
        for branch in lineage.branches:
            if branch.number == number:
                return lineage.rows[branch.tip]
        listed = lineage.branches[:_LISTED]
        described = self._described([branch.tip for branch in listed])
        known = [f"branch:{branch.number}  up to {tip}" for branch, tip in zip(listed, described, strict=True)]
        count = "is only 1" if len(lineage.branches) == 1 else f"are {len(lineage.branches)}"
        raise CheckpointNotFound(f"no branch {number}: there {count}", candidates=known)

    def _tagged(self, name: str) -> CheckpointRow:
        tags = self._rows.tags()
        if name not in tags:
            known = [f"tag:{tag}" for tag in list(tags)[:_LISTED]]
            hint = "" if known else "`ckpt tag THREAD REV NAME` gives one"
            raise CheckpointNotFound(f"no tag {name!r}", hint=hint, candidates=known)
        row = self._rows.row(tags[name])
        if row is None:
            raise CheckpointNotFound(f"tag {name!r} is on {tags[name]}, which is gone")
        return row

    def _at_time(self, text: str) -> CheckpointRow:
        form = short_form(text.strip())
        return self._current_at(second_end(text, self._clock())) if form is None else self._printed(text.strip(), form)

    def _printed(self, text: str, form: Callable[[float], str]) -> CheckpointRow:
        """The last checkpoint of those that a list shows with this time, whose date or year is beside the list."""
        lineage, shown = self._rows.lineage(), dict[str, str]()
        for checkpoint_id in lineage.rows:
            if (when := ids.unix_time(checkpoint_id)) is not None and form(when) == text:
                shown[printed_time(when)[:10]] = checkpoint_id
        if len(shown) > 1:
            fits = f"{text!r} fits {len(shown)} days: write the date too"
            raise AmbiguousRevision(fits, candidates=self._described([*shown.values()][:_LISTED]))
        if not shown:
            raise CheckpointNotFound(
                f"no checkpoint was made at {text}", hint="write the date too: @{2026-11-01T10:00}"
            )
        return lineage.rows[next(iter(shown.values()))]

    def _current_at(self, then: float) -> CheckpointRow:
        lineage = self._rows.lineage()
        dated = [(when, i) for i in lineage.rows if (when := ids.unix_time(i)) is not None]
        past = [i for when, i in dated if when <= then]
        if past:
            return lineage.rows[past[-1]]
        if not dated:
            raise CheckpointNotFound("the ids of this thread do not contain their time", hint="use an id or step:N")
        (first,) = self._described([dated[0][1]])
        raise CheckpointNotFound("the thread has no checkpoint that old", hint=f"the first is {first}")

    def _happened(self, revision: Revision) -> CheckpointRow:
        """The checkpoint on the head's line that a text, a node or a failure tells."""
        lineage = self._rows.lineage()
        search = self._rows.search(list(lineage.line(self._rows.head().checkpoint_id)))
        if revision.kind is RevisionKind.BEFORE_TEXT:
            found, what = search.before_text(revision.name), f"{revision.name!r} doesn't appear on the head's line"
            if found == "":
                what = f"{revision.name!r} is in the first checkpoint already: there is none before it"
        elif revision.kind is RevisionKind.BEFORE_NODE:
            what = f"nothing on the head's line shows that node {revision.name!r} ran"
            found = search.before_node(revision.name)
        else:
            found, what = search.failed(), "no task failed on the head's line"
        if not found:
            raise CheckpointNotFound(what)
        return lineage.rows[found]

    def _described(self, checkpoint_ids: list[str]) -> list[str]:
        """One line about each checkpoint, with the step that metadata records."""
        short, steps = self._rows.short(), self._rows.steps(checkpoint_ids)
        return [_described(i, short, steps.get(i, ids.step(i))) for i in checkpoint_ids]


def _may_be(checkpoint_id: str, step: int) -> bool:
    """Whether metadata may have this step, judging by the step in the id.

    In a copy, the step in the id is one less than in metadata. The id has only 14 bits for the step, so it starts again
    at 0 after 16,383.
    """
    own = ids.step(checkpoint_id)
    return own is None or (step - own) % 0x4000 in (0, 1)


def _why_no_parent(row: CheckpointRow, climbed: int) -> str:
    first = f"the checkpoint {climbed} up" if climbed else "it"
    if row.parent_id is None or row.parent_id == row.checkpoint_id:
        return f"{first} has no parent"
    return f"{first} has the parent {row.parent_id}, which was never stored"


def _described(checkpoint_id: str, short: ShortIds, step: int | None) -> str:
    words = [short(checkpoint_id)]
    if step is not None:
        words.append(f"step {step}")
    if (when := ids.unix_time(checkpoint_id)) is not None and ids.is_uuid6(checkpoint_id):
        words.append(printed_time(when))
    return "  ".join(words)


def _is_step(prefix: str) -> bool:
    return prefix.isdecimal() and len(prefix) < _PREFIX


def _prefix_hint(prefix: str, matching: list[str], short: ShortIds) -> str:
    if _is_step(prefix):
        return f"did you mean step:{prefix}?"
    if matching:
        return f"{prefix} begins only {short(matching[0])}, but write at least {_PREFIX} characters"
    return "it is in another namespace: see --ns" if short.find(prefix) else f"one of: {FORMS}"


def spans(numbers: Iterable[int]) -> str:
    """``-1 to 12, 14``."""
    return ", ".join(_ranges(sorted(numbers)))


def _ranges(numbers: list[int]) -> Iterator[str]:
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            first, last = numbers[start], numbers[at - 1]
            yield str(first) if first == last else f"{first} to {last}"
            start = at
