import ast
from pathlib import Path
from urllib.parse import unquote

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.model import RowChange
from ckpt_cli.savers.about import About
from ckpt_cli.savers.memory import MemorySaver


def open_url(url):
    path = Path(unquote(url.removeprefix("toy://")))
    if not path.is_file():
        raise DatabaseUnreachable(f"no such file: {path}")
    return ToySaver(path)


class ToySaver(MemorySaver):
    """Records as Python literals, one a line."""

    name = "toy"

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.change(RowChange(*ast.literal_eval(line)) for line in path.read_text().splitlines())

    def about(self):
        return About("toy", str(self.path), "literals", "toy", {})

    @property
    def identity(self):
        return f"toy:{self.path.resolve()}"

    def transaction(self, work):
        value = super().transaction(work)
        self.path.write_text("".join(f"{tuple(change)!r}\n" for change in self.additions()))
        return value
