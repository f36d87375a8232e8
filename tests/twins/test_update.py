"""``ckpt update`` and ``graph.update_state`` do the same: each on its copy of a database, then both are compared."""

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import pytest
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END

from ckpt_cli.errors import NotSupported, Refused, UsageError
from ckpt_cli.history.reducers.names import NamedReducers
from ckpt_cli.history.reducers.reducers import APPEND, LAST, MESSAGES
from ckpt_cli.model import Plan
from ckpt_cli.plans import update
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.pending_writes import Finished
from ckpt_cli.plans.superstep_writer import INPUT, Update
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.twins.older import LibraryFailed
from tests.twins.twin import KINDS, RELEASES, Copies, Release, Twin, compare, must_be_equal

SAID = NamedReducers({"log": APPEND, "n": LAST, "messages": MESSAGES})
"""What a person would say of the scenarios' channels where too little is recorded."""


def to(*nodes: str) -> Callable[[Any], Sequence[str]]:
    """What a person names as the next nodes."""
    return lambda _: nodes


def planned(release: str, thread_id: str, rev: str, *updates: Update, ns: str = "") -> Callable[[Reader], Plan]:
    """The plan of one superstep."""
    return in_bulk(release, thread_id, rev, [updates], ns)


def in_bulk(
    release: str, thread_id: str, rev: str, supersteps: Sequence[Sequence[Update]], ns: str = ""
) -> Callable[[Reader], Plan]:
    """The plan of several updates, with options that answer which reducer or which generation it is."""

    def make(reader: Reader) -> Plan:
        row, said = reader.resolve(thread_id, rev, ns), dict[str, Any]()
        while True:
            try:
                return update.plan(reader, row, Mint(), supersteps, **said).plan
            except (Refused, UsageError) as error:
                if "--reducer" in (error.hint or "") and "reducers" not in said:
                    said["reducers"] = SAID
                elif "--finished" in (error.hint or "") and release != "installed":
                    said["finished"] = Finished.KEEP
                else:
                    raise

    return make


MOST = 6
PLACES = [(release, name, p) for release, name in KINDS for p in range(MOST + 1 if release == "installed" else 4)]
EDGES = ("__start__", "right")
"""Those of the nodes of `commands` that have edges; the others go where they say as they run."""
NO_STATE_GRAPHS = ("bare_pregel", "functional")


@pytest.mark.parametrize(("release", "name", "place"), PLACES)
def test_the_end_is_the_librarys(copies: Copies, release: str, name: str, place: int) -> None:
    """``update_state(config, None, as_node=END)`` and ckpt leave the same, for every kind of graph."""
    for thread_id in copies.threads(name):
        mine, theirs = copies.pair(name, thread_id)
        if place >= len(configs := theirs.targets(MOST)):
            continue
        rev = named(configs[place])
        try:
            mine.apply(planned(release, thread_id, rev, Update(None, END)))
        except (NotSupported, Refused) as error:
            assert name in NO_STATE_GRAPHS
            assert any(words in str(error) for words in ("of a StateGraph", "without the graph"))
        else:
            theirs.ask("update", configs[place], [[[None, END]]])
        compare(mine, theirs)


VALUES: dict[str, dict[str, Any]] = {
    "messages": {"messages": [{"role": "user", "content": "wait", "id": "w"}, {"role": "ai", "content": "ok"}]},
    "log": {"log": ["edited"], "n": 40},
}


def values_for(channels: Sequence[str]) -> dict[str, Any] | None:
    """What is written to a graph with these channels."""
    return {k: v for given in VALUES.values() for k, v in given.items() if k in channels} or None


@pytest.mark.parametrize("as_node", [None, "first", "second", "last"])
@pytest.mark.parametrize(("release", "name", "place"), PLACES)
def test_an_update_is_the_librarys(copies: Copies, release: str, name: str, place: int, as_node: str | None) -> None:
    """Values as a node, or as the node that the library infers: rows, history and further run are the real call's."""
    for thread_id in copies.threads(name):
        mine, theirs = copies.pair(name, thread_id)
        if place >= len(configs := theirs.targets(MOST)):
            continue
        rev = named(configs[place])
        nodes, channels = theirs.shape()
        node = {None: None, "first": nodes[0], "second": nodes[min(1, len(nodes) - 1)], "last": nodes[-1]}[as_node]
        values = values_for(channels)
        before = mine.ask("read_all")
        go = None if name != "commands" or acts(mine, release, rev, node) in EDGES else to()
        try:
            mine.apply(planned(release, thread_id, rev, Update(values, node, go)))
        except (NotSupported, Refused, UsageError) as error:
            refused(theirs, configs[place], values, node, error)
            assert mine.ask("read_all") == before
            continue
        theirs.ask("update", configs[place], [[[values, node]]])
        compare(mine, theirs)


def named(config: Any) -> str:
    """The revision that a config names."""
    return str(config["configurable"].get("checkpoint_id", "@"))


def acts(twin: Twin, release: str, rev: str, node: str | None) -> str | None:
    """Who acts where nobody is named."""
    with suppress(UsageError), closing(open_file(twin.path)) as saver:
        plan = planned(release, twin.thread_id, rev, Update(None, node, to()))(Reader(saver, Codec()))
        return next(note for note in plan.notes if note.startswith("as ")).split()[1].rstrip(":")
    return node


@pytest.mark.parametrize(("release", "name", "place"), PLACES)
def test_an_input_is_the_librarys(copies: Copies, release: str, name: str, place: int) -> None:
    """Values as the graph's input are what ``update_state(config, values, as_node="__input__")`` makes of them."""
    for thread_id in copies.threads(name):
        mine, theirs = copies.pair(name, thread_id)
        values = values_for(theirs.shape()[1])
        if place >= len(configs := theirs.targets(MOST)) or values is None:
            continue
        try:
            mine.apply(planned(release, thread_id, named(configs[place]), Update(values, INPUT)))
        except NotSupported:
            assert name in NO_STATE_GRAPHS
            continue
        theirs.ask("update", configs[place], [[[values, INPUT]]])
        compare(mine, theirs)


BULKS: dict[str, list[list[str]]] = {
    "one after another": [["first"], ["last"]],
    "together, then one": [["first", "last"], ["first"]],
    "twice the same": [["last", "last"], ["last"]],
    "as input, then as node": [[INPUT], ["first"]],
    "ended, then input": [["first"], [END], [INPUT]],
}


@pytest.mark.parametrize("bulk", BULKS)
@pytest.mark.parametrize(("release", "name"), KINDS)
def test_a_bulk_is_the_librarys(copies: Copies, release: str, name: str, bulk: str) -> None:
    """Several supersteps at once are ``bulk_update_state``, at the head and in the past."""
    for thread_id in copies.threads(name):
        for place in (0, 3):
            mine, theirs = copies.pair(name, thread_id)
            nodes, channels = theirs.shape()
            values = values_for(channels)
            if place >= len(configs := theirs.targets(MOST)) or values is None or name == "commands":
                continue
            who = {"first": nodes[0], "last": nodes[-1], INPUT: INPUT, END: END}
            once = {channel: value for channel, value in values.items() if channel != "n"}  # takes one write a step
            given = [
                [(None if one == END else once if at else values, who[one]) for at, one in enumerate(step)]
                for step in BULKS[bulk]
            ]
            steps = [[Update(*one) for one in step] for step in given]
            try:
                mine.apply(in_bulk(release, thread_id, named(configs[place]), steps))
            except (NotSupported, Refused, UsageError) as error:
                refused(theirs, configs[place], values, nodes[0], error)
                continue
            theirs.ask("update", configs[place], given)
            compare(mine, theirs, counters=name != "deltas")  # an Overwrite made one smaller


@pytest.mark.parametrize("as_node", [None, "first", "last"])
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ["subgraphs", "stateful_subgraph"])
def test_a_subgraphs_update_is_the_librarys(copies: Copies, release: str, name: str, as_node: str | None) -> None:
    """In a subgraph's namespace, waiting or not, it is what ``update_state`` does whose config names that namespace."""
    for thread_id in copies.threads(name):
        for ns in copies.pair(name, thread_id)[0].ask("namespaces"):
            mine, theirs = copies.pair(name, thread_id)
            nodes, channels = theirs.library.call("subgraph", [name, thread_id, ns])
            node, values = {None: None, "first": nodes[0], "last": nodes[-1]}[as_node], values_for(channels)
            config = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}
            try:
                mine.apply(planned(release, thread_id, "@", Update(values, node), ns=ns))
            except (Refused, UsageError) as error:
                refused(theirs, config, values, node, error)
                continue
            theirs.ask("update", config, [[[values, node]]])
            must_be_equal(mine.ask("read_all", ns)[0], theirs.ask("read_all", ns)[0])
            compare(mine, theirs)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("n", "go"), [(0, ("left", "right")), (1, ("left",)), (2, ())])
def test_a_router_of_several_ways(copies: Copies, release: str, n: int, go: tuple[str, ...]) -> None:
    """A router that always went to both nodes goes there again; for one with several recorded routes ckpt asks."""
    for thread_id in copies.threads("routes"):
        for place in range(MOST):
            mine, theirs = copies.pair("routes", thread_id)
            if place >= len(configs := theirs.targets(MOST)):
                continue
            rev, values = named(configs[place]), {"log": ["edited"], "n": n}
            if thread_id == "routes-all":
                with pytest.raises(UsageError, match="ask has several recorded routes") as caught:
                    mine.apply(planned(release, thread_id, rev, Update(values, "ask")))
                assert caught.value.candidates and all(one.startswith("--next ") for one in caught.value.candidates)
            elif n:
                continue
            mine.apply(
                planned(release, thread_id, rev, Update(values, "ask", to(*go) if thread_id == "routes-all" else None))
            )
            theirs.ask("update", configs[place], [[[values, "ask"]]])
            compare(mine, theirs)


def refused(twin: Twin, config: Any, values: Any, node: str | None, error: Exception) -> None:
    """What ckpt asks for is something that its records can't say, or that the library refuses too."""
    message = " ".join([f"{error} {getattr(error, 'hint', '')}", *getattr(error, "candidates", ())])
    if "ambiguous" in message:
        with pytest.raises((InvalidUpdateError, LibraryFailed)):
            twin.ask("update", config, [[[values, node]]])
        return
    reasons = ("--next", "StateGraph", "without the graph", "is known in this thread", "is known in this subgraph")
    assert any(words in message for words in reasons), message


PENDING = [("interrupts", "ask-many", 0), ("errors", "error", 0), ("forks", "forks", 4)]
"""Threads of langgraph 0.6 with tasks that had finished, and which of their checkpoints is updated."""


@pytest.mark.parametrize("release", ["0.6.11"])
@pytest.mark.parametrize(("name", "thread_id", "place"), PENDING)
def test_finished_tasks_count_as_the_person_says(copies: Copies, name: str, thread_id: str, place: int) -> None:
    """If nothing stored says whether finished tasks count, ckpt asks, names them, and follows the answer."""
    mine, other = copies.pair(name, thread_id)
    config = mine.targets(MOST)[place]
    rev, given = config["configurable"].get("checkpoint_id", "@"), Update({"log": ["edited"]}, mine.shape()[0][0])
    with pytest.raises(Refused, match=r"to 1\.0\.2 applies the results of .* at (that|a past) checkpoint"):
        mine.apply(planned("installed", thread_id, rev, given))
    for twin, said, count in ((mine, Finished.DROP, 0), (other, Finished.KEEP, 1)):

        def make(reader: Reader, said: Finished = said) -> Plan:
            row = reader.resolve(thread_id, rev)
            return update.plan(reader, row, Mint(), [[given]], reducers=SAID, finished=said).plan

        notes = twin.apply(make).notes
        assert sum("kept: the results of" in note for note in notes) == count
        assert sum("dropped: the results of" in note for note in notes) <= 1 - count


@pytest.mark.parametrize("release", ["0.6.11"])
@pytest.mark.parametrize(("name", "thread_id", "place"), PENDING)
def test_an_upgraded_database_is_of_the_newer_generation(
    copies: Copies, installed: Release, name: str, thread_id: str, place: int
) -> None:
    """What 0.6 wrote and the installed saver has opened since is updated as the installed library does it, unasked."""
    installed.call("made", [name])
    mine, theirs = (replace(twin, library=installed) for twin in copies.pair(name, thread_id))
    rev = mine.targets(MOST)[place]["configurable"].get("checkpoint_id", "@")
    config = theirs.targets(MOST)[place]
    mine.apply(planned("installed", thread_id, rev, Update({"log": ["edited"]}, mine.shape()[0][0])))
    theirs.ask("update", config, [[[{"log": ["edited"]}, theirs.shape()[0][0]]]])
    compare(mine, theirs)
    installed.call("close", [])
