"""Older LangGraphs in virtual environments of their own, made once; ``CKPT_TEST_OLD_PYTHON`` names another for 0.6."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.servers.made_once import HOME, made_once

REQUIREMENTS = ("langgraph==0.6.11", "langgraph-checkpoint-sqlite==3.0.0", "langchain-core==0.3.79")
OLDEST = (
    "langgraph==0.2.76",
    "langgraph-checkpoint==2.0.16",
    "langgraph-checkpoint-sqlite==2.0.5",
    "langchain-core==0.3.79",
)
"""The oldest generation with `interrupt`; its saver has no task paths, and its serializer is the first msgpack one."""
ROOT = Path(__file__).parents[2]


def python(requirements: Sequence[str] = REQUIREMENTS) -> Path | None:
    """The Python of an older release; None where it can't be fetched."""
    if requirements == REQUIREMENTS and (given := os.environ.get("CKPT_TEST_OLD_PYTHON")):
        return Path(given)
    folder = made_once(HOME / "-".join(requirements[0].split("==")), lambda empty: _install(empty, requirements))
    return None if folder is None else folder / "bin" / "python"


def _install(folder: Path, requirements: Sequence[str]) -> bool:
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "-q"]
    fetched = subprocess.run([*pip, "--disable-pip-version-check", *requirements], check=False, capture_output=True)
    return not fetched.returncode


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
            cwd=ROOT,
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
