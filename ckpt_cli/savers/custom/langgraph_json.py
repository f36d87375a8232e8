"""``langgraph.json``, the configuration of ``langgraph dev`` and ``langgraph up``: checkpointer, env.

Source: langgraph-cli 0.4. ckpt reads ``checkpointer.path``, ``dependencies`` (folders where modules are searched) and
``env``.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.custom.importing import Target


class Config(NamedTuple):
    """The parts of a langgraph.json that ckpt uses.

    Attributes:
        folders: where modules are searched.
        variables: environment variables that the file sets unless they exist.
    """

    checkpointer: Target
    folders: list[Path]
    variables: Mapping[str, str]

    def set_variables(self) -> None:
        """Set the project's environment variables, as ``langgraph dev`` does; existing ones keep their values."""
        for name, value in self.variables.items():
            os.environ.setdefault(name, value)


def read_config(path: Path) -> Config:
    """Read a langgraph.json; its paths are relative to its folder.

    Raises:
        DatabaseUnreachable: the file can't be read, or names no checkpointer.
    """
    folder = path.resolve().parent
    data = _object(path)
    checkpointer = data.get("checkpointer")
    target = checkpointer.get("path") if isinstance(checkpointer, dict) else None
    if not isinstance(target, str):
        dev_folder = folder / ".langgraph_api"
        hint = (
            f"`langgraph dev` left its own in {dev_folder}"
            if dev_folder.is_dir()
            else '"checkpointer": {"path": "file.py:name"}'
        )
        raise DatabaseUnreachable(f"{path} names no checkpointer", hint=hint)
    dependencies = data.get("dependencies")
    paths = [item for item in dependencies if isinstance(item, str)] if isinstance(dependencies, list) else []
    local = [folder / item for item in paths if item.startswith(".") and (folder / item).is_dir()]
    return Config(Target.parse(target, folder), [folder, *local], _variables(data.get("env"), folder))


def _object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DatabaseUnreachable(f"can't read {path}: {error.strerror}") from error
    except ValueError as error:
        raise DatabaseUnreachable(f"{path} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise DatabaseUnreachable(f"{path} holds no JSON object")
    return data


def _variables(env: Any, folder: Path) -> dict[str, str]:
    """The variables of ``env``: an object, or the path of a file with lines like ``NAME=value``."""
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
