"""``ckpt update`` and ``graph.update_state`` do the same: each on its copy of a database, then both are compared."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END

from ckpt_cli.errors import NotSupported, Refused, UsageError
from ckpt_cli.history.reducers import APPEND, LAST
from ckpt_cli.model import Plan
from ckpt_cli.plans import update
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.pending import Finished
from ckpt_cli.plans.update import Update
from ckpt_cli.reading import Reader
from tests.twins.older import LibraryFailed
from tests.twins.twin import KINDS, Asked, Copies, Twin, compare

SAID = {"log": APPEND, "n": LAST}
"""What a person would say of the scenarios' channels where too little is recorded."""


def planned(release: str, thread_id: str, rev: str, *updates: Update) -> Callable[[Reader], Plan]:
    """The plan of one superstep; where ckpt asks which reducer or which generation it is, it is told."""

    def make(reader: Reader) -> Plan:
        row, said = reader.resolve(thread_id, rev), dict[str, Any]()
        while True:
            try:
                return update.plan(reader, row, Mint(), [updates], **said)
            except Refused as error:
                if "--reducer" in (error.hint or ""):
                    said["reducers"] = SAID
                elif "--finished" in (error.hint or "") and release != "installed":
                    said["finished"] = Finished.KEEP
                else:
                    raise

    return make


MOST = 8
PLACES = [(release, name, p) for release, name in KINDS for p in range(MOST + 1 if release == "installed" else 6)]
NO_STATE_GRAPHS = ("bare_pregel", "functional")


@pytest.mark.parametrize(("release", "name", "place"), PLACES)
def test_the_end_is_the_librarys(copies: Copies, release: str, name: str, place: int) -> None:
    """``update_state(config, None, as_node=END)`` and ckpt leave the same, for every kind of graph."""
    for thread_id in copies.threads(name):
        mine, theirs = copies.pair(name, thread_id)
        if place >= len(configs := theirs.targets(MOST)):
            continue
        rev = configs[place]["configurable"].get("checkpoint_id", "@")
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


@pytest.mark.parametrize("as_node", [None, "first", "last"])
@pytest.mark.parametrize(("release", "name", "place"), PLACES)
def test_an_update_is_the_librarys(copies: Copies, release: str, name: str, place: int, as_node: str | None) -> None:
    """Values as a node, or as whom the library infers: rows, history and the run onwards are those of the real call."""
    for thread_id in copies.threads(name):
        mine, theirs = copies.pair(name, thread_id)
        if place >= len(configs := theirs.targets(MOST)):
            continue
        rev = configs[place]["configurable"].get("checkpoint_id", "@")
        nodes, channels = theirs.shape()
        node = {None: None, "first": nodes[0], "last": nodes[-1]}[as_node]
        values = {k: v for given in VALUES.values() for k, v in given.items() if k in channels} or None
        before = mine.ask("told")
        go = () if name == "commands" else None  # where a Command went is no edge of the graph's
        if go is not None and as_node is None:
            continue
        try:
            mine.apply(planned(release, thread_id, rev, Update(values, node, go)))
        except (NotSupported, Refused, UsageError) as error:
            refused(theirs, configs[place], values, node, error)
            assert mine.ask("told") == before
            continue
        theirs.ask("update", configs[place], [[[values, node]]])
        compare(mine, theirs)


def refused(twin: Twin, config: Any, values: Any, node: str | None, error: Exception) -> None:
    """What ckpt asks for is something that its records can't say, or that the library refuses too."""
    told = f"{error} {getattr(error, 'hint', '')}"
    if "ambiguous" in told:
        with pytest.raises((InvalidUpdateError, LibraryFailed)):
            twin.ask("update", config, [[[values, node]]])
        return
    reasons = ("--next", "StateGraph", "without the graph", "is known of this thread")
    assert any(words in told for words in reasons), told


PENDING = [("interrupts", "ask-many", 0), ("errors", "error", 0), ("forks", "forks", 4)]
"""Threads of langgraph 0.6 with tasks that had finished, and which of their checkpoints is updated."""


@pytest.mark.parametrize("release", ["0.6.11"])
@pytest.mark.parametrize(("name", "thread_id", "place"), PENDING)
def test_finished_tasks_count_as_the_person_says(copies: Copies, name: str, thread_id: str, place: int) -> None:
    """Where nothing stored tells whether finished tasks count, ckpt asks, names them, and does what is said."""
    mine, other = copies.pair(name, thread_id)
    config = mine.targets(MOST)[place]
    rev, given = config["configurable"].get("checkpoint_id", "@"), Update({"log": ["edited"]}, mine.shape()[0][0])
    with pytest.raises(Refused, match=r"had finished at that checkpoint counts .* up to langgraph 1\.0\.2"):
        mine.apply(planned("installed", thread_id, rev, given))
    for twin, said, count in ((mine, Finished.DROP, 0), (other, Finished.KEEP, 1)):

        def make(reader: Reader, said: Finished = said) -> Plan:
            row = reader.resolve(thread_id, rev)
            return update.plan(reader, row, Mint(), [[given]], reducers=SAID, finished=said)

        told = twin.apply(make).notes
        assert sum("taken over: what" in note for note in told) == count
        assert sum("had finished is not taken over" in note for note in told) <= 1 - count


@pytest.mark.parametrize("release", ["0.6.11"])
@pytest.mark.parametrize(("name", "thread_id", "place"), PENDING)
def test_an_upgraded_database_is_of_the_newer_generation(
    copies: Copies, installed: Asked, name: str, thread_id: str, place: int
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
