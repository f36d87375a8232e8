"""Answers a shell at TAB with words that the shell takes as plain text, whatever a database holds.

A word from a database is text that somebody else chose. It is offered only in a form in which the shell, after TAB and
Enter, passes exactly this word to ckpt. The scripts of `ckpt_cli.completion.scripts` ask with ``offer_SHELL``. Typer's
own scripts, and those that ckpt gave out before, ask with ``complete_SHELL``. They evaluate what they get or insert it
as it is, so they get only words without special characters, and no descriptions.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ckpt_cli.completion.typed_line import TypedLine

ASKED = "_CKPT_COMPLETE"
"""The variable that says which shell asks, as Typer names it (typer 0.29 ``core.py: _typer_main_shell_completion``)."""

_PLAIN_EVERYWHERE = re.compile(r"[A-Za-z0-9_./-][A-Za-z0-9_./:-]*|@")
_SPECIAL_IN_BASH = re.compile(r"([^A-Za-z0-9_@%+./:,\-\u0080-\U0010ffff])")


class Offer(NamedTuple):
    """A word and its description."""

    word: str
    description: str = ""


def answer(command: Any, environ: Mapping[str, str] = os.environ) -> str:
    """The lines for the shell that asks; empty if nothing fits or anything fails.

    Args:
        command: Typer's command of the whole program.
        environ: the environment, in which the shell's script passes what is typed.
    """
    from ckpt_cli.completion.scripts import script

    instruction, _, shell = environ[ASKED].partition("_")
    try:
        if instruction == "source":
            return script(shell)
        if instruction == "offer":
            return _ANSWERS[shell](command, environ)
        return _old_answer(command, shell)
    except Exception:  # at a prompt half typed, nothing is better than an error
        return ""


def _for_bash(command: Any, environ: Mapping[str, str]) -> str:
    """The words that replace `_CKPT_PIECE`, which is the end of the line after bash's last word break or quote."""
    typed, piece = TypedLine(environ["_CKPT_LINE"]), environ["_CKPT_PIECE"]
    start = len(typed.text) - len(piece)
    within = start == typed.opened if typed.quote else start >= typed.begin
    if not (typed.plain and within and typed.text.endswith(piece)):
        return ""
    before = typed.meaning(start)
    words = [offer.word for offer in _offers(command, typed, environ, never="`\\")]
    quoted = [_quoted(word.removeprefix(before), typed.quote) for word in words if word.startswith(before)]
    return "\n".join(word for word in quoted if word)


def _quoted(word: str, quote: str) -> str:
    """A word quoted for bash, inside the quote that is open; "" if it can't be inserted there.

    Without an open quote each special character gets a backslash of its own. So nothing is run even if the line
    continues a quote of the line before, which a completion can't see. Words with backslashes and backquotes are not
    offered for the same reason: between backquotes, bash first removes the backslash before one of them.
    """
    if quote == "'":
        return "" if "'" in word else word
    if quote == '"':
        return "" if '"' in word or "!" in word else word.replace("$", "\\$")
    return _SPECIAL_IN_BASH.sub(r"\\\1", word)


def _for_zsh(command: Any, environ: Mapping[str, str]) -> str:
    return _described(_offers(command, TypedLine(environ["_CKPT_LINE"]), environ, never="`\\"))


def _for_fish(command: Any, environ: Mapping[str, str]) -> str:
    """The words for fish, which quotes everything that it inserts except a ``~`` at the beginning (fish 3.6)."""
    offers = _offers(command, TypedLine(environ["_CKPT_LINE"], fish=True), environ)
    return _described([offer for offer in offers if not offer.word.startswith("~")])


def _described(offers: list[Offer]) -> str:
    return "\n".join(f"{offer.word}\t{offer.description}" if offer.description else offer.word for offer in offers)


_ANSWERS = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}


def _offers(command: Any, typed: TypedLine, environ: Mapping[str, str], *, never: str = "") -> list[Offer]:
    """The whole words that fit a line; words with a character of `never` are left out."""
    from typer._completion_classes import FishComplete

    _, *args = typed.words
    name, equals, _ = typed.word.partition("=")
    option = typed.word.startswith("-") and "--" not in args
    before = name + equals if option and equals else ""
    items = FishComplete(command, {}, "ckpt", ASKED).get_completions(list(args), typed.word)
    words = [(before + item.value, item.help or "") for item in items if _is_text(item.value, environ)]
    return [
        Offer(word, description if description.isprintable() else "")
        for word, description in words
        if not set(never) & set(word) and (option or "--" in args or not word.startswith("-"))
    ]


def _is_text(word: object, environ: Mapping[str, str]) -> bool:
    """Whether a word can be seen and typed; in another encoding a shell may take a part of a character for a quote."""
    if not isinstance(word, str) or not word or not word.isprintable():
        return False
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "C"
    return word.isascii() or locale in ("C", "POSIX") or "UTF" in locale.upper()


def _old_answer(command: Any, shell: str) -> str:
    """Typer's own answer, with plain words only."""
    from typer._click.shell_completion import get_completion_class

    class_ = get_completion_class(shell)
    if class_ is None:
        return ""
    completing: Any = class_(command, {}, "ckpt", ASKED)
    whole = completing.get_completions

    def plain(args: list[str], incomplete: str) -> list[Any]:
        items = [item for item in whole(args, incomplete) if _PLAIN_EVERYWHERE.fullmatch(str(item.value))]
        for item in items:
            item.help = None
        return [item for item in items if incomplete.startswith("-") or not item.value.startswith("-")]

    completing.get_completions = plain
    return str(completing.complete())
