"""The option ``--rename-class``: other names for classes that values are of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ckpt_cli.errors import UsageError

if TYPE_CHECKING:
    from ckpt_cli.serde.class_renaming import ClassRenaming

RenameClass = Annotated[
    list[str] | None,
    typer.Option(
        "--rename-class",
        metavar="OLD=NEW",
        help="Give a class in values another name: old.module.Class=new.module.Class. May be repeated.",
        show_default=False,
    ),
]


def parse_renaming(texts: Sequence[str] | None) -> "ClassRenaming | None":
    """The renaming that the options describe; None without any.

    Raises:
        UsageError: a text isn't ``old.module.Class=new.module.Class``, or renames a class twice.
    """
    if not texts:
        return None
    from ckpt_cli.serde.class_renaming import ClassRenaming

    names = dict[str, str]()
    for text in texts:
        old, sign, new = text.partition("=")
        if not sign or not _is_class(old) or not _is_class(new):
            raise UsageError(f"--rename-class {text}: it is not old.module.Class=new.module.Class")
        if old in names:
            raise UsageError(f"--rename-class {text}: {old} is there twice")
        names[old] = new
    return ClassRenaming(names)


def _is_class(name: str) -> bool:
    parts = name.split(".")
    return len(parts) > 1 and all(part.isidentifier() for part in parts)
