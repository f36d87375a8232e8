import ast
from pathlib import Path
from urllib.parse import unquote

from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Write
from ckpt_cli.savers.contract import About
from ckpt_cli.savers.memory import MemorySaver


def open_url(url):
    path = Path(unquote(url.removeprefix("toy://")))
    if not path.is_file():
        raise DatabaseUnreachable(f"no such file: {path}")
    return ToySaver(path)


class ToySaver(MemorySaver):
    """Checkpoints as Python literals, a record a line."""

    name = "toy"

    def __init__(self, path):
        self.path = None  # opening writes nothing
        super().__init__(map(record, path.read_text().splitlines()))
        self.path = path

    def about(self):
        return About("toy", str(self.path), "literals", "toy", {})

    @property
    def identity(self):
        return f"toy:{self.path.resolve()}"

    def transaction(self, work):
        value = super().transaction(work)
        if self.path:
            _, checkpoints, writes = everything(self)
            self.path.write_text("".join(f"{plain(one)!r}\n" for one in [*checkpoints, *writes]))
        return value


def plain(value):
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def record(line):
    parts = ast.literal_eval(line)
    if len(parts) == len(Write._fields):
        return Write(*parts[:-2], Payload(*parts[-2]), parts[-1])
    row, body, metadata, _ = parts
    return Checkpoint(CheckpointRow(*row), Payload(*body), Payload(*metadata))
