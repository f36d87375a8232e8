"""The files of ``langgraph dev`` in ``.langgraph_api``, and other pickles of an `InMemorySaver`: read, never run."""

from pathlib import Path

from ckpt_cli.savers.contract import Saver


def open_path(path: Path) -> Saver:
    """Open a folder of ``langgraph dev``, a folder that contains one, or a pickled storage.

    Raises:
        DatabaseUnreachable: the folder or file holds no checkpoints, or its checkpoints can't be read.
    """
    from ckpt_cli.savers.dev.files import find_files
    from ckpt_cli.savers.dev.saver import DevSaver

    return DevSaver(find_files(path), str(path))
