"""LangGraph's own conformance suite (langgraph-checkpoint-conformance 0.0.2), all of it, on every kind of database."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.conformance.report import CapabilityReport

from ckpt_cli.langgraph import CkptSaver
from tests.langgraph.conftest import KINDS, Fresh


def report(fresh: Fresh, capability: str) -> CapabilityReport:
    """What the suite says of one capability."""

    @checkpointer_test(name="ckpt")
    async def made() -> AsyncIterator[BaseCheckpointSaver[Any]]:
        async with fresh() as saver:
            yield saver

    return asyncio.run(validate(made, capabilities={capability}))


@pytest.mark.parametrize("capability", [capability.value for capability in Capability])
@pytest.mark.parametrize("kind", KINDS)
def test_conforms(make: Callable[[str], Fresh], kind: str, capability: str) -> None:
    """Each capability, base and extended, is there and passes all of its tests."""
    result = report(make(kind), capability).results[capability]
    assert (result.detected, result.failures, result.tests_failed) == (True, [], 0)
    assert result.tests_passed > 3


def test_a_broken_saver_is_found(make: Callable[[str], Fresh]) -> None:
    """The suite does fail where a saver loses writes."""

    class Forgetful(CkptSaver):
        def put_writes(self, *_: object) -> None:
            """Nothing."""

    def fresh() -> CkptSaver:
        saver = make("memory")()
        saver.__class__ = Forgetful
        return saver

    assert report(fresh, "put_writes").results["put_writes"].tests_failed > 0
