"""Random graphs whose channels have random reducers: in place, strict, deep, trimming, forgetful; special channels."""

import operator
from collections.abc import Callable
from random import Random
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, trim_messages
from langgraph.channels import EphemeralValue, Topic
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite, Send, interrupt


def in_place(old: list[Any], new: list[Any]) -> list[Any]:
    """Extend the old list itself."""
    old.extend(new)
    return old


def strict(old: list[Any], new: Any) -> list[Any]:
    """Append, but fail where the list is long."""
    if len(old) > 8:
        raise ValueError("too long")
    return old + new


def counted(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Count keys in the old dict itself."""
    for key in new:
        old[key] = old.get(key, 0) + 1 if isinstance(old.get(key, 0), int) else 0
    return old


def by_key(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Gather the values of each key."""
    return {key: [old.get(key), new.get(key)] if key in new else old[key] for key in {**old, **new}}


def trimmed(old: list[AnyMessage], new: list[AnyMessage]) -> list[AnyMessage]:
    """Merge messages, and keep the newest that have at most twelve words together."""
    merged = add_messages(old, new)
    return list(trim_messages(merged, max_tokens=12, token_counter=_words, strategy="last"))  # type: ignore[arg-type]


def _words(messages: list[AnyMessage]) -> int:
    return sum(len(str(one.content).split()) for one in messages)


_LISTS: list[Callable[..., Any]] = [
    in_place,
    strict,
    operator.add,
    lambda old, new: (old + new)[-3:],
    lambda old, new: new + old,
    lambda old, new: old + [item for item in new if item not in old],
    lambda old, new: sorted(old + new),
    lambda old, new: new if len(new) > 1 else old + new,
    lambda old, new: old,
    lambda old, new: [*old, len(new)],
    lambda old, new: (old + new)[1:],
]
_NUMBERS: list[Callable[..., Any]] = [
    operator.add,
    operator.mul,
    operator.sub,
    lambda old, new: min(old, new),
    lambda old, new: max(old, new),
    lambda old, new: min(10, old + new),
    lambda old, new: new,
    lambda old, new: old or new,
    lambda old, new: (old + new) / 2,
    lambda old, new: float(old + new),
]
_TEXTS: list[Callable[..., Any]] = [
    operator.add,
    lambda old, new: max(old, new, key=len),
    lambda old, new: new + old,
    lambda old, new: (old + new)[-4:],
]
_DICTS: list[Callable[..., Any]] = [
    counted,
    by_key,
    operator.or_,
    lambda old, new: {key: value for key, value in {**old, **new}.items() if value is not None},
    lambda old, new: {**new, **old},
    lambda old, new: new,
]
_SETS: list[Callable[..., Any]] = [operator.or_, operator.xor, operator.and_, lambda old, new: new]
_MESSAGES: list[Callable[..., Any]] = [add_messages, trimmed]

KINDS: dict[str, tuple[Any, list[Callable[..., Any]], Callable[[Random], Any]]] = {
    "items": (list, _LISTS, lambda random: random.choices(range(4), k=random.randint(0, 2))),
    "others": (list, _LISTS, lambda random: random.choices(range(2), k=random.randint(0, 3))),
    "number": (int, _NUMBERS, lambda random: random.choice([0, 1, 2, -3])),
    "ratio": (float, _NUMBERS, lambda random: random.choice([0, 1, 0.5, 2, 2.0])),
    "text": (str, _TEXTS, lambda random: random.choice("xy") * random.randint(0, 3)),
    "facts": (dict, _DICTS, lambda random: {random.choice("kl"): random.choice([None, 0, 1, {"x": 1}, []])}),
    "tags": (set, _SETS, lambda random: set(random.choices("abc", k=random.randint(0, 2)))),
    "flag": (bool, [operator.or_, operator.and_, operator.xor], lambda random: random.random() < 0.4),
    "chat": (list, _MESSAGES, lambda random: [_message(random)]),
}
"""Channel to its type, the reducers it may have, and a function that gives a value to write."""
SPECIAL: dict[str, tuple[Any, Callable[[Random], Any]]] = {
    "news": (Topic(str), lambda random: random.choice(["one", ["two", "three"], []])),
    "all_news": (Topic(str, accumulate=True), lambda random: random.choice(["one", ["two", "three"], []])),
    "brief": (EphemeralValue(str), lambda random: random.choice("uv")),
}
ALONE = "brief"
"""The channel that takes one write a step."""


def _message(random: Random) -> AnyMessage:
    kind = random.choice([AIMessage, HumanMessage])
    return kind(" ".join("w" * random.randint(1, 6)), id=random.choice("123"))


def _state(random: Random) -> Any:
    """A state with a random reducer for each channel."""
    reduced = {name: Annotated[kind, random.choice(reducers)] for name, (kind, reducers, _) in KINDS.items()}
    special = {name: Annotated[str, channel] for name, (channel, _) in SPECIAL.items()}
    return TypedDict("Reduced", {"n": int, "last": str, **reduced, **special}, total=False)  # type: ignore[misc]


def written(random: Random, *, alone: bool = True) -> dict[str, Any]:
    """Random values for some channels; of a node that runs `alone`, some replace what was there."""
    makes = {name: make for name, (_, _, make) in KINDS.items()} | {name: make for name, (_, make) in SPECIAL.items()}
    values = {channel: make(random) for channel, make in makes.items() if random.random() < 0.35}
    if not alone:
        values.pop(ALONE, None)
        return values
    if random.random() < 0.3:
        channel = random.choice([*KINDS])
        values[channel] = Overwrite(makes[channel](random))
    return values | ({"last": random.choice("pq")} if random.random() < 0.3 else {})


def reduced(random: Random, saver: Any) -> Any:
    """Nodes in a loop, two of them side by side; one may be a subgraph, one may ask, one sends tasks."""
    state = _state(random)

    def asks(_: Any) -> dict[str, Any]:
        if random.random() < 0.2:
            interrupt("go on?")
        return written(random)

    def beside(_: Any) -> dict[str, Any]:
        return written(random, alone=False)

    inner = StateGraph(state)
    inner.add_node("one", lambda _: written(random))
    inner.add_node("two", beside)
    inner.add_edge(START, "one")
    inner.add_edge("one", "two")
    builder = StateGraph(state)
    builder.add_node("a", lambda state: {**written(random), "n": state.get("n", 0) + 1})
    builder.add_node("b", inner.compile() if random.random() < 0.4 else beside)
    builder.add_node("side", beside)
    builder.add_node("worker", beside)
    builder.add_node("c", asks)
    ways = ["b", "side"] if random.random() < 0.5 else ["b"]  # a subgraph gives all its channels back
    builder.add_edge(START, "a")
    builder.add_conditional_edges(
        "a", lambda _: ways if random.random() < 0.6 else [Send("worker", {})] * 2, ["b", "side", "worker"]
    )
    for node in ("b", "side", "worker"):
        builder.add_edge(node, "c")
    limit = random.randint(2, 6)
    builder.add_conditional_edges("c", lambda state: END if state.get("n", 0) >= limit else "a", ["a", END])
    return builder.compile(checkpointer=saver)
