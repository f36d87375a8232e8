"""Bundles: files with the extension ``.ckpt`` that hold threads byte for byte; they are read and appended to."""

from pathlib import Path

from ckpt_cli.savers.contract import Saver


def open_path(path: Path) -> Saver:
    """Open a bundle for reading.

    Raises:
        DatabaseUnreachable: it can't be read, or has a newer version.
        DatabaseDamaged: its bytes aren't those that were written.
        MissingExtra: zstandard isn't installed.
    """
    from ckpt_cli.savers.bundle.saver import BundleSaver

    return BundleSaver(path)
