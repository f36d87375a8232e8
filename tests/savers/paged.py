"""Databases whose commands are measured in requests: many threads, and one thread with as many tips."""

from collections.abc import Iterator, Sequence
from typing import Any

import ormsgpack
import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance.samples import Samples
from ckpt_cli.model import Checkpoint, Payload, Write

COMMANDS = {
    "threads": ["threads", "-n", "0"],
    "info": ["info"],
    "grep": ["grep", "7"],
    "tree": ["tree", "tips", "--full"],
    "any": ["threads", "--where", 'thread_id == "t-001" and metadata != 0', "--any"],
    "older": ["delete", "--where", 'thread_id == "t-001" and metadata != 0', "--dry-run"],
    "delete": ["delete", "--match", "t-*", "--dry-run"],
}


def packed(value: Any) -> Payload:
    """A msgpack payload."""
    return Payload("msgpack", ormsgpack.packb(value))


BODY = packed({"v": 4, "channel_values": {"a": 7}, "channel_versions": {"a": 1}, "versions_seen": {}})


def records(samples: Samples, threads: int, body: Payload = BODY) -> Iterator[Checkpoint | Write]:
    """`threads` threads of two checkpoints and a write, and a thread with as many tips, each with a write."""
    named = [(f"t-{at:03}", "2", "1") for at in range(threads)]
    tips = [("tips", f"{at + 1:04}", "0000") for at in range(threads)]
    for thread_id, parent_id in dict.fromkeys((thread_id, parent_id) for thread_id, _, parent_id in named + tips):
        yield samples.checkpoint(thread_id, parent_id)._replace(body=body)
    for thread_id, checkpoint_id, parent_id in named + tips:
        yield samples.checkpoint(thread_id, checkpoint_id, parent_id=parent_id)._replace(body=body)
        yield samples.write(thread_id, checkpoint_id, payload=packed([1]))


def cost(words: Sequence[str], url: str, requests: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """How many requests a command makes; it must print something."""
    requests.clear()
    assert run([*words, "-d", url]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out
    return len(requests)


def cost_of_undo(url: str, requests: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """How many requests an undo of the thread with many tips takes."""
    cost(["delete", "tips", "--yes"], url, requests, capsys)
    return cost(["undo", "--yes"], url, requests, capsys)
