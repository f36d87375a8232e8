"""The words for changes: ``messages +1 “My order”``, ``count 3→4``, ``best wrote 0.2``; which if little fits.

A change says what happened to the state if that was read, else what was written (``wrote``); docs/reference.md, "A row
of log and tree", has the forms.
"""

from collections.abc import Sequence
from typing import Any

from ckpt_cli.output.cells import cell_len, fit, line_len, truncate
from ckpt_cli.output.line import Line, plain
from ckpt_cli.output.quantities import size
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.theme import LEADS_TO, MINUS, MORE, ROLES, TIMES
from ckpt_cli.values.langgraph_values import Message, message, removal
from ckpt_cli.values.node import Node
from ckpt_cli.values.same import same
from ckpt_cli.views.steps import ChangeView

_MIN_HALF = 10  # if the old value would get fewer cells than this, it is left out
_SHORT = 24  # each change after the first gets this many cells; if they don't fit, only channel names are shown
_MIN_FIRST = 28  # if the first change would get fewer cells than this, only the first change is shown
_WROTE = "wrote "
_COMMAND = "Command"
_UNCHANGED = " unchanged"
_NO_WRITE = " (no write)"
_ALSO = "  also "
_MIN_WITH_ALSO = 20  # in fewer cells, a mark alone says that there are other changes
_KEPT_BEFORE = 4  # if two texts begin alike, this many characters are shown before the first that differs
_WITH_ITEMS = frozenset({"added", "edited", "replaced", "wrote", "given"})
_WRITES = frozenset({"wrote", "several", "unread", "unreadable", "unstored"})
UNCUT = 160
"""The number of cells for one value if nothing limits the line; a longer value is cut, because this is a summary."""


def words(changes: Sequence[ChangeView] | None, cells: int | None) -> Line:
    """All changes of a step in one line of about `cells` cells, the most informative first.

    A write that left its channel the same is shown only if there is no other change. Changes that don't fit are
    named, or there is a mark that is never cut off.
    """
    if changes is None:
        return [("muted", MORE)]
    changes = [change for change in changes if change.kind != "same"] or changes
    ordered = sorted(changes, key=_rank)
    if not ordered:
        return []
    if cells is None:
        return [*one(ordered[0], UNCUT), *_further_changes(ordered[1:], UNCUT)]
    if len(ordered) == 1:
        return fit(one(ordered[0], cells), max(cells, 1))
    enough = min(line_len(one(ordered[0], cells)), _MIN_FIRST)
    names: Line = [("muted", _ALSO + ", ".join(_name_or_nodes(change) for change in ordered[1:]))]
    for rest in (_further_changes(ordered[1:], _SHORT), names):
        if cells - line_len(rest) >= enough:
            return [*one(ordered[0], cells - line_len(rest)), *rest]
    unnamed = f"{_ALSO}{MORE}" if cells >= _MIN_WITH_ALSO else f" {MORE}"
    room = cells - len(unnamed)
    return [*fit(one(ordered[0], room), max(room, 1)), ("muted", unnamed)]


def _further_changes(changes: Sequence[ChangeView], short: int) -> Line:
    return [span for change in changes for span in [("", "  "), *one(change, short)]]


def _rank(change: ChangeView) -> int:
    """The rank of a change in the line: messages and Sends first, then texts, then others, last unread values."""
    if change.kind in _WITH_ITEMS and _last_message(change.after) is not None:
        return 0
    if change.kind in ("sent", "corrected"):
        return 1
    if change.kind in ("unread", "unreadable", "unstored"):
        return 5
    if change.kind == "cleared":
        return 6
    if change.unsure:
        return 4
    return 2 if isinstance(change.after, str) and change.after else 3


def one(change: ChangeView, cells: int) -> Line:
    """One change in one line of about `cells` cells."""
    if change.unwritten:
        room = max(cells - len(_NO_WRITE), 8)
        return [*one(change._replace(unwritten=False), room), ("muted", _NO_WRITE)]
    if change.kind == "sent":
        return _sent(change)
    if change.kind == "corrected":
        return _corrected(change, cells)
    name: Line = [("key", _name(change.channel)), ("", " ")]
    if change.kind == "cleared":
        return [*name, ("muted", "cleared")]
    if change.kind in ("added", "edited"):
        return _added(change, name, cells)
    room = max(cells - line_len(name), 8)
    if change.kind in _WRITES:
        return [*name, *_wrote(change, room)]
    if change.kind in ("changed", "replaced"):
        return [*name, *_changed(change, room)]
    if change.kind == "same":
        return [*name, ("muted", f"{brief(change.after, max(room - len(_UNCHANGED), 8))}{_UNCHANGED}")]
    if change.kind == "summed":
        shown = brief(change.after, room)
        return [*name, ("added", f"{MINUS}{shown[1:]}" if shown.startswith("-") else f"+{shown}")]
    if change.kind == "given":
        return [*name, *_written(change.after, room)]
    return [*name, ("value", brief(change.after, room))]


def _wrote(change: ChangeView, room: int) -> Line:
    """What was written; the value, or how much it was."""
    wrote: Line = [("muted", _WROTE)]
    if change.kind == "unreadable":
        locked = isinstance(change.after, Node) and change.after.needs_key
        return [*wrote, ("muted", "(encrypted)")] if locked else [*wrote, ("bad", "(can't be decoded)")]
    if change.kind == "unstored":
        return [*wrote, ("muted", "(not stored)")]
    if change.kind == "unread":
        return [*wrote, ("muted", size(change.size))]
    if change.kind == "several":
        return [*wrote, ("muted", f"{change.added} values")]
    return [*wrote, *_written(change.after, max(room - len(_WROTE), 8))]


def _written(value: Any, room: int) -> Line:
    """What was written to a channel; of messages, their number if there are several, and the last one."""
    items = value if isinstance(value, list) else [value]
    last = _last_message(items)
    if last is None or any(message(item) is None for item in items):
        return [("value", brief(value, room))]
    count = f"{TIMES}{len(items)} " if len(items) > 1 else ""
    return [("muted", count), *_message(last, max(room - len(count), 8))]


def _name(channel: str) -> str:
    return {"__root__": "state", "__end__": "returns", "__start__": "given"}.get(channel, channel)


def _name_or_nodes(change: ChangeView) -> str:
    """The name of the changed channel. For Sends, the called nodes, because Sends go to langgraph's own channel."""
    if change.kind == "sent":
        return plain(_sent(change))
    return change.task or _name(change.channel)


def _corrected(change: ChangeView, cells: int) -> Line:
    """``price [3/5] item “chair” → “lamp”``: a task, and its old and new argument, or the one key that differs."""
    name: Line = [("node", change.task), ("", " ")] if change.task else [("key", _name(change.channel)), ("", " ")]
    before, after = change.before, change.after
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        keys = [key for key in after if not same(before[key], after[key])]
        if len(keys) == 1:
            name += [("key", str(keys[0])), ("", " ")]
            change = change._replace(before=before[keys[0]], after=after[keys[0]])
    return [*name, *_changed(change, max(cells - line_len(name), 8))]


def _changed(change: ChangeView, room: int) -> Line:
    """The old and the new value, or only the new one if there is no room for both or nothing is left of the old one."""
    if _is_number(change.before) and _is_number(change.after):
        return [("removed", brief(change.before, room)), ("muted", LEADS_TO), ("added", brief(change.after, room))]
    alone: Line = [("muted", f"{LEADS_TO} "), ("added", brief(_new_part(change, room), max(room - 2, 8)))]
    if change.kind == "replaced":
        return alone
    after = brief(change.after, room)
    half = max((room - 3) // 2, room - 3 - cell_len(after))
    before = brief(change.before, half)
    whole = cell_len(before) < half
    if (half < _MIN_HALF and not whole) or before == brief(change.after, half):
        return alone
    after = brief(change.after, max(room - 3 - cell_len(before), 8))
    return [("removed", before), ("muted", f" {LEADS_TO} "), ("added", after)]


def _new_part(change: ChangeView, room: int) -> Any:
    """The new value; of a long text that begins like the old one, the part from the first difference on."""
    before, after = change.before, change.after
    if not isinstance(before, str) or not isinstance(after, str) or len(after) < room:
        return after
    alike = next((at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), len(before))
    return MORE + after[alike - _KEPT_BEFORE :] if alike > room // 2 and alike < len(after) else after


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sent(change: ChangeView) -> Line:
    line: Line = [("muted", f"{_COMMAND} {LEADS_TO}" if change.by_command else LEADS_TO)]
    for node, count in change.to.items():
        line += [("node", f" {node}"), ("muted", f" {TIMES}{count}" if count > 1 else "")]
    return line


def _added(change: ChangeView, name: Line, cells: int) -> Line:
    amounts = [("changed", f"~{change.edited}")] if change.edited else []
    amounts += [("added", f"+{change.added}")] if change.added or not (change.removed or change.edited) else []
    amounts += [("removed", f"{MINUS}{change.removed}")] if change.removed else []
    counts = [span for place, one in enumerate(amounts) for span in ([("", " "), one] if place else [one])]
    if name and (missing := line_len([*name, *counts]) - cells) > 0:  # the amounts stay
        style, text = name[0]
        name = [(style, truncate(text, max(cell_len(text) - missing, 2))), *name[1:]]
    line: Line = [*name, *counts]
    room = cells - line_len(line) - 1
    if not change.after or room < 8:
        return line
    last = _last_message(change.after)
    return [*line, ("", " "), *(_message(last, room) if last else [("value", brief(change.after[-1], room))])]


def _last_message(items: Any) -> Message | None:
    """The last message that has text or tool calls."""
    known = [one for item in items if (one := message(item)) is not None] if isinstance(items, list) else []
    return next((one for one in reversed(known) if one.text or one.tool_calls), known[-1] if known else None)


def _message(last: Message, room: int) -> Line:
    style = last.role if last.role in ROLES else ""
    if words := removal(last):
        return [("value", truncate(words, room))]
    if last.text or not last.tool_calls:
        return [(_text_style(style), brief(" ".join(last.text[: room * 8].split()), room))]
    call = last.tool_calls[0]
    more = f" and {len(last.tool_calls) - 1} more" if len(last.tool_calls) > 1 else ""
    name = str(call.get("name"))
    args = call.get("args")
    shown = "" if args in (None, {}, "") else f" {brief(args, max(room - len(name) - len(more) - 4, 8))}"
    return [("muted", f"{LEADS_TO} "), ("tool", name), ("value", shown), ("muted", more)]


def _text_style(style: str) -> str:
    return "human" if style == "human" else "value"
