"""How subgraphs are nested."""

from ckpt_cli.history.tasks.nesting import (
    Call,
    called_from,
    caller_task,
    calls,
    earlier_calls,
    inside,
    node,
    of_task,
    outer_graph,
)


def test_a_namespace_is_the_path_of_calls_to_it() -> None:
    """Bars separate the calls; a call is a node and, unless the subgraph has its own memory, a task."""
    assert (outer_graph("a:1|b:2", ["", "a:1", "a:1|b:2"]), node("a:1|b:2"), caller_task("a:1|b:2")) == (
        "a:1",
        "b",
        "2",
    )
    assert (outer_graph("memory", ["", "memory"]), node("memory"), caller_task("memory")) == ("", "memory", "")
    assert inside(["", "a:1", "a:1|b:2", "a:11"], "a:1") == ["a:1|b:2"]


def test_a_task_leads_to_the_checkpoint_that_called() -> None:
    """The id in a namespace names a task that started from an outer checkpoint; deeper checkpoints are counted."""
    members = {"": ("r0", "r1"), "a:1": ("a0", "a1"), "a:1|b:2": ("b0",)}
    assert calls("", members, {"1": "r1"}, {}) == [Call("a:1", "r1", ("a0", "a1"), 1)]
    assert calls("a:1", members, {"2": "a1"}, {}) == [Call("a:1|b:2", "a1", ("b0",))]


def test_a_subgraph_with_a_memory_is_parted_by_its_callers() -> None:
    """It has one namespace for all turns; metadata says which checkpoint called each of its checkpoints."""
    members = {"": ("r0", "r1"), "memory": ("m0", "m1", "m2")}
    parents = {("memory", "m0"): "r0", ("memory", "m1"): "r0", ("memory", "m2"): "r1"}
    assert calls("", members, {}, parents) == [
        Call("memory", "r0", ("m0", "m1")),
        Call("memory", "r1", ("m2",)),
    ]


def test_checkpoints_inside_a_memory_belong_to_the_call_that_made_them() -> None:
    """They were made after the first checkpoint of their call and before that of the next."""
    members = {"memory": ("m1", "m4"), "memory|in:1": ("m2", "m3"), "memory|in:2": ("m5",)}
    parents = {("memory", "m1"): "r0", ("memory", "m4"): "r1"}
    assert [(call.caller, call.nested) for call in calls("", members, {}, parents)] == [("r0", 2), ("r1", 1)]


def test_a_call_without_a_known_caller_is_given_too() -> None:
    """If neither task nor metadata names the caller, it is unknown, and no checkpoint is lost."""
    assert calls("", {"": ("r0",), "a:9": ("a0",)}, {}, {}) == [Call("a:9", None, ("a0",))]


def test_numbers_and_called_functions_are_no_graphs() -> None:
    """The second subgraph that a task calls has a number, one that a ``@task`` calls has the function's name."""
    members = {"": ("r0",), "a:1": ("a0",), "a:1|1": ("a1",), "b:2|call:3": ("c0",), "b:2|call:3|d:4": ("d0",)}
    assert [*called_from("", members)] == ["a:1", "a:1|1", "b:2|call:3"]
    assert [*called_from("a:1", members)] == []
    assert of_task(sorted(members), "", "a", "1") == ["a:1", "a:1|1"]
    assert outer_graph("b:2|call:3|d:4", sorted(members)) == "b:2|call:3"
    assert outer_graph("b:2|call:3", sorted(members)) == outer_graph("a:1|1", sorted(members)) == ""
    assert calls("", members, {"1": "r0", "3": "r0"}, {}) == [
        Call("a:1", "r0", ("a0",)),
        Call("a:1|1", "r0", ("a1",)),
        Call("b:2|call:3", "r0", ("c0",), 1),
    ]
    assert (node("a:1|1"), node("1"), caller_task("1")) == ("a", "1", "")


def test_earlier_calls_are_looked_for_among_what_is_stored() -> None:
    """In their order, whatever number the last has: a node may have many digits as its name."""
    stored = ["", "a:1", "a:1|1", "a:1|10", "a:1|2", "a:1|2|b:3", "memory"]
    assert earlier_calls("a:1|10", stored) == ["a:1", "a:1|1", "a:1|2"]
    assert earlier_calls("memory|" + "9" * 5000, stored) == ["memory"]
    assert earlier_calls("a:1", stored) == []
