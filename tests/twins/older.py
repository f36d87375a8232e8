"""An older LangGraph in a virtual environment of its own, made once; ``CKPT_TEST_OLD_PYTHON`` names another."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.servers.wheels import HOME

REQUIREMENTS = ("langgraph==0.6.11", "langgraph-checkpoint-sqlite==3.0.0", "langchain-core==0.3.79")
_ROOT = Path(__file__).parents[2]


def python() -> Path | None:
    """The Python of the older release; None where it can't be fetched."""
    if given := os.environ.get("CKPT_TEST_OLD_PYTHON"):
        return Path(given)
    folder = HOME / "-".join(REQUIREMENTS[0].split("=="))
    found = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(found), "install", "-q", "--disable-pip-version-check"]
        if subprocess.run([*pip, *REQUIREMENTS], check=False, capture_output=True).returncode:
            return None
        (folder / "complete").touch()
    return found


class LibraryFailed(Exception):
    """What a library raised, by the name of its class."""


class Older:
    """The older release as one long-lived process, asked like `Library`."""

    def __init__(self, interpreter: Path, folder: Path) -> None:
        self._process = subprocess.Popen(
            [interpreter, "-W", "ignore", "-m", "tests.twins.worker", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=_ROOT,
            env={**os.environ, "PYTHONUTF8": "1"},
        )

    def call(self, method: str, args: list[Any]) -> Any:
        """Ask one question by name.

        Raises:
            LibraryFailed: it raised something.
        """
        assert self._process.stdin and self._process.stdout
        print(json.dumps([method, args]), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise LibraryFailed(answer["error"], answer["traceback"])
        return answer["answer"]

    def close(self) -> None:
        """End the process, by its own hands where it can."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
