"""Takes calls out of a message, wherever it has them, so that no library finds them again.

A message whose ``tool_calls`` are empty gets those of ``additional_kwargs`` when it is loaded (langchain-core 1.7
``messages/ai.py: _backwards_compat_tool_calls``), and some integrations send ``function_call`` from there.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ckpt_cli.history.messages.tool_calls import REASONING, Call, Turn, calls_in, named_calls
from ckpt_cli.history.state.grafting import with_part, with_state
from ckpt_cli.values.node import Form, Node

_LISTS = ("tool_calls", "invalid_tool_calls", "tool_call_chunks")
_KEPT = ("refusal", "audio")  # content that OpenAI has outside of `content`


def without_calls(item: Any, turn: Turn, calls: list[Call]) -> Any:
    """The message without these calls and the reasoning that led only to them; None if nothing is left of it."""
    keys = Counter(call.key for call in calls)
    if not turn.body:
        return None
    fields, changed = turn.fields, dict[str, Any]()
    for name in _LISTS:
        if isinstance(listed := fields.get(name), list) and listed:
            changed[name] = _others(listed, keys)
    is_last = len(calls) == len(turn.calls)
    if isinstance(extra := fields.get("additional_kwargs"), dict):
        changed["additional_kwargs"] = _without_copies(extra, keys, all_gone=is_last)
    blocks = fields.get(turn.body)
    if isinstance(blocks, list):
        gone = without_reasoning(blocks, _last_calls([next(calls_in([block]), None) for block in blocks], keys))
        changed[turn.body] = [block for at, block in enumerate(blocks) if at not in gone]
    rest = {**fields, **changed}
    extra = rest.get("additional_kwargs") or {}
    if is_last and is_empty(rest.get(turn.body)) and not any(extra.get(name) for name in _KEPT):
        return None
    return with_fields(item, {name: value for name, value in changed.items() if value != fields[name]})


def _last_calls(calls: Sequence[Call | None], keys: Counter[str]) -> set[int]:
    """The positions of these calls; of several with the same key, the last ones, since results answer the first."""
    left, found = Counter(keys), set[int]()
    for at in reversed(range(len(calls))):
        call = calls[at]
        if call is not None and left[call.key]:
            left[call.key] -= 1
            found.add(at)
    return found


def _others(listed: list[Any], keys: Counter[str]) -> list[Any]:
    gone = _last_calls([next(named_calls([call]), None) for call in listed], keys)
    return [call for at, call in enumerate(listed) if at not in gone]


def _without_copies(extra: dict[str, Any], keys: Counter[str], *, all_gone: bool) -> dict[str, Any]:
    """``additional_kwargs`` without what is there of the calls; `all_gone` if the message has no other call."""
    kept = dict(extra)
    if isinstance(listed := kept.get("tool_calls"), list):
        others = _others(listed, keys)
        kept = {**kept, "tool_calls": others} if others else {k: v for k, v in kept.items() if k != "tool_calls"}
    if all_gone:
        kept.pop("function_call", None)
    return kept


def without_reasoning(parts: list[Any], dropped: set[int]) -> set[int]:
    """The positions of dropped calls, and of the reasoning that led only to these.

    Reasoning leads to everything between it and the next reasoning.
    """
    gone = set(dropped)
    at = 0
    while at < len(parts):
        start = at
        while at < len(parts) and is_reasoning(parts[at]):
            at += 1
        middle = at
        while at < len(parts) and not is_reasoning(parts[at]):
            at += 1
        if middle < at and gone.issuperset(range(middle, at)):
            gone.update(range(start, middle))
    return gone


def is_reasoning(part: Any) -> bool:
    """Whether a block, a part or an item is a model's reasoning."""
    if not isinstance(part, dict):
        return False
    return part.get("type") in REASONING or bool(REASONING & part.keys()) or part.get("thought") is True


def is_empty(content: Any) -> bool:
    """Whether content has nothing that a model would read: no text, or only blank text."""
    if isinstance(content, list):
        return all(_is_blank(block) or is_reasoning(block) for block in content)
    return not content or (isinstance(content, str) and not content.strip())


def _is_blank(block: Any) -> bool:
    if isinstance(block, dict):
        is_text = block.get("type", "text") == "text" and block.keys() <= {"type", "text", "index", "annotations", "id"}
        return is_text and not str(block.get("text") or "").strip()
    return isinstance(block, str) and not block.strip()


def with_blocks(item: Any, turn: Turn, blocks: list[Any]) -> Any:
    """The message with these blocks as its content."""
    return with_fields(item, {turn.body: blocks})


def with_fields(item: Any, changed: dict[str, Any]) -> Any:
    """The message with some fields changed; the others stay the same objects."""
    if not isinstance(item, Node):
        return {**item, **changed}
    if item.form is Form.LC2:
        return with_part(item, ("kwargs",), {**item.state["kwargs"], **changed})
    if item.form is Form.PICKLE:
        return with_part(item, ("state",), {**item.state["state"], **changed})
    return with_state(item, {**item.state, **changed})
