"""``ckpt bisect``: the first bad checkpoint between a good one and a bad one."""

from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_revision
from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.lineage.bisection import Verdict
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.model import Ref
from ckpt_cli.parameters.options import Ns, Thread
from ckpt_cli.queries.bisecting import Answer, Search, Test, by_command, by_expression, line_between, show_command
from ckpt_cli.session import Session
from ckpt_cli.views.bisect import BisectView

Good = Annotated[
    str,
    typer.Option("--good", metavar="REV", help="A checkpoint that is good.", autocompletion=complete_revision),
]
Bad = Annotated[
    str,
    typer.Option(
        "--bad",
        metavar="REV",
        help="A later checkpoint that is bad.",
        autocompletion=complete_revision,
        show_default=True,
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="EXPRESSION",
        help="A checkpoint is bad if this is true: 'len(messages) > 10', 'budget < 0', 'route == \"refund\"'.",
    ),
]
Run = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="COMMAND",
        help="A checkpoint is bad if this fails. It gets the state as JSON on stdin and in the file $CKPT_STATE. Exit "
        "code 0: good, 125: can't be tested, others up to 127: bad; a higher one ends the search.",
    ),
]


def bisect(
    session: Session,
    thread: Thread,
    good: Good,
    bad: Bad = "@",
    where: Where = None,
    command: Run = None,
    ns: Ns = "",
) -> BisectView:
    """Find the first bad checkpoint between a good one and a bad one, testing as few as possible.

    The test is an expression (--where), a command (--run), or you: without either, a terminal asks about one checkpoint
    after the other. Of a thousand checkpoints about ten are tested, and with --where or --run both ends.

    It is taken for granted that all checkpoints before the first bad one are good, and all after it bad. --where also
    tests some others, and says so if that isn't true. If checkpoints can't be tested, several candidates may be left.

    --run gives secrets masked, unless with --reveal. No shell runs the command; `sh -c '…'` does.

    Examples:
      ckpt bisect support-42 --good step:2 --where 'route == "refund"'
      ckpt bisect support-42 --good step:0 --bad step:9 --where 'len(messages) > 4'
      ckpt bisect support-42 --good step:2 --run 'pytest -q check.py'
      ckpt bisect support-42 --good step:2
    """
    if where is not None and command is not None:
        raise UsageError("--where and --run are two tests", hint="one of them")
    return run(session, thread, good, bad, where, command, ns)


def run(
    session: Session, thread: str, good: str, bad: str, where: str | None, command: str | None, ns: str
) -> BisectView:
    """The view of the first bad checkpoint.

    Raises:
        UsageError: there is no line from the good one to the bad one, or one of them isn't what it is said to be.
    """
    expression, filtered = where or command or "", None if where is None else Filter(where, "checkpoint")
    test = _test(session, filtered, command)
    line = session.read(
        lambda reader: line_between(reader, reader.resolve(thread, good, ns), reader.resolve(thread, bad, ns))
    )
    session.reader.pin(thread)
    session.say_lost_differences()
    return Search(session, line, test, filtered).run(expression)


def _test(session: Session, where: Filter | None, command: str | None) -> Test:
    if where is not None:
        return by_expression(session, where)
    if command is not None:
        return by_command(session, command)
    if session.ask_line is None:
        hint = "--where 'EXPRESSION' or --run 'COMMAND' tests without asking"
        raise UsageError("there is no terminal on which to ask whether a checkpoint is good", hint=hint)
    return lambda ref: _asked(session, ref)


_WORDS = {"good": Verdict.GOOD, "g": Verdict.GOOD, "bad": Verdict.BAD, "b": Verdict.BAD} | dict.fromkeys(
    ("skip", "s"), Verdict.SKIP
)


def _asked(session: Session, ref: Ref) -> Answer:
    """The verdict of the person.

    Raises:
        Refused: the input ended.
    """
    short = session.read(lambda reader: reader.short(ref.thread_id)(ref.checkpoint_id))
    session.say(f"look: {show_command(ref, short)}")
    while True:
        typed = session.ask_line(None, f"Is {short} good, bad, or skip?") if session.ask_line is not None else None
        if typed is None:
            raise Refused("the input ended before the first bad checkpoint was found")
        if (verdict := _WORDS.get(typed.strip().lower())) is not None:
            return Answer(verdict)
