"""Importing what a person named, and telling in one line what went wrong in their code."""

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ckpt_cli.errors import CkptError, DatabaseUnreachable
from ckpt_cli.masking import hide


class Named(NamedTuple):
    """An attribute of a module or of a file.

    Attributes:
        module: dotted name; "" where `file` is given.
        file: absolute.
        attribute: may be dotted too.
        text: as the person wrote it.
    """

    module: str
    file: Path | None
    attribute: str
    text: str

    @classmethod
    def of(cls, text: str, folder: Path) -> "Named":
        """Read ``module:attribute`` or ``file.py:attribute``; a file is relative to `folder`.

        Raises:
            DatabaseUnreachable: it is neither.
        """
        place, _, attribute = text.rpartition(":")
        if not place or not attribute:
            raise DatabaseUnreachable(f"{text}: neither module:attribute nor file.py:attribute")
        if place.endswith(".py") or "/" in place:
            file = folder / os.path.expanduser(place)  # noqa: PTH111 - which is no error without a home
            return cls("", file.resolve(), attribute, text)
        return cls(place, None, attribute, text)

    def __str__(self) -> str:
        return self.text

    @property
    def identity(self) -> str:
        """The same for every way to write it."""
        return f"{self.file or self.module}:{self.attribute}"


@contextmanager
def importable(folders: Sequence[Path]) -> Iterator[None]:
    """While this lasts, modules are found in these folders too, and what imported code prints goes nowhere.

    stdout is for ckpt's own data.
    """
    before = list(sys.path)
    sys.path[:0] = [str(folder.resolve()) for folder in folders]
    try:
        with redirect_stdout(StringIO()):
            yield
    finally:
        sys.path[:] = before


def imported(target: Named) -> Any:
    """What is named.

    Raises:
        DatabaseUnreachable: it can't be imported, or has no such attribute.
    """
    with explained(target.text):
        value: Any = _module(target)
    for name in target.attribute.split("."):
        if not hasattr(value, name):
            raise DatabaseUnreachable(f"{target}: {target.file or target.module} has no {target.attribute}")
        value = getattr(value, name)
    return value


def _module(target: Named) -> ModuleType:
    if target.file is None:
        return import_module(target.module)
    name = target.file.stem if target.file.stem not in sys.modules else f"ckpt_custom_{target.file.stem}"
    spec = spec_from_file_location(name, target.file)
    if spec is None or spec.loader is None or not target.file.is_file():
        raise DatabaseUnreachable(f"no such file: {target.file}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and the like look themselves up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Whatever somebody's code raises becomes one line with the last place of theirs; `SystemExit` too.

    Raises:
        DatabaseUnreachable: it raised.
    """
    try:
        yield
    except CkptError:
        raise
    except (Exception, SystemExit) as error:
        told = hide("".join(traceback.format_exception_only(error))).strip().replace("\n", " ")
        if isinstance(error, ModuleNotFoundError):
            what = what.partition(":")[0]  # what follows may be a password rather than an attribute
        hint = "it runs with ckpt's own Python" if isinstance(error, ModuleNotFoundError) else ""
        raise DatabaseUnreachable(f"{what}: {told}{_place(error)}", hint=hint) from error


def _place(error: BaseException) -> str:
    own = str(Path(__file__).parent)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((own, "<"))]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
