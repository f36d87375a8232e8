"""Plans and tags as they are printed: terminal, pipe and JSON."""

from dataclasses import replace

from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.plan import render
from ckpt_cli.views.plan import PlanView, RowLine
from ckpt_cli.views.tag import TagLine, TagView
from tests import golden
from tests.commands.changes import SUMMARY

ROW = RowLine("add", "checkpoints", "t", "", "1f1e5786-50cb-6000-8001-5d20aa77c1e4", None, None, 0, 1200)


WRITE = RowLine("remove", "writes", "t", "", "1f1e5786-50cb-6000-8001-5d20aa77c1e4", "task", 0, 3_200_000, 0)


def test_looks() -> None:
    """Plans, shown and applied, the log and the tags on every kind of output."""
    note = "notify has finished at that checkpoint; here it runs again, which takes longer to say than fits in eighty"
    rows = [ROW, WRITE, WRITE]
    golden.check("plan/shown", PlanView("fork", SUMMARY, "why", [note], rows=rows))
    names = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": ROW.checkpoint_id or ""}
    config = {"configurable": names}
    done = PlanView("fork", SUMMARY, rows=[ROW], applied=True, operation=7, undo="ckpt undo", config=config)
    golden.check("plan/applied", done)
    golden.check("plan/nothing", PlanView("prune", "nothing is old enough"))
    many = [RowLine("add", table, "t", "", "1", None, None, 0, 9) for table in ("checkpoints", "checkpoint_blobs")]
    golden.check("plan/tables", PlanView("delete", "of 1 thread", rows=[*many, WRITE, replace(ROW, change="change")]))
    rows = [ROW, replace(ROW, thread_id="another"), WRITE]
    undone = PlanView("undo", "of operation 7 (fork)", rows=rows, applied=True, operation=8, undo="ckpt undo 8")
    undone.locate()
    golden.check("plan/undone", undone)
    tags = [TagLine("good", "t", "", ROW.checkpoint_id or "", False, "2026-11-21T09:28:05Z")]
    tags.append(TagLine("v1.2/中", "t", "sub:1", "1", True, "2026-11-21T09:28:05Z"))
    golden.check("tag/listed", TagView("listed", tags))
    golden.check("tag/none", TagView("listed", []))


def test_a_confirmed_plan_is_not_shown_again() -> None:
    """After the question only the outcome is printed."""
    view = PlanView("fork", SUMMARY, rows=[ROW], applied=True, operation=7, undo="ckpt undo")
    view.confirmed = True
    assert [plain(line) for line in render(view, Page(80, 0))] == ["done, operation 7.  ckpt undo takes it back."]


def test_paths_and_commands_are_not_broken() -> None:
    """On a narrow terminal a path, a command and an id are on one line each, to be copied."""
    path = "/home/a person/.local/state/ckpt/e16b85744488637a4005/log.sqlite"
    note = "`ckpt delete support-42 --after 1f1e5786-50cb-6000-8001-5d20aa77c1e4` takes the others"
    view = PlanView("delete", SUMMARY, rows=[ROW], notes=[note], applied=True, operation=7, undo="ckpt undo", log=path)
    lines = [plain(line).strip() for line in render(view, Page(50, 0))]
    for whole in (path, "ckpt undo takes it back;", "ckpt operations 7 --prune forgets it.", note.rpartition("`")[0]):
        assert any(whole in line for line in lines), whole
    assert any("log.sqlite" in plain(line) and "The log" in plain(line) for line in render(view, Page(None, 0)))
