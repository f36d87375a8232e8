"""Answers a shell at TAB with words quoted for bash, zsh or fish, whatever characters a name contains.

A word from a database is text that somebody else chose. ckpt offers it only in a form that is safe: after TAB and
Enter, the shell passes exactly this word to ckpt. The scripts in `ckpt_cli.completion.scripts` ask with
``offer_SHELL``. Typer's own scripts, and those of older ckpt releases, ask with ``complete_SHELL``. Those scripts
evaluate the answer or insert it as it is, so they get only words without special characters, and no descriptions.
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
    """The lines for the shell that asks; empty if no word fits or an error occurs.

    Args:
        command: Typer's command for the whole program.
        environ: the environment variables, in which the shell's script passes the typed line.
    """
    from ckpt_cli.completion.scripts import script

    instruction, _, shell = environ[ASKED].partition("_")
    try:
        if instruction == "source":
            return script(shell)
        if instruction == "offer":
            return _ANSWERS[shell](command, environ)
        return _old_answer(command, shell)
    except Exception:  # while the user types, no completion is better than an error
        return ""


def _for_bash(command: Any, environ: Mapping[str, str]) -> str:
    """The words for bash.

    bash replaces `_CKPT_PIECE`, the end of the line after its last break or quote, with a word.
    """
    typed, piece = TypedLine(environ["_CKPT_LINE"]), environ["_CKPT_PIECE"]
    start = len(typed.text) - len(piece)
    fits_word = start == typed.opened if typed.quote else start >= typed.begin
    if not (typed.plain and fits_word and typed.text.endswith(piece)):
        return ""
    prefix = typed.meaning(start)
    words = [offer.word for offer in _offers(command, typed, environ, excluded="`\\")]
    quoted = [_quote_for_bash(word.removeprefix(prefix), typed.quote) for word in words if word.startswith(prefix)]
    return "\n".join(word for word in quoted if word)


def _quote_for_bash(word: str, quote: str) -> str:
    """A word quoted for bash, to be inserted inside the open quote `quote`; "" if it can't be inserted there.

    Without an open quote, each special character gets its own backslash. So bash runs nothing, even if the line
    continues a quote of the previous line, which a completion can't see. For the same reason, words with backslashes
    or backquotes are never offered: between backquotes, bash first removes a backslash before a backslash or a
    backquote.
    """
    if quote == "'":
        return "" if "'" in word else word
    if quote == '"':
        return "" if '"' in word or "!" in word else word.replace("$", "\\$")
    return _SPECIAL_IN_BASH.sub(r"\\\1", word)


def _for_zsh(command: Any, environ: Mapping[str, str]) -> str:
    return _with_descriptions(_offers(command, TypedLine(environ["_CKPT_LINE"]), environ, excluded="`\\"))


def _for_fish(command: Any, environ: Mapping[str, str]) -> str:
    """The words for fish. fish (3.6) quotes everything that it inserts except a ``~`` at the beginning."""
    offers = _offers(command, TypedLine(environ["_CKPT_LINE"], fish=True), environ)
    return _with_descriptions([offer for offer in offers if not offer.word.startswith("~")])


def _with_descriptions(offers: list[Offer]) -> str:
    return "\n".join(f"{offer.word}\t{offer.description}" if offer.description else offer.word for offer in offers)


_ANSWERS = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}


def _offers(command: Any, typed: TypedLine, environ: Mapping[str, str], *, excluded: str = "") -> list[Offer]:
    """The complete words that fit a line, without those that contain a character of `excluded`."""
    from typer._completion_classes import FishComplete

    _, *args = typed.words
    name, equals, _ = typed.word.partition("=")
    is_option = typed.word.startswith("-") and "--" not in args
    prefix = name + equals if is_option and equals else ""
    items = FishComplete(command, {}, "ckpt", ASKED).get_completions(list(args), typed.word)
    words = [(prefix + item.value, item.help or "") for item in items if _is_text(item.value, environ)]
    return [
        Offer(word, description if description.isprintable() else "")
        for word, description in words
        if not set(excluded) & set(word) and (is_option or "--" in args or not word.startswith("-"))
    ]


def _is_text(word: object, environ: Mapping[str, str]) -> bool:
    """Whether a word is printable, and safe in the shell's encoding.

    In some encodings, one byte of a longer character may be the same as a quote.
    """
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
    get_all = completing.get_completions

    def get_plain(args: list[str], incomplete: str) -> list[Any]:
        items = [item for item in get_all(args, incomplete) if _PLAIN_EVERYWHERE.fullmatch(str(item.value))]
        for item in items:
            item.help = None
        return [item for item in items if incomplete.startswith("-") or not item.value.startswith("-")]

    completing.get_completions = get_plain
    return str(completing.complete())
