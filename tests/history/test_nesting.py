"""How subgraphs are nested."""

from ckpt_cli.history.tasks.nesting import Call, above, calls, inside, node, task


def test_a_namespace_is_the_path_of_calls_to_it() -> None:
    """Bars separate the calls; a call is a node and, unless the subgraph has its own memory, a task."""
    assert (above("a:1|b:2"), node("a:1|b:2"), task("a:1|b:2")) == ("a:1", "b", "2")
    assert (above("memory"), node("memory"), task("memory")) == ("", "memory", None)
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
