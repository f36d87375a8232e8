"""LangGraph's own conformance suite (langgraph-checkpoint-conformance 0.0.2), all of it, on every kind of database."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.conformance.report import CapabilityReport

from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.savers.memory import MemorySaver
from tests.langgraph.places import Where


def report(fresh: Callable[[], CkptSaver], capability: str) -> CapabilityReport:
    """The suite's result for one capability."""

    @checkpointer_test(name="ckpt")
    async def made() -> AsyncIterator[BaseCheckpointSaver[Any]]:
        async with fresh() as saver:
            yield saver

    return asyncio.run(validate(made, capabilities={capability}))


CAPABILITIES = [capability.value for capability in Capability]


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_conforms(where: Where, capability: str) -> None:
    """Every capability, base and extended, exists and passes all of its tests, but for what the own saver refuses."""
    place = where()
    refused = REFUSED.get((place.url.partition(":")[0], capability), [])
    must_pass(report(lambda: CkptSaver(place.url), capability), capability, refused)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_conforms_in_memory(capability: str) -> None:
    """So it does over a saver of ckpt's that was opened already."""
    must_pass(report(lambda: CkptSaver(MemorySaver()), capability), capability)


REFUSED = {("redis", "list"): ["test_list_metadata_custom_keys: unsupported filter key: 'score'"]}
"""A filter means what it means to the own saver, and Redis' raises for keys without an index (0.5, ``list``)."""


def must_pass(capability_report: CapabilityReport, capability: str, refused: Sequence[str] = ()) -> None:
    result = capability_report.results[capability]
    assert (result.detected, result.failures, result.tests_failed) == (True, [*refused], len(refused))
    assert result.tests_passed > 3


class Forgetful(CkptSaver):
    def put_writes(self, *_: object) -> None:
        """Nothing."""


def test_a_broken_saver_is_found() -> None:
    """The suite does fail where a saver loses writes."""
    assert report(lambda: Forgetful(MemorySaver()), "put_writes").results["put_writes"].tests_failed > 0
