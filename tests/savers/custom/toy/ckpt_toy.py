"""``toy:///path``: checkpoints as Python literals, a record a line; a kind of database that ckpt does not know."""

import ast
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Write
from ckpt_cli.savers.contract import About, Saver
from ckpt_cli.savers.memory import MemorySaver


def open_url(url: str) -> Saver:
    path = Path(unquote(urlsplit(url).path))
    if not path.is_file():
        raise DatabaseUnreachable(f"no such file: {path}")
    return ToySaver(path)


class ToySaver(MemorySaver):
    name = "toy"

    def __init__(self, path: Path) -> None:
        self.path: Path | None = None  # nothing is written while it is read
        super().__init__(record(ast.literal_eval(line)) for line in path.read_text().splitlines())
        self.path = path

    def transaction(self, work):
        value = super().transaction(work)
        if self.path:
            rows = [row for thread in self.threads() for row in self.rows(thread.thread_id)]
            writes = [write for thread in self.threads() for write in self.writes(thread.thread_id)]
            records = [*self.checkpoints(row.ref for row in rows), *writes]
            self.path.write_text("".join(f"{plain(record)!r}\n" for record in records))
        return value

    def about(self) -> About:
        return About("toy", str(self.path), "literals", "toy", {})

    @property
    def identity(self) -> str:
        return f"toy:{self.path and self.path.resolve()}"


def plain(value):
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def record(parts):
    if len(parts) == len(Write._fields):
        return Write(*parts)._replace(payload=Payload(*parts[-2]))
    row, body, metadata, _ = parts
    return Checkpoint(CheckpointRow(*row), Payload(*body), Payload(*metadata))
