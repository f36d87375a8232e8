"""A checkpointer of the user's own program, named as ``module:attribute`` or by the program's langgraph.json."""

from pathlib import Path
from typing import TYPE_CHECKING

from ckpt_cli.savers.contract import Saver

if TYPE_CHECKING:
    from ckpt_cli.savers.custom.importing import Target


def open_attribute(name: str) -> Saver:
    """Open the checkpointer that ``module:attribute`` or ``path/to/file.py:attribute`` names, by importing it.

    The attribute is a checkpointer, a compiled graph with one, a function or class that makes one, or a context manager
    that gives one; each of these may be async. The checkpointer is read through its public methods.

    Raises:
        DatabaseUnreachable: the attribute can't be imported, raised an error, or is something else.
    """
    from ckpt_cli.savers.custom.importing import Target

    target = Target.parse(name, Path())
    return _open(target, [target.file.parent if target.file else Path()])


def open_path(path: Path) -> Saver:
    """Open the checkpointer that a langgraph.json names, with that file's import folders and environment variables.

    Raises:
        DatabaseUnreachable: the file names no checkpointer, or that checkpointer can't be opened.
    """
    from ckpt_cli.savers.custom.langgraph_json import read_config

    config = read_config(path)
    config.set_variables()
    return _open(config.checkpointer, config.folders)


def _open(target: "Target", folders: list[Path]) -> Saver:
    from ckpt_cli.errors import MissingExtra
    from ckpt_cli.installing import install_extra

    try:
        from ckpt_cli.savers.custom.saver import CustomSaver
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("langgraph", "langchain_core"):
            raise
        what = f"{target}: LangGraph isn't installed here ({error.name})"
        raise MissingExtra(what, hint=install_extra("langgraph")) from error
    from ckpt_cli.savers.custom.checkpointer import open_checkpointer

    return CustomSaver(open_checkpointer(target, folders), target)
