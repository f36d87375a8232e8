"""Errors that LangGraph.js 1.7.3 stores of tasks that didn't fail: aborted ones, and those that left a subgraph."""

import json
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from tests.commands.javascript import ABORTED, Written, checkpoint, database

_SEEN: dict[str, Any] = {"__start__": {"__start__": 1}}
MAIL, PAY = "d4662da5-d2e2-52ec-b087-7b1b43681d10", "ff2fb5b6-49a5-54af-b10e-c02cdfea1c04"
LOST = [(MAIL, -1, "__error__", ABORTED), (MAIL, 0, "steps", ["mail"])]
"""What is stored of the node mail, which returned; its edge to fin is missing."""
DECLINED = (PAY, -1, "__error__", {"message": "declined", "name": "Error"})
CALL = "sub:d139642c-0716-574b-bdbc-e584f9cc64b3"
LEFT = ("886acba4-ce17-5ef9-be0d-43edbdc95679", -1, "__error__", {"message": "", "name": "ParentCommand"})


def aborted(path: Path, *paid: Written, error: Written = DECLINED) -> Path:
    """A thread in which pay failed while mail, beside it, had returned; both lead to fin; `paid` was written then."""
    versions = {"__start__": 2, "steps": 2, "branch:to:pay": 2, "branch:to:mail": 2}
    first = checkpoint(
        "1f1ecbc4-5ac1-6bb0-ffff-77a6b2a53e04",
        -1,
        {"steps": [], "__start__": {"steps": ["in"]}, "__pregel_tasks": []},
        {"__start__": 1},
        {},
        ("81f3d456-adcf-5859-92db-1e00fa35450f", 0, "steps", ["in"]),
        ("81f3d456-adcf-5859-92db-1e00fa35450f", 1, "branch:to:pay", None),
        ("81f3d456-adcf-5859-92db-1e00fa35450f", 2, "branch:to:mail", None),
    )
    failed = checkpoint(
        "1f1ecbc4-5af2-68f0-8000-82438adde11a",
        0,
        {"steps": ["in"], "__pregel_tasks": [], "branch:to:pay": None, "branch:to:mail": None},
        versions,
        _SEEN,
        *LOST,
        error,
        *paid,
    )
    if not paid:
        return database(path, first, failed)
    ran = {**_SEEN, "mail": {"branch:to:mail": 2}, "pay": {"branch:to:pay": 2}}
    then = {**versions, "steps": 3, "branch:to:pay": 3, "branch:to:mail": 3, "branch:to:fin": 3}
    resumed = checkpoint(
        "1f1ecbc4-5b3e-63e0-8001-53ad54ef6476",
        1,
        {"steps": ["in", "mail", "pay"], "__pregel_tasks": [], "branch:to:fin": None},
        then,
        ran,
        ("dd783c15-53b7-5d31-b3f3-fa0a4e612d1a", 0, "steps", ["fin"]),
    )
    end = checkpoint(
        "1f1ecbc4-5b51-6c60-8002-29d886558b6d",
        2,
        {"steps": ["in", "mail", "pay", "fin"], "__pregel_tasks": []},
        {**then, "steps": 4, "branch:to:fin": 4},
        {**ran, "fin": {"branch:to:fin": 3}},
    )
    return database(path, first, failed, resumed, end)


def resumed(path: Path) -> Path:
    """The same thread after pay has run again."""
    return aborted(path, (PAY, 0, "steps", ["pay"]), (PAY, 1, "branch:to:fin", None))


FETCH, OWN = "335d293a-00cf-5a9d-8878-4ec5e0829f21", {"message": "aborted by itself", "name": "AbortError"}


def alone(path: Path, *written: Written) -> Path:
    """A thread whose one task raised an AbortError, and what it wrote."""
    first = checkpoint(
        "1f1ecdee-69b0-6550-ffff-e4d004c182f1",
        -1,
        {"out": [], "__start__": {"out": ["x"]}, "__pregel_tasks": []},
        {"__start__": 1},
        {},
        ("f93650f5-7705-5ddf-b26b-b4d55b6a8177", 0, "out", ["x"]),
        ("f93650f5-7705-5ddf-b26b-b4d55b6a8177", 1, "branch:to:f", None),
    )
    raised = checkpoint(
        "1f1ecdee-69b2-6c60-8000-f67214dbea89",
        0,
        {"out": ["x"], "__pregel_tasks": [], "branch:to:f": None},
        {"__start__": 2, "out": 2, "branch:to:f": 2},
        _SEEN,
        (FETCH, -1, "__error__", OWN),
        *written,
    )
    return database(path, first, raised)


def left(path: Path) -> Path:
    """A thread whose subgraph's node check left by ``Command({graph: Command.PARENT, goto: "done"})``."""
    outer = "1f1ecbc4-6426-6840-8000-6f36d03afc1a"
    sub = CALL.partition(":")[2]
    versions = {"__start__": 2, "x": 2, "branch:to:sub": 2}
    parents = {"parents": {"": outer}}
    return database(
        path,
        checkpoint(outer, 0, {"x": 1, "branch:to:sub": None, "__pregel_tasks": []}, versions, _SEEN,
                   (sub, 0, "x", 2), (sub, 1, "branch:to:done", "sub")),
        checkpoint("1f1ecbc4-6463-68d0-8001-20a11bab8313", 1, {"x": 2, "branch:to:done": "sub", "__pregel_tasks": []},
                   {**versions, "x": 3, "branch:to:sub": 3, "branch:to:done": 3},
                   {**_SEEN, "sub": {"branch:to:sub": 2}},
                   ("1fc5b746-5353-50f1-8f32-441cd56e5b81", 0, "x", 3)),
        checkpoint("1f1ecbc4-646a-6e00-8002-d5ddcccf25d6", 2, {"x": 3, "__pregel_tasks": []},
                   {**versions, "x": 4, "branch:to:sub": 3, "branch:to:done": 4},
                   {**_SEEN, "sub": {"branch:to:sub": 2}, "done": {"branch:to:done": 3}}),
        **{CALL: [
            checkpoint("1f1ecbc4-6437-69b0-ffff-3038d9a5269a", -1, {"__start__": {"x": 1}, "__pregel_tasks": []},
                       {"__start__": 1}, {}, ("464c3ea2-c2eb-585a-aca1-c3315cf30ef3", 0, "x", 1),
                       ("464c3ea2-c2eb-585a-aca1-c3315cf30ef3", 1, "branch:to:check", None), **parents),
            checkpoint("1f1ecbc4-6441-65f0-8000-82dacac04708", 0,
                       {"x": 1, "__pregel_tasks": [], "branch:to:check": None},
                       {"__start__": 2, "x": 2, "branch:to:check": 2}, _SEEN, LEFT, **parents),
        ]},
    )  # fmt: skip


Said = pytest.CaptureFixture[str]


def said(capsys: Said, path: Path, *words: str) -> str:
    """What a command prints."""
    assert run([*words, "-d", str(path)]) == 0
    return capsys.readouterr().out


def json_of(capsys: Said, path: Path, *words: str) -> Any:
    """What a command gives as JSON."""
    return json.loads(said(capsys, path, *words, "--json"))


def test_an_aborted_task_has_not_failed(tmp_path: Path, capsys: Said) -> None:
    """Only pay failed; mail has a result and was aborted; its error is shown, and is that of no failure."""
    path = aborted(tmp_path / "js.sqlite")
    tasks = {task["node"]: task for task in json_of(capsys, path, "show", "t")["tasks"]}
    assert (tasks["mail"]["status"], tasks["mail"]["error"], tasks["mail"]["aborted"]) == ("finished", ABORTED, True)
    assert (tasks["pay"]["status"], tasks["pay"]["aborted"]) == ("failed", False)
    shown = said(capsys, path, "show", "t")
    assert "failed before" not in shown
    assert "(then its edges are missing): AbortError: This operation was aborted" in shown
    assert "to go on (with a checkpoint_id in it, older LangGraph.js runs this whole step again):" in shown
    assert said(capsys, path, "log", "t").splitlines()[0].endswith("✗ pay")
    assert "mail\tfinished\t__error__" in said(capsys, path, "writes", "t")


def test_the_edge_of_an_aborted_task_is_lost(tmp_path: Path, capsys: Said) -> None:
    """`graph` infers no end of mail, and counts no failure; only pay failed and ran again."""
    path = resumed(tmp_path / "js.sqlite")
    [graph] = json_of(capsys, path, "graph", "t")["graphs"]
    assert {node["name"]: node["failed"] for node in graph["nodes"]} == {"__start__": 0, "mail": 0, "pay": 1, "fin": 0}
    assert [edge for edge in graph["edges"] if edge["source"] == "mail"] == []
    trace = json_of(capsys, path, "trace", "t")
    assert {node["node"]: (node["failed"], node["again"]) for node in trace["nodes"]} == {
        "__start__": (0, 0), "mail": (0, 0), "pay": (1, 1), "fin": (0, 0)
    }  # fmt: skip
    assert "\tpay failed then" in said(capsys, path, "log", "t")


def test_an_edge_that_raised_an_abort_error_has_failed(tmp_path: Path, capsys: Said) -> None:
    """The thread's one task has a result and an AbortError of its conditional edge: nobody aborted it, so it failed."""
    path = alone(tmp_path / "js.sqlite", (FETCH, 0, "out", ["f"]))
    assert said(capsys, path, "threads", "--status", "failed").startswith("t\t")
    assert "failed\t1" in said(capsys, path, "stats")
    [task] = json_of(capsys, path, "show", "t")["tasks"]
    assert (task["status"], task["error"], task["aborted"]) == ("finished", OWN, False)
    shown = said(capsys, path, "show", "t")
    assert "failed before, or in its conditional edge:  AbortError: aborted by itself" in shown


def test_an_abort_error_of_the_node_itself(tmp_path: Path, capsys: Said) -> None:
    """A node whose own request was aborted failed, and finished when it ran again: its edge is stored."""
    path = alone(tmp_path / "js.sqlite", (FETCH, 0, "out", ["f"]), (FETCH, 1, "branch:to:fin", None))
    [task] = json_of(capsys, path, "show", "t")["tasks"]
    assert (task["error"], task["aborted"]) == (OWN, False)
    [_, node, *_] = json_of(capsys, path, "graph", "t")["graphs"][0]["nodes"]
    assert (node["name"], node["failed"]) == ("f", 1)


def test_a_task_that_was_aborted_before_ran_again(tmp_path: Path, capsys: Said) -> None:
    """LangGraph.js aborted mail before it returned; as its edge is stored, it has run again."""
    path = aborted(tmp_path / "js.sqlite", (MAIL, 1, "branch:to:fin", None), (PAY, 0, "steps", ["pay"]))
    tasks = {task["node"]: task for task in json_of(capsys, path, "show", "t", "step:0")["tasks"]}
    assert (tasks["mail"]["error"], tasks["mail"]["aborted"]) == (ABORTED, False)
    again = {node["node"]: node["again"] for node in json_of(capsys, path, "trace", "t")["nodes"]}
    assert (again["mail"], again["pay"]) == (1, 1)


def test_a_node_that_aborts_itself_and_the_others(tmp_path: Path, capsys: Said) -> None:
    """Of two AbortErrors, that without a result is the failure for which LangGraph.js aborted the other task."""
    path = aborted(tmp_path / "js.sqlite", error=(PAY, -1, "__error__", OWN))
    tasks = {task["node"]: task for task in json_of(capsys, path, "show", "t")["tasks"]}
    assert (tasks["mail"]["status"], tasks["mail"]["aborted"]) == ("finished", True)
    assert (tasks["pay"]["status"], tasks["pay"]["error"]) == ("failed", OWN)


def test_leaving_to_the_graph_above_is_no_failure(tmp_path: Path, capsys: Said) -> None:
    """The task left by a Command for the graph above, which went on: nothing failed, and nothing is pending."""
    path = left(tmp_path / "js.sqlite")
    tree = said(capsys, path, "tree", "t", "--full")
    assert "failed" not in tree
    assert "check  no result here; the graph above has gone on" in tree
    [task] = json_of(capsys, path, "writes", "t", "--ns", "sub")["tasks"]
    assert (task["status"], task["writes"][0]["channel"]) == ("left", "__error__")
    [task] = json_of(capsys, path, "show", "t", "--ns", "sub")["tasks"]
    assert (task["status"], task["error"]) == ("left", None)
    trace = json_of(capsys, path, "trace", "t")
    assert [(node["node"], node["failed"]) for node in trace["nodes"] if node["failed"]] == []
    assert "pending" not in {step["spent"] for step in trace["steps"]}
    [_, sub] = json_of(capsys, path, "graph", "t")["graphs"]
    assert [(node["name"], node["failed"], node["left"]) for node in sub["nodes"]][1:] == [("check", 0, 1)]
    assert "failed\t0" in said(capsys, path, "stats")
    assert run(["show", "t", "failed", "--ns", "sub", "-d", str(path)]) == 4


CALLED, ENTRY = "09d2387d-c6c6-5907-8391-1cdd51bac023", "a39171e1-ce1b-5e9a-b990-7e4c402ac220"


@pytest.mark.parametrize("answers", [["van"], []])
def test_an_entrypoint_whose_call_failed(answers: list[str], tmp_path: Path, capsys: Said) -> None:
    """A ``@task`` failed after its entrypoint had taken an answer, which LangGraph.js then aborted: the thread failed.

    Before the answer the question waits.
    """
    path = database(
        tmp_path / "js.sqlite",
        checkpoint(
            "1f1ecbc4-7f34-6c90-ffff-510ea2e196c9",
            -1,
            {"__start__": {"a": 1}, "__pregel_tasks": []},
            {"__start__": 1},
            {},
            *[("00000000-0000-0000-0000-000000000000", -4, "__resume__", answer) for answer in answers],
            (CALLED, -1, "__error__", {"message": "no truck", "name": "Error"}),
            *[(ENTRY, -4, "__resume__", answers)] * bool(answers),
            (ENTRY, -3, "__interrupt__", [{"id": "7c117f3846453ae87f04210403c51952", "value": "ok?"}]),
            (ENTRY, -1, "__error__", ABORTED),
        ),
    )
    written = {task["id"]: task["status"] for task in json_of(capsys, path, "writes", "t")["tasks"]}
    assert (written[CALLED], written[ENTRY]) == ("failed", "failed" if answers else "waiting")
    [task] = json_of(capsys, path, "show", "t")["tasks"]
    if answers:
        assert (task["node"], task["status"], task["error"]["message"]) == (None, "failed", "no truck")
        assert said(capsys, path, "threads", "--status", "failed").startswith("t\t")
    else:
        assert task["status"] != "failed"
