"""Questions of LangChain's agents are shown as what a person must decide: tool, arguments whole, allowed answers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.commands.resume import resume
from ckpt_cli.commands.show import show
from ckpt_cli.commands.tree import tree
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Page
from ckpt_cli.output.printer import render
from ckpt_cli.parameters.statuses import StatusOption
from tests import golden
from tests.commands.asking import at, look
from tests.commands.listing import threads
from tests.graphs.human_in_the_loop import BODY, HOSTILE, THREADS

Database = Callable[[str], Path]


def test_who_waits(database: Database) -> None:
    """Every argument whole, the allowed answers, and the command that answers in the form of this question."""
    view, _ = look(database("hitl"), lambda session: threads(session, status=[StatusOption.WAITING]))
    golden.check("questions/threads", view)


@pytest.mark.parametrize("thread", THREADS)
def test_a_list_for_the_person_who_answers(thread: str, database: Database) -> None:
    """`resume` folds nothing, names the options that fit, and says what is open if the thread failed instead."""
    view, _ = look(database("hitl"), lambda session: resume(session, thread))
    golden.check(f"questions/resume-{thread}", view)


@pytest.mark.parametrize("thread", ["two", "each", "older"])
def test_looks_beside(thread: str, database: Database) -> None:
    """`show` has the arguments on lines of their own, `tree` one line for each tool call."""
    golden.check(f"questions/show-{thread}", at(database("hitl"), show, thread))
    golden.check(f"questions/tree-{thread}", at(database("hitl"), tree, thread))


@pytest.mark.parametrize("full", [False, True])
def test_full_folds_no_argument(full: bool, database: Database) -> None:
    """A long argument is folded in `show`, with its length, unless ``--full``."""
    view = at(database("hitl"), show, "each", full=full)
    text = " ".join(" ".join(clean_line(line).split()) for line in render(view, Page(80, golden.NOW)))
    assert (f"… {len(BODY)} characters in all" in text) is not full
    assert ("Yours, support" in text) is full


@pytest.mark.parametrize("width", [24, 40, 80, 200, None])
def test_no_width_breaks_a_line_and_no_control_character_gets_through(width: int | None, database: Database) -> None:
    """Tool names, argument names and values of a hostile question stay text, at every width."""
    views = [at(database("hitl"), verb, "hostile") for verb in (show, resume)]
    views += [at(database("hitl"), tree, "hostile"), at(database("hitl"), threads, status=[StatusOption.WAITING])]
    for view in views:
        lines = [clean_line(line) for line in render(view, Page(width, golden.NOW))]
        assert any("rm ␛]0;owned␇␛[2J"[: (width or 99) // 4] in line for line in lines)
        assert not any(char in line for line in lines for char in HOSTILE if not char.isprintable())
