"""A checkpointer of somebody's own program, named by the person: ``module:attribute`` or the langgraph.json of it."""

from pathlib import Path
from typing import TYPE_CHECKING

from ckpt_cli.savers.contract import Saver

if TYPE_CHECKING:
    from ckpt_cli.savers.custom.importing import Named


def open_attribute(name: str) -> Saver:
    """Import what ``module:attribute`` or ``path/to/file.py:attribute`` names, and read through its public methods.

    It may be a checkpointer, a compiled graph that has one, a function or class that makes one, or a context manager
    of one; each of these may be async.

    Raises:
        DatabaseUnreachable: it can't be imported, failed, or is something else.
    """
    from ckpt_cli.savers.custom.importing import Named

    target = Named.of(name, Path())
    return _open(target, [target.file.parent if target.file else Path()])


def open_path(path: Path) -> Saver:
    """Open the checkpointer that a langgraph.json names, with the folders and variables that it names for it.

    Raises:
        DatabaseUnreachable: it names none, or that can't be opened.
    """
    from ckpt_cli.savers.custom.langgraph_json import read

    config = read(path)
    config.set_variables()
    return _open(config.checkpointer, config.folders)


def _open(target: "Named", folders: list[Path]) -> Saver:
    from ckpt_cli.errors import MissingExtra

    try:
        from ckpt_cli.savers.custom.saver import CustomSaver
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("langgraph", "langchain_core"):
            raise
        what = f"{target}: LangGraph isn't installed here ({error.name})"
        raise MissingExtra(what, hint="pip install 'langgraph-ckpt[langgraph]'") from error
    from ckpt_cli.savers.custom.entering import entered

    return CustomSaver(entered(target, folders), target)
