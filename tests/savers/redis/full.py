"""The full set of threads, for comparison with other databases of the same threads."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.databases import unpacked


@contextmanager
def full_set(folder: Path) -> Iterator[Reader]:
    """The state as LangGraph's own SQLite saver left it."""
    path = folder / "real.sqlite"
    path.write_bytes(unpacked("real"))
    with closing(open_file(path)) as saver:
        yield Reader(saver, Codec())


def heads(reader: Reader) -> dict[str, Ref]:
    """The heads of all threads."""
    return {thread.thread_id: thread.head for thread in reader.saver.threads()}
