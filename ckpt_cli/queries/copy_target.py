"""Opens the database that a copy or an import writes to; says what makes LangGraph's tables there."""

from pathlib import Path

from ckpt_cli.errors import NoCheckpoints
from ckpt_cli.savers.contract import Saver
from ckpt_cli.session import Session


def open_target(target: Session) -> Saver:
    """The saver of the target.

    Raises:
        NoCheckpoints: it has none of LangGraph's tables. The hint names what makes them: ckpt makes none on a server.
    """
    try:
        return target.reader.saver
    except NoCheckpoints as error:
        if not error.maker:
            raise
        hint = f"LangGraph's `{error.maker}` makes what the target needs, as ckpt doesn't; {error.hint}"
        raise NoCheckpoints(error.message, hint=hint, maker=error.maker) from error


def is_new_file(target: str) -> bool:
    """Whether the target is the path of a file that doesn't exist yet, which ``ckpt copy`` makes as a SQLite file."""
    from ckpt_cli.savers.url import names

    if ":" in target or "=" in target or target in names():
        return False
    try:
        return not Path(target).exists()
    except OSError:  # no file can have such a name
        return False
