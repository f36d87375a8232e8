"""Mends a list of messages: each call gets a result behind it or is dropped, surplus results go.

Results that are only in the wrong place are moved, never replaced. Messages that need no change stay the same objects,
so an encoder keeps their bytes.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from ckpt_cli.history.messages.call_matching import Matching
from ckpt_cli.history.messages.dropped_calls import is_empty, with_blocks, without_calls, without_reasoning
from ckpt_cli.history.messages.tool_calls import Call, Turn, is_object, result_key

NewMessage = Callable[[dict[str, Any]], Any]
"""Makes a tool message of the application's class of these fields."""


class Mend(StrEnum):
    """What becomes of calls without a result."""

    ANSWER = "answer"
    DROP = "drop"


class Mended(NamedTuple):
    """A list that models take, and how it differs from the stored one.

    Attributes:
        unanswerable: calls that can't be answered by a text, so that the list isn't mended.
    """

    messages: list[Any]
    answered: int = 0
    dropped: int = 0
    moved: int = 0
    removed: int = 0
    unanswerable: tuple[Call, ...] = ()


def mend(messages: list[Any], matching: Matching, how: Mend, text: str, new_message: NewMessage) -> Mended:
    """The mended list.

    Args:
        messages: the list as stored.
        matching: its calls and results.
        how: what becomes of calls without a result.
        text: the result that they get.
        new_message: makes a tool message, if the list holds objects.
    """
    turns, waiting = matching.turns, {at: calls for at, calls in matching.waiting.items() if calls}
    answers = waiting if how is Mend.ANSWER else {}
    impossible = [
        call for at, calls in answers.items() for call in calls if not _can_answer(messages[at], turns[at], call)
    ]
    taken = _taken(matching)
    left = [_without_results(item, turns[at], taken.get(at, set())) for at, item in enumerate(messages)]
    if how is Mend.DROP:
        for at, calls in waiting.items():
            left[at] = without_calls(messages[at], turns[at], calls)
        _drop_reasoning(left, turns)
    behind: dict[int, list[Any]] = {}
    results_at = cache(lambda at: _results_alone(messages[at], turns[at]))
    for at, places in matching.misplaced.items():
        behind[at] = [results_at(place.position)[place.number] for place in places]
    for at, calls in answers.items():
        behind.setdefault(at, []).extend(_answer(messages[at], turns[at], call, text, new_message) for call in calls)
    return Mended(
        _joined(left, turns, behind),
        answered=sum(map(len, answers.values())),
        dropped=0 if answers else sum(map(len, waiting.values())),
        moved=sum(map(len, matching.misplaced.values())),
        removed=len(matching.twice) + len(matching.unasked),
        unanswerable=tuple(impossible),
    )


def _taken(matching: Matching) -> dict[int, set[int]]:
    """Position of a message to the numbers of its results that don't stay there."""
    gone = [place for place, _ in matching.twice] + matching.unasked
    taken: dict[int, set[int]] = {}
    for place in (*gone, *(place for places in matching.misplaced.values() for place in places)):
        taken.setdefault(place.position, set()).add(place.number)
    return taken


def _joined(left: list[Any], turns: list[Turn], behind: dict[int, list[Any]]) -> list[Any]:
    """The list with the new and moved results right behind their calls, after those that are there already."""
    joined: list[Any] = []
    at = 0
    while at < len(left):
        run = at + 1
        if results := behind.get(at):
            while run < len(left) and (left[run] is None or (turns[run].results and not turns[run].has_rest)):
                run += 1
        joined += [item for item in left[at:run] if item is not None]
        if results and _shares_messages(left[at], turns[at]):
            blocks = [block for result in results for block in result[turns[at].body]]
            first = at + 1 if run > at + 1 and left[run - 1] is not None else None
            target = joined.pop() if first is not None else None
            if target is None and run < len(left) and turns[run].role == "human":
                target, run = left[run], run + 1
            joined.append(_with_results(target, blocks, turns[at].body))
        elif results:
            joined += results
        at = run
    return joined


def _shares_messages(item: Any, turn: Turn) -> bool:
    """Whether all results of a message belong into one user message: dicts as Anthropic, Bedrock and Gemini take."""
    if is_object(item) or not turn.body:
        return False
    return turn.body == "parts" or any(call.kind in ("tool_use", "toolUse") for call in turn.calls)


def _with_results(target: dict[str, Any] | None, blocks: list[Any], body: str) -> dict[str, Any]:
    """A user message with the blocks behind its own results, and in front of the rest."""
    if target is None:
        return {"role": "user", body: blocks}
    content = target[body]
    own = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    results = [block for block in own if result_key(block) is not None]
    return {**target, body: [*results, *blocks, *(block for block in own if result_key(block) is None)]}


def _can_answer(item: Any, turn: Turn, call: Call) -> bool:
    return call.takes_text and (bool(call.id) or _shares_messages(item, turn))


def _answer(item: Any, turn: Turn, call: Call, text: str, new_message: NewMessage) -> Any:
    """An error as the result of a call, in the shape of the calling message."""
    if turn.body == "parts":
        snake = call.kind == "function_call"
        inner = {"name": call.name, "response": {"error": text}} | ({"id": call.id} if call.id else {})
        return {"role": "user", "parts": [{"function_response" if snake else "functionResponse": inner}]}
    if not turn.body:
        kind = "custom_tool_call_output" if call.kind == "custom_tool_call" else "function_call_output"
        return {"type": kind, "call_id": call.id, "output": text}
    if is_object(item):
        return new_message({"content": text, "name": call.name or None, "tool_call_id": call.id, "status": "error"})
    if call.kind == "toolUse":
        result = {"toolUseId": call.id, "content": [{"text": text}], "status": "error"}
        return {"role": "user", "content": [{"toolResult": result}]}
    if call.kind == "tool_use":
        block = {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": True}
        return {"role": "user", "content": [block]}
    if "role" in item:
        return {"role": "tool", "tool_call_id": call.id, "content": text}
    return {"type": "tool", "content": text, "name": call.name, "tool_call_id": call.id, "status": "error"}


def _without_results(item: Any, turn: Turn, numbers: set[int]) -> Any:
    """The message without some of its results; None if nothing is left."""
    if not numbers:
        return item
    if turn.role == "tool":
        return None
    kept = _blocks_without(turn, lambda number: number in numbers)
    return with_blocks(item, turn, kept) if not is_empty(kept) else None


def _results_alone(item: Any, turn: Turn) -> list[Any]:
    """Each result of a message as a message of its own."""
    if turn.role == "tool":
        return [item]
    return [with_blocks(item, turn, [block]) for block in turn.fields[turn.body] if result_key(block) is not None]


def _blocks_without(turn: Turn, leaves: Callable[[int], bool]) -> list[Any]:
    number, kept = -1, []
    for block in turn.fields[turn.body]:
        is_result = result_key(block) is not None
        number += is_result
        if not (is_result and leaves(number)):
            kept.append(block)
    return kept


def _drop_reasoning(left: list[Any], turns: list[Turn]) -> None:
    """In a list of Responses items, the reasoning that led only to dropped calls goes with them."""
    at = 0
    while at < len(turns):
        start = at
        while at < len(turns) and turns[at].role == "ai" and not turns[at].body:
            at += 1
        items = [turn.fields for turn in turns[start:at]]
        for gone in without_reasoning(items, {number for number in range(at - start) if left[start + number] is None}):
            left[start + gone] = None
        at = max(at, start + 1)
