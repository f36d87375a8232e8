"""The options of ``export`` that redact: paths, patterns, only structure, the salt."""

import os
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import typer

from ckpt_cli.errors import UsageError
from ckpt_cli.history.state.paths import parse, spell

_REDACTION = "Redaction"

RedactPaths = Annotated[
    list[str] | None,
    typer.Option(
        "--redact",
        metavar="PATH",
        help="Replace what is at this path, in every state, write and input: user.email. May be repeated.",
        rich_help_panel=_REDACTION,
    ),
]
RedactPatterns = Annotated[
    list[str] | None,
    typer.Option(
        "--redact-pattern",
        metavar="REGEX",
        help="Replace what a regular expression matches, in every text, name and id. May be repeated.",
        rich_help_panel=_REDACTION,
    ),
]
OnlyStructure = Annotated[
    bool,
    typer.Option(
        "--only-structure",
        help="Replace every text, number and bytes; the graph's structure and history stay.",
        rich_help_panel=_REDACTION,
    ),
]
SaltEnv = Annotated[
    str | None,
    typer.Option(
        "--salt-env",
        metavar="NAME",
        help="Give equal texts equal pseudonyms in all exports with the salt in this environment variable.",
        rich_help_panel=_REDACTION,
    ),
]


class RedactionOptions(NamedTuple):
    """What to redact.

    Attributes:
        paths: the steps of each path.
        salt: "" for none.
    """

    patterns: Sequence[str] = ()
    paths: Sequence[Sequence[Any]] = ()
    only_structure: bool = False
    salt: str = ""

    def __bool__(self) -> bool:
        return bool(self.patterns or self.paths or self.only_structure)

    @property
    def by(self) -> tuple[str, ...]:
        """What chooses the texts, in the words of the bundle's index."""
        kinds = ("pattern", self.patterns), ("path", self.paths), ("structure", self.only_structure)
        return tuple(kind for kind, given in kinds if given)

    @property
    def rules(self) -> list[str]:
        """The rules, each as one text."""
        paths = [f"path {spell(path)}" for path in self.paths]
        return sorted([*(f"pattern {one}" for one in self.patterns), *paths]) + ["structure"] * self.only_structure


def parse_redaction(
    patterns: Sequence[str] | None, paths: Sequence[str] | None, *, only_structure: bool, salt_env: str | None
) -> RedactionOptions:
    """What the options say.

    Raises:
        UsageError: a path can't be read, or there is no salt in the variable, or nothing that it is for.
    """
    options = RedactionOptions(patterns or (), [parse(path) for path in paths or ()], only_structure)
    if salt_env is None:
        return options
    if not options:
        raise UsageError("--salt-env is for --redact, --redact-pattern and --only-structure")
    salt = os.environ.get(salt_env)
    if not salt:
        raise UsageError(f"there is no salt in ${salt_env}", hint=f"`export {salt_env}=…` sets it")
    return options._replace(salt=salt)
