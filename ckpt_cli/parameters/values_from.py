"""``--values-from FILE``: values of their own for each of many threads, one JSON object a line."""

import json
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any
from weakref import finalize

import typer

from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.json_input import lines_of
from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.parameters.target import Target
from ckpt_cli.values.jsontext import parse
from ckpt_cli.values.loadable import read_typed

ValuesFrom = Annotated[
    str | None,
    typer.Option(
        "--values-from",
        metavar="FILE",
        help='JSON Lines, one thread each: {"thread_id": …, "values": {…}}; - reads stdin.',
        show_default=False,
        rich_help_panel="Many threads",
    ),
]

_IN_MEMORY = 4_000_000  # bytes; more are written to the disk
_FORM = 'a line is {"thread_id": "support-42", "values": {"route": "human"}}'


class ValuesOfThreads:
    """The values of each thread, kept in a file without a name; only the ids are in memory.

    Args:
        name: the file, or ``-`` for stdin.

    Raises:
        UsageError: there is no line, a line isn't of the form, or a thread has two lines.
    """

    def __init__(self, name: str) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="ascii")  # noqa: SIM115 - it lives as long as this
        finalize(self, self._file.close)
        self._places: dict[str, int] = {}
        for number, line in enumerate(lines_of(name), 1):
            if line.strip():
                self._add(*_parsed(line, f"line {number} of {name}"))
        if not self._places:
            raise UsageError(f"{'stdin' if name == '-' else name} has values for no thread", hint=_FORM)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __getitem__(self, thread_id: str) -> dict[str, Any]:
        self._file.seek(self._places[thread_id])
        data = json.loads(self._file.readline())
        return {channel: read_typed(value) for channel, value in data.items()}

    def target(self, target: Target) -> Target:
        """The target with only these threads; other options of the selector narrow them down."""
        chosen = target.chosen or ThreadSelection()
        if chosen.named is not None:
            raise UsageError("--values-from names the threads, and so does --stdin", hint="leave one of them out")
        return target._replace(chosen=chosen._replace(named=dict.fromkeys(self._places, "")))

    def _add(self, thread_id: str, values: dict[str, Any]) -> None:
        if thread_id in self._places:
            raise UsageError(f"--values-from has two lines for thread {thread_id!r}")
        self._places[thread_id] = self._file.tell()
        self._file.write(json.dumps(values) + "\n")


def _parsed(line: str, what: str) -> tuple[str, dict[str, Any]]:
    data = parse(line, what)
    if not isinstance(data, dict) or data.keys() != {"thread_id", "values"}:
        raise UsageError(f"{what} is no object of thread_id and values", hint=_FORM)
    thread_id, values = data["thread_id"], data["values"]
    if not isinstance(thread_id, str) or not isinstance(values, dict):
        raise UsageError(f"{what}: thread_id is text, and values is an object of channels", hint=_FORM)
    read_typed(values)  # a wrong {"$type": …} is refused before anything is planned
    return thread_id, values
