"""Imports ``module:attribute`` or ``file.py:attribute``; an error in the user's code becomes one line."""

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


class Target(NamedTuple):
    """The attribute to import, of a module or of a file.

    Attributes:
        module: the module's dotted name; "" if there is a `file`.
        file: the file's absolute path.
        attribute: the attribute's name, maybe dotted.
        text: the target as the user wrote it.
    """

    module: str
    file: Path | None
    attribute: str
    text: str

    @classmethod
    def parse(cls, text: str, folder: Path) -> "Target":
        """Parse ``module:attribute`` or ``file.py:attribute``; a file is relative to `folder`.

        Raises:
            DatabaseUnreachable: the text has neither form.
        """
        place, _, attribute = text.rpartition(":")
        if not place or not attribute:
            raise DatabaseUnreachable(f"{text}: neither module:attribute nor file.py:attribute")
        if place.endswith(".py") or "/" in place:
            file = folder / os.path.expanduser(place)  # noqa: PTH111 - no error where there is no home
            return cls("", file.resolve(), attribute, text)
        return cls(place, None, attribute, text)

    def __str__(self) -> str:
        return self.text

    @property
    def identity(self) -> str:
        """One text for the target, however the user wrote it."""
        return f"{self.file or self.module}:{self.attribute}"


@contextmanager
def importing_from(folders: Sequence[Path]) -> Iterator[None]:
    """Let imports find modules in these folders too, and drop what imported code prints.

    Only ckpt's own data may go to stdout.
    """
    before = list(sys.path)
    sys.path[:0] = [str(folder.resolve()) for folder in folders]
    try:
        with redirect_stdout(StringIO()):
            yield
    finally:
        sys.path[:] = before


def import_attribute(target: Target) -> Any:
    """Import the target's attribute.

    Raises:
        DatabaseUnreachable: the module or file can't be imported, or has no such attribute.
    """
    with translate_errors(target.text):
        value: Any = _module(target)
    for name in target.attribute.split("."):
        if not hasattr(value, name):
            raise DatabaseUnreachable(f"{target}: {target.file or target.module} has no {target.attribute}")
        value = getattr(value, name)
    return value


def _module(target: Target) -> ModuleType:
    if target.file is None:
        return import_module(target.module)
    name = target.file.stem if target.file.stem not in sys.modules else f"ckpt_custom_{target.file.stem}"
    spec = spec_from_file_location(name, target.file)
    if spec is None or spec.loader is None or not target.file.is_file():
        raise DatabaseUnreachable(f"no such file: {target.file}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their own module there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Turn any exception of the user's code, even `SystemExit`, into one line that ends with the error's place.

    Raises:
        DatabaseUnreachable: the code raised an exception.
    """
    try:
        yield
    except CkptError:
        raise
    except (Exception, SystemExit) as error:
        message = hide("".join(traceback.format_exception_only(error))).strip().replace("\n", " ")
        if isinstance(error, ModuleNotFoundError):
            what = what.partition(":")[0]  # the rest may be a password rather than an attribute
        hint = "it runs with ckpt's own Python" if isinstance(error, ModuleNotFoundError) else ""
        raise DatabaseUnreachable(f"{what}: {message}{_place(error)}", hint=hint) from error


def _place(error: BaseException) -> str:
    own = str(Path(__file__).parent)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith((own, "<"))]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
