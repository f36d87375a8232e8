"""Makes a Typer command from a verb's function: options of all verbs (``--db``, ``--json`` …), help.

The session is removed from the signature.
"""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from ckpt_cli import ctrl_c
from ckpt_cli.completion.names import complete_database
from ckpt_cli.errors import UsageError
from ckpt_cli.fast_start import prepare
from ckpt_cli.lock_waits import announced
from ckpt_cli.output.printer import Printer
from ckpt_cli.parameters.options import DryRun, Reason, Remember, RememberReducers, WithTriggers, Yes
from ckpt_cli.parameters.repeated_options import refuse_two_values
from ckpt_cli.session import KEY_ENV, ChangeOptions, Session
from ckpt_cli.views.base import View

if TYPE_CHECKING:
    from typer._click import Command

_DATABASE = "Database"
_OUTPUT = "Output"

_DB = Annotated[
    str | None,
    typer.Option(
        "--db",
        "-d",
        metavar="DATABASE",
        envvar="CKPT_DB",
        show_envvar=True,
        autocompletion=complete_database,
        help="A path, a URL, service=NAME, or a name from the config file. Default: the one database in this folder.",
        rich_help_panel=_DATABASE,
    ),
]
_KEY_ENV = Annotated[
    str,
    typer.Option(
        "--key-env",
        metavar="NAME",
        help="The environment variable that holds the AES key of an encrypted database.",
        rich_help_panel=_DATABASE,
        show_default=True,
    ),
]
_JSON = Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.", rich_help_panel=_OUTPUT)]
_JSONL = Annotated[
    bool, typer.Option("--jsonl", help="Print one JSON object per line, as results are found.", rich_help_panel=_OUTPUT)
]
_QUERY = Annotated[
    str | None,
    typer.Option(
        "--query", metavar="JMESPATH", help="Print only this part of the JSON; implies --json.", rich_help_panel=_OUTPUT
    ),
]
_COLOR = Annotated[
    Literal["auto", "always", "never"],
    typer.Option(
        "--color",
        metavar="WHEN",
        help="Use colours: auto (which respects NO_COLOR and FORCE_COLOR), always or never.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
_NO_PAGER = Annotated[bool, typer.Option("--no-pager", help="Never start a pager.", rich_help_panel=_OUTPUT)]
_REVEAL = Annotated[
    bool, typer.Option("--reveal", help="Show secrets instead of masking them.", rich_help_panel=_OUTPUT)
]

_COMMON: dict[str, tuple[Any, Any]] = {
    "db": (_DB, None),
    "key_env": (_KEY_ENV, KEY_ENV),
    "as_json": (_JSON, False),
    "as_jsonl": (_JSONL, False),
    "query": (_QUERY, None),
    "color": (_COLOR, "auto"),
    "no_pager": (_NO_PAGER, False),
    "reveal": (_REVEAL, False),
}

_CHANGING: dict[str, tuple[Any, Any]] = {
    "dry_run": (DryRun, False),
    "yes": (Yes, False),
    "reason": (Reason, ""),
    "with_triggers": (WithTriggers, False),
    "remember": (Remember, False),
}
"""The options of every command that may change a database."""

_WITH_REDUCERS: dict[str, tuple[Any, Any]] = {"remember": (RememberReducers, False)}
"""The options that mean more in a command with ``--reducer``."""

_READING = ("db", "key_env", "reveal")


class VerbCommand(TyperCommand):
    """The command of a verb; it starts fast, and its help shows no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, including ``--help``, prepared for a fast start."""
        params: list[Any] = super().get_params(ctx)
        prepare(params)
        return params

    def make_parser(self, ctx: Any) -> Any:
        """Typer's parser, which here refuses two values for one option; at TAB a line is parsed as far as it goes."""
        parser = super().make_parser(ctx)
        if not ctx.resilient_parsing:
            refuse_two_values(parser)
        return parser


def wire(name: str, function: Callable[..., View], *, reads: bool = True) -> "Command":
    """The command of one verb; a verb that reads no database has no options that choose one."""
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name, cls=VerbCommand, help=readable(inspect.getdoc(function) or ""))(adapt(function, reads=reads))
    return typer.main.get_command(app)


def adapt(function: Callable[..., View], *, reads: bool = True) -> Callable[..., None]:
    """A function for Typer that makes the session, calls the verb, prints the view, and exits with the view's code."""
    hints = get_type_hints(function, include_extras=True)
    return_type = hints.pop("return")
    views = get_args(return_type) or (return_type,)
    verb_parameters = list(inspect.signature(function).parameters.values())[1:]
    groups = {p.name: hints[p.name] for p in verb_parameters if _is_group(hints[p.name])}
    parameters = [one for p in verb_parameters for one in _expanded(p, hints[p.name])]
    for name, (annotation, default) in _COMMON.items():
        if (reads or name not in _READING) and (name != "as_jsonl" or any(view.rows_field for view in views)):
            parameters.append(_option(name, annotation, default))
    # a verb with its own --yes changes only the operation log, not the database
    is_change = any(view.changes_database for view in views) and "yes" not in hints
    if is_change:
        changing = {**_CHANGING, **(_WITH_REDUCERS if "reducer" in hints else {})}
        parameters += [_option(name, annotation, default) for name, (annotation, default) in changing.items()]

    def command(**arguments: Any) -> None:
        common = {name: arguments.pop(name, default) for name, (_, default) in _COMMON.items()}
        options = ChangeOptions(**{name: arguments.pop(name) for name in _CHANGING}) if is_change else None
        for name, group in groups.items():
            arguments[name] = group(**{field: arguments.pop(field) for field in group._fields})
        _run(function, arguments, **common, options=options)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _is_group(annotation: Any) -> bool:
    """Whether a parameter is a group of options: a named tuple with an option for each field."""
    return isinstance(annotation, type) and hasattr(annotation, "_fields")


def _expanded(parameter: inspect.Parameter, annotation: Any) -> list[inspect.Parameter]:
    """The parameters for Typer: the parameter itself, or one for each option of its group."""
    if not _is_group(annotation):
        return [parameter.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY)]
    hints = get_type_hints(annotation, include_extras=True)
    return [_option(name, hints[name], annotation._field_defaults[name]) for name in annotation._fields]


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _run(
    function: Callable[..., View],
    arguments: dict[str, Any],
    *,
    db: str | None,
    key_env: str,
    as_json: bool,
    as_jsonl: bool,
    query: str | None,
    color: Literal["auto", "always", "never"],
    no_pager: bool,
    reveal: bool,
    options: ChangeOptions | None,
) -> None:
    if db is not None and not db.strip():  # an unset variable in a script must not select another database
        raise UsageError("--db is empty", hint="a path, a URL or a name; without --db, $CKPT_DB or this folder is read")
    if as_json and as_jsonl:
        raise UsageError("--json prints one answer, --jsonl one object per line", hint="leave one of them out")
    if options is not None and options.remember and not (options.with_triggers or arguments.get("reducer")):
        raise UsageError(f"--remember belongs to --with-triggers{' or --reducer' if 'reducer' in arguments else ''}")
    if options is not None:
        ctrl_c.note_outcome("nothing was written")
    printer = Printer(as_json=as_json, as_jsonl=as_jsonl, query=query, color=color, paged=not no_pager, reveal=reveal)
    session = Session(
        database=db,
        key_env=key_env,
        say=printer.say,
        show_status=printer.show_status,
        progress=printer.progress,
        options=options or ChangeOptions(),
        may_change=options is not None,
        ask=printer.confirm,
        ask_again=printer.confirm_again,
        ask_line=printer.ask_line if printer.has_dialogue else None,
        reveal=reveal,
    )
    try:
        with announced(session.say):
            view = function(session, **arguments)
            printer.show(view, now=session.clock(), release=session.close)
    finally:
        session.close()
    if view.exit_code:
        raise typer.Exit(view.exit_code)


def readable(docstring: str) -> str:
    """A docstring as Rich markup: brackets are plain text, paragraphs fill the width, each example has its own line."""
    text, _, examples = docstring.replace("[", "\\[").partition("Examples:\n")
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    if lines:
        paragraphs.append("[bold]Examples[/bold]\n" + "\n".join(f"  {_example(line)}" for line in lines))
    return "\n\n".join(paragraphs)


def _example(line: str) -> str:
    command, gap, remark = line.partition("  ")
    return f"[cyan]{command}[/cyan]" + (f"{gap}[dim]{remark}[/dim]" if remark else "")
