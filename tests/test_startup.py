"""Starting is cheap: a command imports what it needs and no more, and parameters are read without Pydantic."""

import subprocess
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer

from ckpt_cli.app import VERBS
from ckpt_cli.fast_start import prepare

HEAVY = frozenset(
    {
        *("pydantic", "rich.console", "ormsgpack", "sqlite3", "jmespath", "simpleeval", "uuid6", "xxhash", "Crypto"),
        *("langgraph", "langchain_core", "numpy", "json", "asyncio", "email", "importlib.metadata", "pickletools"),
    }
)


ASKED = {
    "threads": ["threads"],
    "stats": ["stats", "subgraphs"],
    "graph": ["graph", "subgraphs"],
    "trace": ["trace", "subgraphs"],
    "log": ["log", "subgraphs"],
    "tree": ["tree", "subgraphs"],
    "show": ["show", "subgraphs"],
    "get": ["get", "subgraphs", "path"],
    "diff": ["diff", "subgraphs", "@"],
    "writes": ["writes", "subgraphs"],
    "grep": ["grep", "tail", "subgraphs"],
    "blame": ["blame", "subgraphs", "path"],
    "bisect": ["bisect", "subgraphs", "--good", "step:-1", "--run", "grep -qx {}"],
    "verify": ["verify", "subgraphs"],
    "info": ["info"],
    "watch": ["watch", "subgraphs", "--limit", "1"],
    "export": ["export", "subgraphs", "-o", "x.ckpt", "--dry-run"],
}
"""A plain question to each verb that reads."""

CHANGING = {
    "fork": ["fork", "subgraphs", "@", "--dry-run"],
    "rollback": ["rollback", "subgraphs", "@^", "--dry-run"],
    "resume": ["resume", "interrupt-multi"],
    "replay": ["replay", "interrupt-multi"],
    "update": ["update", "subgraphs", "--as-node", "__end__", "--dry-run"],
    "edit": ["edit", "subgraphs", "--unset", "path", "--dry-run"],
    "tag": ["tag", "--list"],
    "delete": ["delete", "subgraphs", "--dry-run"],
    "prune": ["prune", "subgraphs", "--keep-last", "1", "--dry-run"],
    "repair": ["repair"],
    "import": ["import", "no-such-bundle.ckpt"],
    "copy": ["copy", "{database}", "new.sqlite", "no-such-thread"],
    "undo": ["undo", "--dry-run"],
    "operations": ["operations"],
}
"""A plain wish to each verb that changes something."""


LOOKS = {
    "threads": ("history.state.filters", "history.lineage.rails", "output.query"),
    "log": ("history.lineage.rails", "queries.not_found"),
    "tree": ("queries.not_found",),
    "show": ("queries.lost_states", "queries.not_found", "output.query"),
}
"""The verbs that are typed most, and modules that only their rarer options, answers and errors need."""

UNNEEDED = (
    *("savers.sqlite.writable_connection", "savers.sqlite.triggers", "savers.sqlite.images", "operations.log"),
    *("operations.log_search", "operations.witnesses", "plans", "values.jsonback", "serde.aes", "installing"),
    *("output.text.answer_commands", "output.terminal", "confirmation", "completion.words", "unknown_verb"),
)
"""Modules of ckpt that write, apply, answer, encrypt or explain, which no plain look needs."""


def imported(*words: str, cwd: Path | None = None) -> set[str]:
    """Which of the heavy modules a command line imports, piped."""
    return HEAVY & all_imported(*words, cwd=cwd)


def all_imported(*words: str, cwd: Path | None = None) -> set[str]:
    """Every module that a command line imports, piped."""
    script = "import sys; from ckpt_cli.app import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, encoding="utf-8", cwd=cwd, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


def test_the_version_imports_nothing() -> None:
    """``--version`` answers from Typer alone."""
    assert imported("--version") == set()


@pytest.mark.parametrize("words", [["--no-such-option"], ["no-such-verb"]])
def test_a_usage_error_needs_no_database(words: list[str]) -> None:
    """A mistyped command costs no engine and no codec."""
    assert imported(*words) == set()


@pytest.mark.parametrize("verb", VERBS)
def test_help_needs_no_database(verb: str) -> None:
    """Help is Rich's; it opens nothing, so it imports no engine and no codec."""
    assert imported(verb, "--help") & {"sqlite3", "ormsgpack", "jmespath", "simpleeval", "Crypto", "xxhash"} == set()


def test_every_verb_is_asked() -> None:
    """A new verb is listed here too; `demo` reads nothing."""
    assert set(ASKED) | set(CHANGING) | {"demo"} == set(VERBS)


@pytest.mark.parametrize("verb", ASKED)
def test_a_plain_question_imports_the_engine_and_the_codec(verb: str, database: Callable[[str], Path]) -> None:
    """Piped, every verb needs SQLite, the codec and JSON, and nothing else that takes time."""
    assert imported(*ASKED[verb], "-d", str(database("real"))) <= {"sqlite3", "ormsgpack", "json"}


@pytest.mark.parametrize("verb", LOOKS)
def test_a_look_imports_no_module_that_it_does_not_run(verb: str, database: Callable[[str], Path]) -> None:
    """Of ckpt's own modules too, those that only changes, logs, rarer options and errors need are left out."""
    unneeded = {f"ckpt_cli.{name}" for name in (*UNNEEDED, *LOOKS[verb])}
    assert all_imported(*ASKED[verb], "-d", str(database("real"))) & {*unneeded, "hashlib"} == set()


def test_a_trace_imports_no_reducers_and_no_other_views(database: Callable[[str], Path]) -> None:
    """It reads only the writes of a thread, so it starts without what explains states and without sizes of channels."""
    names = ("history.reducers.reducers", "queries.fleet_values", "views.show", "views.replay", "views.stats")
    read = all_imported(*ASKED["trace"], "-d", str(database("real")))
    assert read & {f"ckpt_cli.{name}" for name in names} == set()


@pytest.mark.parametrize("verb", CHANGING)
def test_a_plan_imports_task_hashes_besides(verb: str, database: Callable[[str], Path]) -> None:
    """Piped, a plan needs no more than that; the operation log is SQLite too."""
    needed = {"sqlite3", "ormsgpack", "json", "xxhash"}
    path = str(database("real"))
    words = [word.replace("{database}", path) for word in CHANGING[verb]]
    assert imported(*words, *([] if path in words else ["-d", path])) <= needed


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["threads", "--query", "threads[0]"], "jmespath"),
        (["threads", "--where", "step > 5"], "simpleeval"),
    ],
)
def test_an_ability_is_imported_when_it_is_asked_for(
    words: list[str], more: str, database: Callable[[str], Path]
) -> None:
    """What one option needs comes with that option alone."""
    assert imported(*words, "-d", str(database("real"))) <= {"sqlite3", "ormsgpack", "json", more}


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


Answer = tuple[Any, ...]


def sample(
    text: str,
    rest: Annotated[list[str] | None, typer.Argument()] = None,
    flag: bool = False,
    maybe: str | None = None,
    number: Annotated[int, typer.Option("-n", min=0, max=50)] = 20,
    share: float = 0.5,
    many: Annotated[list[str] | None, typer.Option()] = None,
    numbers: Annotated[list[int] | None, typer.Option()] = None,
    choice: Literal["a", "b"] = "a",
    colour: Colour = Colour.RED,
    path: Path = Path("here"),
) -> Answer:
    """A command with every kind of parameter."""
    return (text, rest, flag, maybe, number, share, many, numbers, choice, colour, path)


def outcome(words: list[str], *, prepared: bool) -> Answer:
    """What the sample command was called with, or how the words were refused."""
    app = typer.Typer(add_completion=False)
    app.command()(sample)
    command: Any = typer.main.get_command(app)
    if prepared:
        prepare(command.params)
        assert all(type(param._runtime_param).__module__ == "ckpt_cli.fast_start" for param in command.params)
    try:
        answer: Answer = command.main(words, prog_name="sample", standalone_mode=False)
    except Exception as error:
        return type(error).__name__, error.format_message()  # type: ignore[attr-defined]
    return answer, *map(type, answer)


@pytest.mark.parametrize(
    "words",
    [
        ["x"],
        ["x", "y", "z"],
        ["x", "--flag", "--maybe", "", "-n", "0", "--share", "1e3"],
        ["x", "--many", "a", "--many", "b", "--numbers", "1", "--numbers", "2"],
        ["x", "--choice", "b", "--colour", "blue", "--path", "there"],
        ["x", "-n", " 7 "],
        ["x", "-n", "seven"],
        ["x", "-n", "51"],
        ["x", "-n", "-1"],
        ["x", "-n", "1_0"],
        ["x", "--share", "inf"],
        ["x", "--share", "half"],
        ["x", "--numbers", "1", "--numbers", "two"],
        ["x", "--choice", "c"],
        ["x", "--colour", "RED"],
        [],
        ["x", "--no-such"],
    ],
    ids=" ".join,
)
def test_words_mean_the_same_without_pydantic(words: list[str]) -> None:
    """Every kind of parameter takes the same values, and refuses others with the same words, as Typer's own way."""
    assert outcome(words, prepared=True) == outcome(words, prepared=False)


def test_other_insides_of_typer_are_left_alone() -> None:
    """A parameter that isn't made as expected keeps whatever it has."""

    class Other:
        is_flag = True

    other = Other()
    prepare([other])
    assert not hasattr(other, "_runtime_param")


@pytest.mark.parametrize(
    ("words", "code", "end"), [(["--help"], 0, "╯\n"), (["--version"], 0, "\n"), (["nope"], 2, "")]
)
def test_a_process_ends_with_its_output_written(words: list[str], code: int, end: str) -> None:
    """The quick end of the process loses no output and keeps the exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "ckpt_cli", *words], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == code
    assert done.stdout.rstrip(" \n").endswith(end.strip()) if end else not done.stdout
