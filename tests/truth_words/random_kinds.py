"""Random graphs with what a plain one doesn't have: error handlers and retries, special channels, subgraphs with a
memory of their own, pydantic states, dataclasses, entrypoints.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Annotated, Any, TypedDict

from langgraph.channels import AnyValue, DeltaChannel, EphemeralValue, Topic, UntrackedValue
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.managed import IsLastStep, RemainingSteps
from langgraph.types import Command, RetryPolicy, Send, interrupt
from pydantic import BaseModel

from tests.truth_words.random_graphs import last_three, new_only
from tests.truth_words.random_reducers import reduced

Build = Callable[[Random, Any], Any]

RETRIES = RetryPolicy(max_attempts=2, initial_interval=0.0, backoff_factor=1.0, jitter=False, retry_on=RuntimeError)


def greater(old: float, new: float) -> float:
    """Keep the greater number."""
    return max(old, new)


class Failing(TypedDict, total=False):
    """What nodes write that fail, are tried again, and have handlers."""

    n: int
    log: Annotated[list[Any], operator.add]
    best: Annotated[int, greater]
    seen: Annotated[list[Any], new_only]


def failing(random: Random, saver: Any) -> Any:
    """Nodes in a loop, of which one fails for good, one is tried again, and one has a handler that may ask or fail."""

    def works(state: Failing) -> dict[str, Any]:
        return {"log": [random.randint(0, 3)], "best": random.randint(0, 9), "seen": [random.randint(0, 3)]}

    def shaky(state: Failing) -> dict[str, Any]:
        if random.random() < 0.3:
            raise RuntimeError("shaky")
        return {**works(state), "n": state.get("n", 0) + 1}

    def broken(state: Failing) -> dict[str, Any]:
        if random.random() < 0.5:
            raise ValueError("broken")
        return works(state)

    def handler(state: Failing) -> Any:
        if random.random() < 0.2:
            interrupt("mend?")
        if random.random() < 0.2:
            raise ValueError("the handler too")
        return Command(update=works(state), goto="c") if random.random() < 0.3 else works(state)

    builder = StateGraph(Failing)
    builder.add_node("a", shaky, retry_policy=RETRIES)
    builder.add_node("b", broken, error_handler=handler)
    builder.add_node("side", works)
    builder.add_node("c", broken if random.random() < 0.3 else works)
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("a", "side")
    builder.add_edge("b", "c")
    builder.add_conditional_edges("c", lambda s: "a" if s.get("n", 0) % 3 else END, ["a", END])
    return builder.compile(checkpointer=saver)


class Special(TypedDict, total=False):
    """Channels that aren't kept, or gather, or are managed."""

    n: int
    topic: Annotated[list[str], Topic(str)]
    gathered: Annotated[list[str], Topic(str, accumulate=True)]
    once: Annotated[str, EphemeralValue(str)]
    loose: Annotated[str, EphemeralValue(str, guard=False)]
    untracked: Annotated[str, UntrackedValue(str)]
    any: Annotated[str, AnyValue(str)]
    delta: Annotated[list[str], DeltaChannel(lambda old, writes: [*old, *(x for w in writes for x in w)])]
    is_last: IsLastStep
    left: RemainingSteps


def special(random: Random, saver: Any) -> Any:
    """Nodes that write to such channels now and then, one after the other and side by side."""
    words = ["x", "y", "z"]

    def node(state: Special) -> dict[str, Any]:
        written: dict[str, Any] = {"n": state.get("n", 0) + 1, "topic": random.choice([words[:1], words[:2], "w"])}
        written |= {"gathered": random.choices(words, k=random.randint(0, 2)), "once": random.choice(words)}
        written |= {"untracked": random.choice(words), "delta": random.choices(words, k=random.randint(0, 2))}
        return {key: value for key, value in written.items() if key == "n" or random.random() < 0.5}

    def beside(state: Special) -> dict[str, Any]:
        written = {"topic": ["b"], "gathered": ["b"], "loose": "b", "any": "same", "delta": ["b"]}
        return {key: value for key, value in written.items() if random.random() < 0.5}

    def asks(state: Special) -> dict[str, Any]:
        if random.random() < 0.2:
            interrupt("go on?")
        return beside(state)

    builder = StateGraph(Special)
    builder.add_node("a", node)
    builder.add_node("b", beside)
    builder.add_node("c", asks)
    builder.add_node("d", lambda s: {"any": "later"} if s.get("topic") else {})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("a", "c")
    builder.add_edge(["b", "c"], "d")
    builder.add_conditional_edges("d", lambda s: END if s.get("n", 0) % 3 == 0 else "a", ["a", END])
    return builder.compile(checkpointer=saver)


class Shared(TypedDict, total=False):
    """What a graph and its subgraphs share."""

    n: int
    log: Annotated[list[Any], operator.add]
    recent: Annotated[list[Any], last_three]


class Inner(Shared, total=False):
    """What a subgraph has beside it, and remembers where it can."""

    own: Annotated[list[Any], operator.add]
    count: int


def remembering(random: Random, saver: Any) -> Any:
    """Subgraphs with a memory of their own, with their caller's, and with none; one may be two levels down."""

    def leaf(state: Inner) -> dict[str, Any]:
        if random.random() < 0.25:
            interrupt("inside?")
        return {"own": [random.randint(0, 9)], "count": state.get("count", 0) + 1, "recent": [random.randint(0, 9)]}

    def inner(memory: Any, *, deep: bool) -> Any:
        builder = StateGraph(Inner)
        builder.add_node("one", leaf)
        builder.add_node("two", inner(None, deep=False) if deep else (lambda s: {"own": ["two"]}))
        builder.add_edge(START, "one")
        builder.add_edge("one", "two")
        return builder.compile(checkpointer=memory)

    outer = StateGraph(Shared)
    outer.add_node("a", lambda s: {"n": s.get("n", 0) + 1, "log": ["a"]})
    outer.add_node("kept", inner(True, deep=random.random() < 0.3))
    outer.add_node("anew", inner(None, deep=random.random() < 0.3))
    outer.add_node("none", inner(False, deep=False) if random.random() < 0.3 else (lambda s: {"log": ["none"]}))
    outer.add_edge(START, "a")
    outer.add_edge("a", "kept")
    outer.add_edge("kept", "anew")
    outer.add_edge("anew", "none")
    outer.add_conditional_edges("none", lambda s: END if s.get("n", 0) % 2 == 0 else "a", ["a", END])
    return outer.compile(checkpointer=saver)


class Part(BaseModel):
    """A model in a state."""

    name: str
    size: int = 0


def joined(old: Part | None, new: Part) -> Part:
    """Sizes add up, the newest name counts."""
    return Part(name=new.name, size=(old.size if old else 0) + new.size)


class Modelled(BaseModel):
    """A state with defaults that no node wrote."""

    n: int = 0
    log: Annotated[list[Part], operator.add] = []
    part: Annotated[Part, joined] = Part(name="none")
    given: str = "default"
    facts: dict[str, Part] = {}


def modelled(random: Random, saver: Any) -> Any:
    """A pydantic state whose nodes return models, dicts, or an instance of the state."""

    def node(state: Modelled) -> Any:
        part = Part(name=random.choice("pq"), size=random.randint(0, 3))
        whole = Modelled(n=state.n + 1, log=[part], part=part, facts={"k": part})
        some = {"n": state.n + 1, "log": [part] * random.randint(0, 2), "part": part}
        return random.choice([whole, some, {"n": state.n + 1}])

    def sends(state: Modelled) -> Any:
        if random.random() < 0.5:
            return "c"
        return [Send("worker", Part(name="sent", size=1)) for _ in range(random.randint(1, 2))]

    def asks(state: Modelled) -> Any:
        if random.random() < 0.2:
            interrupt(Part(name="sure?"))
        return {"given": random.choice("uv")}

    builder = StateGraph(Modelled)
    builder.add_node("a", node)
    builder.add_node("worker", lambda part: {"log": [part]})
    builder.add_node("c", asks)
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", sends, ["c", "worker"])
    builder.add_edge("worker", "c")
    builder.add_conditional_edges("c", lambda s: END if s.n % 3 == 0 else "a", ["a", END])
    return builder.compile(checkpointer=saver)


@dataclass
class Fields:
    """A dataclass as a state."""

    n: int = 0
    best: Annotated[float, greater] = 0.0
    log: Annotated[list[Any], operator.add] = field(default_factory=list)
    tags: Annotated[set[str], operator.or_] = field(default_factory=set)


def dataclassed(random: Random, saver: Any) -> Any:
    """A dataclass as a state, with a set and a number that only grows."""

    def node(state: Fields) -> Any:
        best, tags = random.choice([0.1, 0.5, 0.9]), set(random.choices("abc", k=random.randint(0, 2)))
        written = {"n": state.n + 1, "best": best, "tags": tags, "log": [best]}
        return {key: value for key, value in written.items() if key == "n" or random.random() < 0.6}

    builder = StateGraph(Fields)
    builder.add_node("a", node)
    builder.add_node("b", lambda s: {"best": random.choice([0.2, 0.7]), "log": ["b"]})
    builder.add_node("c", lambda s: {"best": random.choice([0.3, 0.8])} if random.random() < 0.7 else {})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("a", "c")
    builder.add_edge(["b", "c"], END)
    return builder.compile(checkpointer=saver)


def functional(random: Random, saver: Any) -> Any:
    """An entrypoint that calls tasks, of which one is tried again, asks, and keeps another value than it returns."""

    @task
    def double(x: int) -> int:
        if random.random() < 0.1:
            raise ValueError("double")
        return 2 * x

    @task(retry_policy=RETRIES)
    def shaky(x: int) -> dict[str, int]:
        if random.random() < 0.3:
            raise RuntimeError("shaky")
        return {"x": x}

    @entrypoint(checkpointer=saver)
    def flow(given: Any, *, previous: Any = None) -> Any:
        number = given.get("n", 1) if isinstance(given, dict) else 1
        found = [double(n).result() for n in range(random.randint(0, 3))]
        if random.random() < 0.3:
            found.append(interrupt("sure?"))
        found.append(shaky(number).result())
        if random.random() < 0.1:
            raise ValueError("flow")
        kept = {"runs": (previous or {}).get("runs", 0) + 1}
        return entrypoint.final(value=found, save=kept) if random.random() < 0.5 else {"runs": kept["runs"], "f": found}

    return flow


KINDS: dict[str, Build] = {
    "failing": failing,
    "special": special,
    "remembering": remembering,
    "modelled": modelled,
    "dataclassed": dataclassed,
    "functional": functional,
    "reduced": reduced,
}
