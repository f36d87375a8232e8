"""The options of `resume` that answer (``--value``, ``-i``, ``--approve`` …), as answers for its plan.

A word that can't be JSON is taken as text. Words that look like a value of Python or JavaScript (``True``, ``None``,
``NaN``) are refused, because the graph would get a text that counts as true.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_interrupt
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.json_input import parse_json_input, parse_text_input
from ckpt_cli.plans.answer_values import Answer
from ckpt_cli.shell_words import argument
from ckpt_cli.values.decisions import PLACEHOLDERS, Decision
from ckpt_cli.values.loadable import read_typed

Value = Annotated[
    str | None,
    typer.Option(
        "--value",
        metavar="JSON",
        help="The answer (JSON, a word, @FILE, @- for stdin) to the only question, or to those that -i names.",
    ),
]

Interrupts = Annotated[
    list[str] | None,
    typer.Option(
        "--interrupt",
        "-i",
        metavar="ID[=JSON]",
        help="A question: its id or the start of it (4 characters), its node, or its graph's caller. May be repeated.",
        autocompletion=complete_interrupt,
    ),
]

Approve = Annotated[bool, typer.Option("--approve", "--accept", help="Answer a question about a tool call: run it.")]

Reject = Annotated[
    str | None,
    typer.Option("--reject", metavar="TEXT", help="Don't run the tool; TEXT or @FILE is the reason, '' for none."),
]

Respond = Annotated[
    str | None,
    typer.Option("--respond", "--response", metavar="TEXT", help="Don't run the tool; TEXT or @FILE is its result."),
]

Edit = Annotated[
    str | None,
    typer.Option("--edit", metavar="JSON", help="Run the tool with these arguments instead (an object, @FILE, @-)."),
]

Ignore = Annotated[bool, typer.Option("--ignore", help="Answer an older HumanInterrupt: leave the request alone.")]

AnswerAll = Annotated[
    bool, typer.Option("--answer-all", help="The answer is for all questions, and for all tool calls in each.")
]

NoSchema = Annotated[
    bool, typer.Option("--no-schema", help="Record an answer that the question doesn't seem to allow.")
]

_JSON_WORDS = frozenset({"true", "false", "null"})
_LOOKALIKES = {
    "true": "true",
    "false": "false",
    **dict.fromkeys(("none", "null", "nil", "undefined", "nonetype"), "null"),
    "nan": '\'{"$float": "nan"}\'',
    **dict.fromkeys(("inf", "infinity"), '\'{"$float": "inf"}\''),
}
_HINT = "a text with other characters needs quotes of its own: '\"5 apples\"'; @FILE and @- read JSON of any length"
_AT_SIGN = "@ stands for a file; --value takes an answer with a text that begins with @, as JSON"
_OPTIONS = {
    "approve": "--approve",
    "reject": "--reject",
    "respond": "--respond",
    "edit": "--edit",
    "ignore": "--ignore",
}


def given_decision(
    *, approve: bool, ignore: bool, reject: str | None, respond: str | None, edit: str | None, value: str | None
) -> Decision | None:
    """The decision that options name; None if there is none.

    Raises:
        UsageError: several options answer at once, the text of one is a placeholder, or a file can't be read.
    """
    contents = {"reject": reject, "respond": respond, "edit": edit}
    given = [word for word, is_given in (("approve", approve), ("ignore", ignore)) if is_given]
    given += [word for word, content in contents.items() if content is not None]
    options = [_OPTIONS[word] for word in given] + (["--value"] if value is not None else [])
    if len(options) > 1:
        raise UsageError(
            f"{' and '.join(options)} are several answers",
            hint="-i ID=JSON gives each question an answer of its own",
        )
    if not given:
        return None
    word = given[0]
    content = contents.get(word)
    if content is None:
        return Decision(word)
    if word == "edit":
        return Decision(word, read_typed(parse_json_input(content, "--edit")))
    return Decision(word, _text(content, _OPTIONS[word]))


def answers(
    decision: Decision | None, value: str | None, interrupts: Sequence[str], *, every: bool, checked: bool
) -> list[Answer]:
    """The answers that the options give; empty if there are none.

    Raises:
        UsageError: a question has no answer, or an answer no question.
    """
    has_answer = decision is not None or value is not None
    if every and interrupts:
        raise UsageError("--answer-all and --interrupt exclude each other")
    if every and not has_answer:
        raise UsageError("what is the answer to all questions?", hint="--approve, --reject TEXT, --value JSON …")
    without = [one for one in interrupts if "=" not in one]
    if without and not has_answer:
        raise UsageError(
            f"what is the answer to {without[0]!r}?",
            hint=f"--interrupt {argument(without[0] + '=JSON')}, or --value JSON, --approve …",
        )
    if has_answer and interrupts and not without:
        what = "--value" if decision is None else _OPTIONS[decision.word]
        raise UsageError(f"{what} isn't used: every --interrupt has an answer of its own")
    shared = decision if decision is not None else value
    if not interrupts:
        return [_answer(None, shared, "--value", every=every, checked=checked)] if has_answer else []
    named = [one.partition("=") for one in interrupts]
    return [
        _answer(name, text if sign else shared, f"the answer to {name!r}" if sign else "--value", checked=checked)
        for name, sign, text in named
    ]


def _answer(
    to: str | None, given: Decision | str | None, what: str, *, every: bool = False, checked: bool = True
) -> Answer:
    if isinstance(given, Decision):
        return Answer(to, given, every=every, checked=checked)
    value, is_bare = typed_value(given or "", what)
    return Answer(to, value, every=every, checked=checked, is_bare_text=is_bare)


def typed_value(text: str, what: str) -> tuple[Any, bool]:
    """The value that a person typed, and whether it is a bare text; `what` names it in errors.

    Raises:
        UsageError: it is neither JSON nor a word, or a word that looks like a value of Python or JavaScript.
    """
    word = text.strip()
    if not word or word in _JSON_WORDS or not (word[0].isalpha() or word[0] == "_"):
        return read_typed(parse_json_input(text, what, hint=_HINT)), False
    if word in PLACEHOLDERS:
        raise UsageError(f"{what} is still {word}: the answer goes in its place", hint="true, yes, '{\"a\": 1}' …")
    meant = _LOOKALIKES.get(word.casefold())
    if meant is not None:
        as_text = argument(f'"{word}"')
        raise UsageError(f"{what}: {word} is no JSON", hint=f"{meant}, or {as_text} for the text")
    return text, True


def _text(content: str, option: str) -> str:
    if content in PLACEHOLDERS:
        raise UsageError(f"{option} is still {content}: the text goes in its place")
    return parse_text_input(content, hint=_AT_SIGN)
