"""Tool calls in message lists: every shape is judged by a model's API that is written independently of ckpt."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.history.messages.call_matching import match_calls
from ckpt_cli.history.messages.mended_messages import Mend, mend
from ckpt_cli.model import Payload
from ckpt_cli.plans.tool_calls import new_message
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.msgpack_write import pack
from ckpt_cli.values.node import Form, Node, Opened
from tests.history import strict_models
from tests.history.strict_models import RefusedError
from tests.history.tool_call_shapes import (
    OBJECTS,
    OPENAI_CALL,
    SHAPES,
    Judge,
    ai,
    human,
    item,
    result,
    said,
    use,
    used,
)
from tests.work import LINEAR, growth

ANSWER = "cancelled"
EXAMPLES = 150


def stored(messages: list[Any], era: str) -> Payload:
    """The list as a generation of LangGraph stores it."""
    if era == "json":  # langgraph 0.0 to 0.2.3, and LangGraph.js
        return Payload("json", json.dumps([dumpd(one) for one in messages]).encode())
    if era == "pydantic v1":  # langgraph 0.2.22 with langchain-core 0.2: extension 4
        return Payload("msgpack", pack([_of_core_0_2(one) for one in messages]))
    return Payload(*JsonPlusSerializer().dumps_typed(messages))


def _of_core_0_2(one: BaseMessage) -> Node:
    fields = {name: value for name, value in one.__dict__.items() if name != "usage_metadata"}
    return Node(Opened(type(one).__module__, type(one).__name__, Form.PYDANTIC_V1, fields))


def real(payload: Payload) -> list[Any]:
    """The list as the real library reads it."""
    return list(JsonPlusSerializer().loads_typed((payload.tag, payload.data)))


def refuses(judge: Judge, messages: list[Any]) -> bool:
    """Whether the API refuses a list."""
    try:
        judge(messages)
    except RefusedError:
        return True
    return False


def mended(messages: list[Any], how: Mend) -> list[Any]:
    """The mended list."""
    matching = match_calls(messages)
    return messages if matching is None else mend(messages, matching, how, ANSWER, new_message(messages)).messages


@pytest.mark.parametrize("name", SHAPES)
def test_the_judge_and_ckpt_agree(name: str) -> None:
    """A list has a fault if and only if its API refuses it."""
    judge, messages, kinds = SHAPES[name]
    value = Codec().decode(stored(messages, "msgpack")) if name in OBJECTS else messages
    matching = match_calls(value)
    assert [str(fault.kind) for fault in (matching.faults() if matching else ())] == kinds
    assert refuses(judge, messages) == bool(kinds)


def test_only_open_calls_may_still_be_answered() -> None:
    """Not those at the end of a list that have two results: no next step answers them."""
    lists = {"unanswered": [human(), ai("a")], "answered twice": [human(), ai("a"), result("a"), result("a")]}
    for kind, messages in lists.items():
        matching = match_calls(Codec().decode(stored(messages, "msgpack")))
        assert matching is not None
        assert [(str(fault.kind), fault.is_last) for fault in matching.faults()] == [(kind, kind == "unanswered")]


@pytest.mark.parametrize("how", Mend)
@pytest.mark.parametrize("era", ["json", "pydantic v1", "msgpack"])
@pytest.mark.parametrize("name", OBJECTS)
def test_what_is_mended_is_taken(name: str, era: str, how: Mend) -> None:
    """As the real library reads it in each generation's encoding; what needs no change keeps its bytes."""
    judge, messages, kinds = SHAPES[name]
    before, codec = stored(messages, era), Codec()
    value = codec.decode(before)
    new = mended(value, how)
    after = codec.encode(new, before)
    judge(real(after))
    again = match_calls(codec.decode(after))
    assert again is None or not again.faults()
    assert (after is before) == (not kinds)
    assert era == "json" or all(one.raw in after.data for one in new if any(one is other for other in value))
    if how is Mend.ANSWER:
        made = sum(isinstance(one, ToolMessage) and one.content == ANSWER for one in real(after))
        extra = sum(kind in ("answered twice", "not asked for") for kind in kinds)
        assert len(new) == len(value) + made - extra


@pytest.mark.parametrize("how", Mend)
@pytest.mark.parametrize("name", sorted(SHAPES.keys() - set(OBJECTS)))
def test_what_is_mended_is_taken_as_dicts(name: str, how: Mend) -> None:
    """Lists of dicts as an application sends them itself."""
    shape = SHAPES[name]
    before = json.dumps(shape.messages)
    after = mended(shape.messages, how)
    shape.judge(after)
    assert json.dumps(shape.messages) == before, "the stored list isn't touched"
    assert mended(after, how) == after


def test_a_dropped_call_is_nowhere_left() -> None:
    """No library finds it again: not in the blocks, nor in the copies for OpenAI and Gemini."""
    extra = {"tool_calls": [OPENAI_CALL], "function_call": {"name": "f", "arguments": "{}"}}
    copied = ai("c1", text=[{"type": "text", "text": "Let me look."}, *use("c1")], additional_kwargs=extra)
    before = stored([human(), copied, human()], "msgpack")
    after = Codec().encode(mended(Codec().decode(before), Mend.DROP), before)
    _, left, _ = real(after)
    assert (left.content, left.tool_calls, left.additional_kwargs) == (
        [{"type": "text", "text": "Let me look."}],
        [],
        {},
    )


def test_calls_that_no_text_can_answer() -> None:
    """A computer call takes a screenshot, and a call without an id can't be named; both can be dropped."""
    asked = {"role": "user", "content": "hi"}
    computer = [asked, item("computer_call", "a", action={})]
    nameless = [asked, {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": None}]}]
    for messages in (computer, nameless):
        matching = match_calls(messages)
        assert matching is not None
        assert len(mend(messages, matching, Mend.ANSWER, ANSWER, new_message(messages)).unanswerable) == 1
        assert mended(messages, Mend.DROP) == [asked]


def test_lists_that_are_no_conversation() -> None:
    """Calls that an application keeps, a model's drafts, and texts are left alone."""
    call = {"type": "tool_call", "name": "f", "args": {}, "id": "a"}
    for kept in (
        [call],
        [call, {"type": "tool_use", "id": "b"}],
        [item("function_call", "a")],
        [ai("a"), ai("b")],
        ["a"],
    ):
        assert match_calls(kept) is None


IDS = st.sampled_from("abc")
LISTS = st.lists(
    st.one_of(
        st.builds(human),
        st.builds(
            lambda ids, text: ai(*ids, text=text), st.lists(IDS, max_size=3, unique=True), st.sampled_from(["", "k"])
        ),
        st.builds(result, IDS),
    ),
    min_size=1,
    max_size=8,
).filter(lambda messages: all(not isinstance(one, AIMessage) or one.tool_calls or one.content for one in messages))


@settings(max_examples=EXAMPLES, deadline=None)
@given(LISTS, st.sampled_from(Mend))
def test_any_list(later: list[Any], how: Mend) -> None:
    """The judge and ckpt agree; mended, it is taken, questions keep their order, and no result is invented or lost."""
    judge, messages = strict_models.chat_completions, [human("hi"), *later]
    value = Codec().decode(stored(messages, "msgpack"))
    matching = match_calls(value)
    faults = matching.faults() if matching is not None else []
    assert bool(faults) == refuses(judge, messages)
    before = stored(messages, "msgpack")
    after = real(Codec().encode(mended(value, how), before))
    judge(after)
    assert [one for one in after if isinstance(one, HumanMessage)] == [
        m for m in messages if isinstance(m, HumanMessage)
    ]
    results = [one for one in after if isinstance(one, ToolMessage) and one.content != ANSWER]
    asked = sum(len(one.tool_calls) for one in messages if isinstance(one, AIMessage))
    given_results = [one for one in messages if isinstance(one, ToolMessage)]
    assert all(one in given_results for one in results)
    assert len(results) <= min(asked, len(given_results))


LONG: dict[str, Callable[[int], list[Any]]] = {
    "results at the end": lambda size: [
        *(one for n in range(size) for one in (said("assistant", *use(f"{n}")), said("user", "go on"))),
        *(said("user", *used(f"{n}")) for n in range(size)),
    ],
    "results before their calls": lambda size: [
        *(said("user", *used(f"{n}")) for n in range(size)),
        *(one for n in range(size) for one in (said("user", "go on"), said("assistant", *use(f"{n}")))),
    ],
    "results that nothing asked for": lambda size: [
        *(one for n in range(size) for one in (said("assistant", *use(f"{n}")), said("user", "go on"))),
        *(said("user", *used(f"other {n}")) for n in range(size)),
    ],
    "one message with all, in one message answered twice": lambda size: [
        said("assistant", *use(*map(str, range(size)))),
        said("user", "go on"),
        said("user", *used(*map(str, range(size))), *used(*map(str, range(size)))),
    ],
}


@pytest.mark.parametrize("how", Mend)
@pytest.mark.parametrize("shape", LONG)
def test_work_is_linear_in_the_number_of_calls(shape: str, how: Mend) -> None:
    """Twice as many calls and results, wherever they are, take twice the work to judge and to mend."""

    def prepared(size: int) -> Callable[[], Any]:
        messages = LONG[shape](size)
        return lambda: (mended(messages, how), match_calls(messages).faults())  # type: ignore[union-attr]

    assert growth(150, prepared) < LINEAR
