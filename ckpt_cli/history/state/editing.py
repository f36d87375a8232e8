"""Edits of a state without reducers: parts set, appended, removed by path, by a patch or a JSON document.

Each edit gives a new state that shares all untouched objects with the old one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ckpt_cli.errors import CkptError, Refused, UsageError
from ckpt_cli.history.diff.patch_application import apply_patch
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.state.grafting import element_keys, graft, part_keys, with_part, without_part
from ckpt_cli.history.state.paths import find, lost, spell
from ckpt_cli.shell_words import argument
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.loadable import as_loaded
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.parts import fields, inside
from ckpt_cli.values.state import ChannelValues

ARGUMENT = "argument"
"""The key under which the argument of a task is edited."""


class Act(StrEnum):
    """What an edit does."""

    SET = "set"
    APPEND = "append"
    UNSET = "unset"


@dataclass(frozen=True, slots=True)
class Edit:
    """One part to edit.

    Attributes:
        steps: the path of the part; the first step is the channel.
        value: None for UNSET.
    """

    act: Act
    steps: tuple[Any, ...]
    value: Any = None


def apply_edits(state: ChannelValues, edits: Iterable[Edit]) -> dict[str, Any]:
    """The state after all edits, one after the other.

    Raises:
        PathNotFound: a path leads nowhere; the message names the deepest part that exists.
        UsageError: the part can't be edited in this way.
        Refused: the part is in a delta channel whose value isn't known.
    """
    new = dict(state)
    for edit in edits:
        new = _edited(new, edit)
    return _as_loaded(state, new)


def _as_loaded(state: ChannelValues, new: dict[str, Any]) -> dict[str, Any]:
    """The new state, in which sets and other well-known objects that changed are as LangGraph stores them."""
    return {c: value if value is state.get(c, new) else _channel_as_loaded(c, value) for c, value in new.items()}


def _channel_as_loaded(channel: str, value: Any) -> Any:
    try:
        return as_loaded(value)
    except UsageError as error:
        raise UsageError(f"{spell([channel])}: {error.message}", hint=error.hint) from error


def apply_edits_to_argument(given: ChannelValues, edits: Iterable[Edit]) -> dict[str, Any]:
    """The values, of which `ARGUMENT` is the only one, after all edits; their paths begin inside the argument."""
    return apply_edits(given, [Edit(edit.act, (ARGUMENT, *edit.steps), edit.value) for edit in edits])


def _edited(state: dict[str, Any], edit: Edit) -> dict[str, Any]:
    """The state after one edit; every container on the path is copied, the innermost first."""
    containers: list[tuple[Any, Any]] = []  # each container on the path, with the step that leads into it
    value: Any = state
    walked = edit.steps if edit.act is Act.APPEND else edit.steps[:-1]
    for at, step in enumerate(walked):
        part = find(value, step)
        if part is None:
            raise _lost(edit.steps[:at], step, value)
        containers.append((value, part[0]))
        value = part[1]
    value = _appended(value, edit) if edit.act is Act.APPEND else _at_end(value, edit)
    for container, step in reversed(containers):
        value = with_part(container, _place(container, step, edit), value)
    return dict(value)


def _at_end(value: Any, edit: Edit) -> Any:
    step = edit.steps[-1]
    part = find(value, step)
    if part is None:
        if edit.act is Act.SET and _takes(value, step):
            return with_part(value, _place(value, step, edit), edit.value)
        raise _lost(edit.steps[:-1], step, value)
    keys = _place(value, part[0], edit)
    if edit.act is Act.SET:
        return with_part(value, keys, edit.value)
    if not keys:
        raise UsageError(f"{spell(edit.steps)} can't be removed: the object can't exist without it")
    return without_part(value, keys)


def _lost(path: tuple[Any, ...], step: Any, value: Any) -> CkptError:
    return not_editable(spell(path)) if is_unproven(value) else lost(path, step, value)


def not_editable(channel: str) -> Refused:
    """The error for a part of a delta channel whose value isn't known."""
    return Refused(
        f"the value of delta channel {channel!r} isn't known, so no part of it can be edited; nothing was written",
        hint=f"--set {argument(channel + '=JSON')} sets a whole value",
    )


def _takes(value: Any, step: Any) -> bool:
    """Whether the step may add a part: a key to a dict, or a field to an object whose form may leave fields out."""
    value = inside(value)
    if isinstance(value, dict):
        return True
    return isinstance(value, Node) and value.form is Form.LC1 and isinstance(step, str) and bool(fields(value))


def _place(container: Any, step: Any, edit: Edit) -> tuple[Any, ...]:
    keys = part_keys(container, step)
    if keys is None:
        raise UsageError(
            f"{spell(edit.steps)} can't be edited: it is inside a {container.type}, which ckpt can't write"
        )
    return keys


def _appended(value: Any, edit: Edit) -> Any:
    keys = element_keys(value)
    if is_unproven(value):
        raise UsageError(
            f"nothing can be appended to {spell(edit.steps)}: its value isn't known, only its writes are",
            hint="--set sets a whole value; `ckpt update` adds a write, which LangGraph applies",
        )
    if keys is None:
        raise UsageError(f"nothing can be appended to {spell(edit.steps)}: it is no list", hint="--set replaces it")
    elements = value
    while isinstance(elements, Node):
        elements = elements.state
    for key in keys:
        elements = elements[key]
    return with_part(value, keys, (*elements, edit.value) if isinstance(elements, tuple) else [*elements, edit.value])


def apply_patch_to_state(state: ChannelValues, operations: Any) -> dict[str, Any]:
    """The state after an RFC 6902 patch of its JSON form, as ``diff --json`` gives.

    Raises:
        UsageError, PathNotFound, Refused: as in `apply_patch`.
        UsageError: a value of the patch can't be read.
    """
    document = {channel: to_json(value, reveal=True) for channel, value in state.items()}
    after = apply_patch(document, operations)
    if not isinstance(after, dict):
        raise UsageError("the patch leaves no state: a mapping of channels is needed")
    return merge_document(state, document, after)


def apply_patch_to_argument(given: ChannelValues, operations: Any) -> dict[str, Any]:
    """The values, of which `ARGUMENT` is the only one, after a patch of the argument; errors as in a state's patch."""
    document = {ARGUMENT: to_json(given[ARGUMENT], reveal=True)}
    return merge_document(given, document, {ARGUMENT: apply_patch(document[ARGUMENT], operations)})


def merge_document(state: ChannelValues, document: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an edited JSON document; `document` is the JSON form of `state`, secrets included.

    `after` is the edited document; parts that are the same object in both keep their value.

    Raises:
        UsageError: something can't be read; the message names its path.
    """
    new: dict[str, Any] = {}
    for channel, data in after.items():
        if channel in document and data is document[channel]:
            new[channel] = state[channel]
        else:
            value = _read(data, channel)
            new[channel] = graft(state[channel], value) if channel in state else value
    return _as_loaded(state, new)


def _read(data: Any, channel: str) -> Any:
    try:
        return from_json(data)
    except UsageError as error:
        raise UsageError(f"{spell(_culprit(data, (channel,)))}: {error.message}", hint=error.hint) from error


def _culprit(data: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """The path of the deepest part that can't be read."""
    parts = enumerate(data) if isinstance(data, list) else data.items() if isinstance(data, dict) else ()
    for key, part in parts:
        try:
            from_json(part)
        except UsageError:
            return _culprit(part, (*path, key))
    return path
