"""Bundles: files with the extension ``.ckpt`` that hold threads byte for byte; a folder of them is one database."""

from pathlib import Path

from ckpt_cli.savers.contract import Saver


def open_path(path: Path) -> Saver:
    """Open a bundle, or a folder of bundles, for reading.

    Raises:
        DatabaseUnreachable: it can't be read, or has a newer version.
        DatabaseDamaged: its bytes aren't those that were written.
        MissingExtra: zstandard isn't installed.
    """
    if path.is_dir():
        from ckpt_cli.savers.bundle.folder import BundleFolder

        return BundleFolder(path)
    from ckpt_cli.savers.bundle.saver import BundleSaver

    return BundleSaver(path)
