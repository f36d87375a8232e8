"""Task ids and paths of every era, compared with ids that the real libraries made."""

import pytest

from ckpt_cli.history.tasks.task_ids import Place, caller, pulled, sent, trigger_sets, update_ids, with_id
from ckpt_cli.values.langgraph_values import Interrupt


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ("~__pregel_pull, review", "review"),
        ("~__pregel_pull, a, b", "a, b"),
        ("~__pregel_push, 0000000003, 0000000000", None),
        ("~__pregel_pull, bad, node_error_handler, 0000000000", None),
        ("~~0000000001~__pregel_pull, a", None),
        ("", None),
    ],
)
def test_pulled(path: str, node: str | None) -> None:
    """A path names the node that an edge started; the name may contain commas."""
    assert pulled(path) == node


def test_sent_and_caller() -> None:
    """Sends are numbered; a call of the functional API names the entrypoint."""
    call = "~__pregel_push, ~__pregel_pull, flow, 0000000000, 0000000001"
    assert sent("~__pregel_push, 0000000003, 0000000000") == 3
    assert (sent(call), caller(call)) == (None, "flow")
    assert caller("~__pregel_pull, flow") is None


MADE = {
    # library: checkpoint, step, v, node, triggers, id
    "langgraph 1.2.22": "1f1e585a-4cd2-6ecc-8002-32b34698c963 3 4 post "
    "branch:to:post 146c3b6a-bbb2-6461-242c-b3668f90ab7a",
    "langgraph 0.3.21": "1f1e5859-40fa-6bb5-8002-917846691684 3 2 post "
    "ask,branch:to:post d94fa8c1-7da4-4a0d-1dd8-b1449b0b18b0",
    "langgraph 0.2.60": "1f1e5858-f022-6904-8002-5654e281fc65 3 1 post ask 7a5c2b17-1f82-d49e-a4d3-21639c32e154",
    "langgraph 0.2.60 with langgraph-checkpoint 2.1.2": "1f1ec794-260a-651f-8001-456f0fce7638 2 2 b "
    "branch:a:condition:b 37629c64-4c67-b6f1-ce4a-e983822b4b2e",
    "langgraph 0.2.3": "1f1e5858-796d-6276-8001-e4a066f297fb 2 1 b a 07ecd760-54e0-55ee-b50d-f167216afe35",
    "langgraph 0.1.19": "1f1e5858-48b9-628f-8001-9b79e61663cf 2 1 c a 61107936-166e-5fb4-986d-2707170e2c62",
    "LangGraph.js 1.4.17": "1f1e5869-085c-6420-8001-4c529a004061 2 4 b "
    "branch:to:b 20189cb6-6969-5ada-880f-f2542348682f",
}


@pytest.mark.parametrize("library", MADE)
def test_ids_that_libraries_made(library: str) -> None:
    """Each era's own recipe gives the id that was recorded."""
    checkpoint_id, step, v, node, triggers, made = MADE[library].split()
    place = Place(checkpoint_id, "", int(step), int(v), javascript=".js" in library)
    assert made in list(place.pull(node, triggers.split(",")))


def test_id_of_a_send() -> None:
    """The task id of a Send contains its index in the list."""
    place = Place("1f1e585a-4ba9-6a5d-8001-8381ed3f7055", "", 2, 4)
    made = {next(place.push("work", index)) for index in range(3)}
    assert "7864ddad-6156-a903-abd8-30f6840b79cc" in made
    old = Place("1f1ec794-260a-651f-8001-456f0fce7638", "", 2, 2)  # langgraph 0.2.60 with langgraph-checkpoint 2.1.2
    assert {"8046259f-fb88-37d7-8dfc-3b19db457d68", "b15db4a6-b08a-2c88-61f6-9a8500545346"} <= {
        made for index in range(2) for made in old.push("w", index)
    }


def test_namespace_is_part_of_the_id() -> None:
    """The same node in a subgraph is another task."""
    root, sub = (Place("1f044c4a-fd55-6d40-8001-4dec1219bbeb", ns, 2, 4) for ns in ("", "child:x"))
    assert next(root.push("w", 0)) != next(sub.push("w", 0))


def test_writes_that_are_no_tasks() -> None:
    """Updates and the delta writes of a whole run are stored under ids of their own."""
    place = Place("1f1e585a-4ba9-6a5d-8001-8381ed3f7055", "", 2, 4)
    assert all(one[14] == "5" for one in update_ids(place.checkpoint_id))
    assert place.synthetic("00000002-6156-a903-abd8-30f6840b79cc")
    assert place.synthetic("ffffffff-0000-0003-abd8-30f6840b79cc")
    assert not place.synthetic("7864ddad-6156-a903-abd8-30f6840b79cc")


def test_trigger_sets_begin_with_the_likely() -> None:
    """All triggers come first, then those that fired; a node of many triggers doesn't cost all subsets."""
    assert list(trigger_sets(["b", "a"], ["b"]))[:2] == [("a", "b"), ("b",)]
    assert len(list(trigger_sets([f"c{n}" for n in range(30)]))) < 40


def test_identified() -> None:
    """An interrupt of 0.4 and 0.5 gets the id that the library computes from its namespaces."""
    interrupt = Interrupt(None, "ok?", ["ask:0b1f2486-95e3-11ff-97d5-379108a0be87"])
    assert with_id(interrupt).id == "8d4ea41ebc92cb9fd5086577b58b7d75"
    assert with_id(Interrupt("own", 1, ["x"])).id == "own"
    assert with_id(Interrupt(None, 1)).id is None
