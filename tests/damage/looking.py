"""Every command that looks, run in this process as the command line runs it."""

import io
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import typer
from hypothesis import strategies as st

from ckpt_cli.app import run
from ckpt_cli.completion import names

OVERVIEW = (
    ("threads", "--limit", "0"),
    ("threads", "--limit", "0", "--json"),
    ("threads", "--limit", "0", "--wide", "--sort", "size"),
    ("threads", "--sort", "step", "--jsonl"),
    ("threads", "--status", "done", "--status", "waiting", "--status", "unknown"),
    ("threads", "--where", "step >= 0 and len(messages) > 0"),
    ("threads", "--since", "2000-01-01"),
    ("info",),
    ("info", "--json"),
    ("stats",),
    ("stats", "--values", "--by", "source", "--json"),
    ("grep", "a"),
    ("grep", "a", "--json", "--all"),
    ("operations",),
)
"""What looks at a whole database."""

OF_THREAD = (
    ("log", "{thread}"),
    ("log", "{thread}", "--all", "--graph"),
    ("log", "{thread}", "--all", "--json"),
    ("log", "{thread}", "--since", "2h"),
    ("tree", "{thread}"),
    ("tree", "{thread}", "--full", "--json"),
    ("show", "{thread}"),
    ("show", "{thread}", "--full"),
    ("show", "{thread}", "--json"),
    ("show", "{thread}", "--raw"),
    ("show", "{thread}", "@^", "--all"),
    ("show", "{thread}", "step:0"),
    ("show", "{thread}", "@{2000-01-01}"),
    ("get", "{thread}", "messages"),
    ("get", "{thread}", "messages[0].content", "--json"),
    ("diff", "{thread}"),
    ("diff", "{thread}", "@^", "--json"),
    ("diff", "{thread}", "@~2", "@", "--meta"),
    ("writes", "{thread}"),
    ("writes", "{thread}", "@^", "--json"),
    ("grep", "a", "{thread}"),
    ("replay", "{thread}"),
    ("replay", "{thread}", "@^", "--json"),
    ("tag", "{thread}", "--list"),
)
"""What looks at one thread."""

PLANS = (
    ("fork", "{thread}", "@^", "--dry-run"),
    ("fork", "{thread}", "@", "--to", "elsewhere", "--dry-run"),
    ("rollback", "{thread}", "@^", "--dry-run"),
    ("resume", "{thread}", "--value", "true", "--dry-run"),
    ("update", "{thread}", "--values", '{"messages": 1}', "--dry-run"),
    ("edit", "{thread}", "--set", "messages=1", "--dry-run"),
    ("replay", "{thread}", "--commit", "--dry-run"),
    ("delete", "{thread}", "--dry-run"),
    ("prune", "{thread}", "--keep-last", "2", "--keep-inputs", "--dry-run"),
    ("delete", "{thread}", "--after", "@^", "--dry-run"),
)
"""Changes that are planned and not made."""

COMPLETERS = ("thread", "revision", "channel", "path", "namespace", "interrupt")


SOME = st.lists(
    st.sampled_from([*OVERVIEW, *OF_THREAD, *PLANS, *((kind,) for kind in COMPLETERS)]),
    min_size=12,
    max_size=12,
    unique=True,
)
"""Some of all these, or the name of a completer."""


class Answer(NamedTuple):
    """What a command line gave."""

    code: int
    out: str
    err: str


def ask(database: str, *words: str) -> Answer:
    """Run one command line; a bug in ckpt comes out as itself, with its traceback."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([words[0], "-d", database, *words[1:]])
    return Answer(code, out.getvalue(), err.getvalue())


def must_answer(path: Path | str, asked: Iterable[tuple[str, ...]], thread: str) -> None:
    """Check that command lines answer, or refuse for a reason other than a bug in ckpt."""
    for words in asked:
        if thread.startswith("-") and "{thread}" in words:
            continue  # it would have to stand behind ``--``, where no options are
        if words[0] in COMPLETERS:
            complete(str(path), words[0], thread)
            continue
        answer = ask(str(path), *(word.replace("{thread}", thread) for word in words))
        assert answer.code in (0, 1, 2, 4, 5, 6, 7), (words, answer.code, answer.err)


def complete(database: str, kind: str, thread: str) -> None:
    """Let a completer offer words; what it fails on raises here, where a shell would be offered nothing."""
    context: Any = typer.Context.__new__(typer.Context)
    context.params, context.args = {"db": database, "thread": thread}, []
    getattr(names, f"complete_{kind}")(context, "")
