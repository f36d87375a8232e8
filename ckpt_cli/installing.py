"""The command that installs what an extra of ckpt needs, for the Python that runs ckpt."""

import os
import sys

_NAME = "langgraph-ckpt"


def install_extra(extra: str) -> str:
    """The command that installs an extra.

    It names the packages themselves: the line is then the same whether ckpt came from a folder, a wheel or an index.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires(_NAME) or []
    except PackageNotFoundError:  # ckpt runs from its folder
        declared = []
    parts = [requirement.partition(";") for requirement in declared]
    found = [name.strip() for name, _, marker in parts if f'extra == "{extra}"' in marker.replace("'", '"')]
    return install(*(found or [f"{_NAME}[{extra}]"]))


def is_installed(*modules: str) -> bool:
    """Whether all these modules of other packages are installed; none is imported."""
    from importlib.util import find_spec

    return all(find_spec(module) is not None for module in modules)


def install(*requirements: str) -> str:
    """The command that installs some packages where ckpt finds them.

    ``pip`` alone may belong to another Python, so it is only named if this one's environment is active.
    """
    return " ".join([_installer(), *(f"'{requirement}'" for requirement in requirements)])


def _installer() -> str:
    from ckpt_cli.shell_words import argument

    if not is_installed("pip"):
        return f"uv pip install --python {argument(sys.executable)}"
    if os.environ.get("VIRTUAL_ENV") == sys.prefix:
        return "pip install"
    return f"{argument(sys.executable)} -m pip install"
