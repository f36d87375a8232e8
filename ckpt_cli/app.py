"""The table of verbs and the help of ``ckpt``; the one place where an error becomes an exit code.

Each verb is imported when it runs.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from ckpt_cli import __version__, ctrl_c
from ckpt_cli.fast_start import begin, leave, prepare

ABOUT = "git for the memory of LangGraph agents: look into any checkpoint database, at every step"

LOOK = "Look"
TRAVEL = "Travel"
KEEP = "Keep"
MEND = "Mend"
START = "Start"

_SCRIPTS = ("--install-completion", "--show-completion")
_SHELL_ASKS = "_CKPT_COMPLETE"


class Verb(NamedTuple):
    """One line of the overview; `reads` says whether the verb opens a database."""

    panel: str
    help: str
    reads: bool = True


VERBS = {
    "threads": Verb(LOOK, "List threads: what each was about, its status, which ones wait for you."),
    "log": Verb(LOOK, "List the checkpoints of a thread: which node made each, what changed."),
    "tree": Verb(LOOK, "Draw a whole thread: branches, forks, subgraphs, interrupts, errors."),
    "show": Verb(LOOK, "Show one checkpoint: state, next, tasks, interrupts, metadata."),
    "get": Verb(LOOK, "Print one value of the state, for scripts."),
    "diff": Verb(LOOK, "Compare two checkpoints, or show what one step changed."),
    "writes": Verb(LOOK, "Show what each task wrote at a checkpoint: results, errors, interrupts."),
    "blame": Verb(LOOK, "Say since when a value stands, and which node, input or update gave it."),
    "bisect": Verb(LOOK, "Find the first bad checkpoint between a good one and a bad one, by a test."),
    "verify": Verb(LOOK, "Check that each step's writes make its state, and that records fit together."),
    "grep": Verb(LOOK, "Search the state, writes and metadata of all checkpoints."),
    "graph": Verb(LOOK, "Draw the agent's graph as its runs show it: nodes, edges with counts, Sends, subgraphs."),
    "trace": Verb(LOOK, "Show where a thread's time, tokens and bytes went: by node, by channel, step by step."),
    "watch": Verb(LOOK, "Show new checkpoints as they appear; run a command or stop when an agent waits."),
    "stats": Verb(LOOK, "Count threads by what they do; measure what takes space; check limits."),
    "info": Verb(LOOK, "Describe this database: backend, generation, sizes, encryption."),
    "fork": Verb(TRAVEL, "Start a new branch or a new thread from any checkpoint."),
    "rollback": Verb(TRAVEL, "Make an earlier state current again; nothing is lost."),
    "resume": Verb(TRAVEL, "Answer an agent's questions; the application's next run continues with the answers."),
    "replay": Verb(TRAVEL, "Apply pending writes: show what finished and what would run again, or keep it."),
    "update": Verb(TRAVEL, "Write to the state as a node would, like update_state."),
    "edit": Verb(TRAVEL, "Edit the state itself, in your editor or by paths, without reducers."),
    "tag": Verb(TRAVEL, "Name a checkpoint; the name is a revision: tag:NAME."),
    "delete": Verb(KEEP, "Delete threads, a branch, a run, or the last turn, with all that belongs to them."),
    "prune": Verb(KEEP, "Remove old checkpoints from inside threads, by policies; the threads go on."),
    "export": Verb(KEEP, "Pack threads into a bundle: one file that every command reads as a database."),
    "import": Verb(KEEP, "Unpack threads from a bundle into this database, for agents to go on there."),
    "copy": Verb(KEEP, "Copy threads into another database of any kind, for agents to go on there.", reads=False),
    "repair": Verb(MEND, "Find threads whose next run must fail (tool calls without results), and mend them."),
    "undo": Verb(KEEP, "Take back what ckpt did to this database."),
    "operations": Verb(KEEP, "List what ckpt did to this database, or forget it."),
    "demo": Verb(START, "Write a small example database and look around in it.", reads=False),
}


def function_of(verb: str) -> Any:
    """The function of a verb, in the file of its name; ``import_`` for a verb that is a keyword of Python."""
    return getattr(import_module(f"ckpt_cli.commands.{verb}"), f"{verb}_" if iskeyword(verb) else verb)


class _LazyCommand(TyperCommand):
    """A verb with only its name and help; its module is imported when the verb runs or shows its own help."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the verb's real command, which replaces this one."""
        from ckpt_cli.typer_commands import wire

        name = self.name or ""
        return wire(name, function_of(name), reads=VERBS[name].reads).make_context(info_name, args, parent, **extra)


class _VerbGroup(TyperGroup):
    """The group of all verbs in the table `VERBS`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, verb in VERBS.items():
            self.add_command(_LazyCommand(name, help=verb.help, rich_help_panel=verb.panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that the first word names.

        Raises:
            UsageError: there is no such verb; the hint names the nearest one.
        """
        word = args[0] if args else ""
        if word in VERBS or word.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from ckpt_cli.errors import UsageError
        from ckpt_cli.unknown_verb import hint

        helps = {name: verb.help for name, verb in VERBS.items()}
        raise UsageError(f"no such command {word!r}", hint=hint(word, helps))

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, including ``--help``, prepared for a fast start."""
        params: list[Any] = super().get_params(ctx)
        prepare(params)
        return params


def _version(ctx: typer.Context, is_set: bool) -> None:
    if is_set and not ctx.resilient_parsing:  # parsing is resilient if a shell asks for completions
        typer.echo(f"ckpt {__version__}")
        raise typer.Exit


app = typer.Typer(cls=_VerbGroup, rich_markup_mode="rich", context_settings={"help_option_names": ["-h", "--help"]})


@app.callback(invoke_without_command=True, help=ABOUT)
def ckpt(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback prints the version
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Without a verb, show the overview."""
    if ctx.invoked_subcommand is None:
        _overview()


def _overview() -> None:
    from ckpt_cli.output.printer import Printer
    from ckpt_cli.queries import overview
    from ckpt_cli.session import Session
    from ckpt_cli.views.overview import Known

    session = Session(os.environ.get("CKPT_DB") or None)
    verbs = [Known(name, verb.panel, verb.help) for name, verb in VERBS.items()]
    try:
        Printer().show(overview.run(session, verbs), now=session.clock())
    finally:
        session.close()


def _complete(command: Any) -> int:
    """Answer a shell at TAB. Typer's own answers are never printed unfiltered, because a shell would evaluate them."""
    from ckpt_cli.completion.words import answer

    typer.echo(answer(command))
    return 0


def run(args: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    from ckpt_cli.output.talk import report, stopped

    ctrl_c.note_outcome("")
    command = typer.main.get_command(app)
    if os.environ.get(_SHELL_ASKS):
        return _complete(command)
    if any(word in args for word in _SCRIPTS):
        from ckpt_cli.completion.scripts import teach

        teach()
    try:
        result = command.main(list(args), prog_name="ckpt", standalone_mode=False)
    except KeyboardInterrupt:
        return stopped(as_json=_wants_json(args))
    except SystemExit as error:  # Typer and Rich raise it when the reader of their help closes the pipe
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return report(error.__context__)
    except Exception as error:
        return report(error, as_json=_wants_json(args))
    if result == ctrl_c.CODE:  # Typer returns this code after Ctrl-C (typer 0.29 ``core.py: _main``)
        return stopped(as_json=_wants_json(args))
    return result if isinstance(result, int) else 0


def _wants_json(args: Sequence[str]) -> bool:
    """Whether the user asked for JSON. This looks at the unparsed words, because parsing them may have failed."""
    return any(word.partition("=")[0] in ("--json", "--jsonl", "--query") for word in args)


def main() -> None:
    """The ``ckpt`` command."""
    begin()
    leave(run(sys.argv[1:]))
