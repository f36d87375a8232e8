"""``langgraph.json``: where a project says what ``langgraph dev`` and ``langgraph up`` start (langgraph-cli 0.4).

Of it these matter here: ``checkpointer.path``, ``dependencies`` (folders that modules are found in) and ``env``.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.custom.importing import Named


class Config(NamedTuple):
    """What a project says.

    Attributes:
        folders: where its modules are found.
        variables: for the environment, where they aren't set already.
    """

    checkpointer: Named
    folders: list[Path]
    variables: Mapping[str, str]

    def set_variables(self) -> None:
        """Put the project's variables into the environment, as ``langgraph dev`` does; those that are set stay."""
        for name, value in self.variables.items():
            os.environ.setdefault(name, value)


def read(path: Path) -> Config:
    """Read a langgraph.json; what it names is relative to its folder.

    Raises:
        DatabaseUnreachable: it can't be read, or names no checkpointer.
    """
    folder = path.resolve().parent
    told = _object(path)
    checkpointer = told.get("checkpointer")
    target = checkpointer.get("path") if isinstance(checkpointer, dict) else None
    if not isinstance(target, str):
        left = folder / ".langgraph_api"
        hint = (
            f"`langgraph dev` left its own in {left}" if left.is_dir() else '"checkpointer": {"path": "file.py:name"}'
        )
        raise DatabaseUnreachable(f"{path} names no checkpointer", hint=hint)
    dependencies = told.get("dependencies")
    named = [item for item in dependencies if isinstance(item, str)] if isinstance(dependencies, list) else []
    local = [folder / item for item in named if item.startswith(".") and (folder / item).is_dir()]
    return Config(Named.of(target, folder), [folder, *local], _variables(told.get("env"), folder))


def _object(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DatabaseUnreachable(f"can't read {path}: {error.strerror}") from error
    except ValueError as error:
        raise DatabaseUnreachable(f"{path} is not valid JSON: {error}") from error
    if not isinstance(told, dict):
        raise DatabaseUnreachable(f"{path} holds no object")
    return told


def _variables(env: Any, folder: Path) -> dict[str, str]:
    """Given at once, or in a file of lines like ``NAME=value``."""
    if isinstance(env, dict):
        return {str(name): str(value) for name, value in env.items()}
    if not isinstance(env, str) or not (folder / env).is_file():
        return {}
    lines = (line.strip().removeprefix("export ") for line in (folder / env).read_text("utf-8").splitlines())
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): _unquoted(value.strip()) for name, _, value in pairs}


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"') and value[:1] in value[1:]:
        return value[1 : value.index(value[0], 1)]
    return value.partition(" #")[0].rstrip()
