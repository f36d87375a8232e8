"""Tool calls in databases of every generation: none that a library wrote is wrong, and what breaks is mended."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.errors import CheckpointNotFound, NotSupported, PayloadCorrupt
from ckpt_cli.history.messages.call_matching import match_calls
from ckpt_cli.history.messages.mended_messages import Mend
from ckpt_cli.history.messages.tool_calls import read_turn
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Plan
from ckpt_cli.operations.apply import apply
from ckpt_cli.plans import edit
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.tool_calls import find_broken, plan_mend, plan_rollback, why_left_alone
from ckpt_cli.reading import Reader
from tests.databases import DATABASES, KEYS
from tests.history.strict_models import chat_completions
from tests.plans.test_generations import Bench, writable

Database = Callable[[str], Path]
ANSWER = "cancelled"
PICKLED = "legacy/py-0.0.38"
"""Its channels are pickles, which ckpt never writes."""
INSTALLED = ("legacy/py-0.2", "legacy/py-0.3", "legacy/py-0.5", "legacy/py-0.6.11", "legacy/py-1")
"""The installed library reads these without a key."""


def with_calls(reader: Reader) -> list[CheckpointRow]:
    """The heads with tool calls in a list named ``messages``."""
    heads = []
    for thread in reader.saver.threads():
        try:
            value = Inspection(reader, thread.head).values().get("messages")
        except (CheckpointNotFound, PayloadCorrupt):
            continue
        if match_calls(value) is not None:
            heads.append(reader.head(thread.thread_id, thread.head.ns))
    return heads


@pytest.mark.parametrize("name", DATABASES)
def test_no_list_that_a_library_wrote_is_mended(name: str, database: Database) -> None:
    """What answered its calls has no fault; what waits for a person is left alone."""
    with closing(Bench(database(name), KEYS.get(name))) as bench:
        for row in bench.reader.moment(lambda: with_calls(bench.reader)):
            broken = find_broken(bench.reader, row.ref)
            assert not broken or why_left_alone(bench.reader, row, broken), row


@pytest.mark.parametrize("name", [name for name in DATABASES if name.startswith("legacy/") or name in KEYS])
def test_a_lost_result_is_mended(name: str, database: Database) -> None:
    """Its result taken out, a call is answered, dropped, or rolled back; undone, every byte is back."""
    with closing(writable(name, database)) as bench:
        heads = bench.reader.moment(lambda: with_calls(bench.reader))
        for row in heads[:1]:
            if name == PICKLED:
                with pytest.raises(NotSupported):
                    bench.reader.moment(lambda row=row: _lose_result(bench.reader, row))
                continue
            apply(bench.saver, bench.log, bench.reader.moment(lambda row=row: _lose_result(bench.reader, row)), at=1.0)
            for how in (*Mend, None):
                _mend_and_undo(bench, row, how, judged=name.startswith(INSTALLED) and not name.endswith("-enc"))
        assert heads or name.startswith(("legacy/js-0.2.41", "legacy/js-1"))


def _lose_result(reader: Reader, row: CheckpointRow) -> Plan:
    values = Inspection(reader, row.ref).values()
    kept = [one for one in values["messages"] if not (turn := read_turn(one)) or not turn.results]
    return edit.plan(reader, row, {**values, "messages": kept}, Mint())


def _mend_and_undo(bench: Bench, before: CheckpointRow, how: Mend | None, *, judged: bool) -> None:
    def planned(reader: Reader) -> Plan:
        row = reader.head(before.thread_id, before.ns)
        broken = find_broken(reader, row.ref)
        assert {str(fault.kind) for one in broken for fault in one.faults} == {"unanswered"}
        assert why_left_alone(reader, row, broken) == ""
        if how is None:
            return plan_rollback(reader, row, Mint())[0]
        return plan_mend(reader, row, broken, how, ANSWER, Mint())[0]

    def look(reader: Reader) -> None:
        row = reader.head(before.thread_id, before.ns)
        assert find_broken(reader, row.ref) == []
        if judged:
            stored = next(iter(reader.saver.checkpoints([row.ref])))
            body: Any = JsonPlusSerializer().loads_typed((stored.body.tag, stored.body.data))
            messages = body["channel_values"]["messages"]
            chat_completions(messages)
            assert (ANSWER in [one.content for one in messages]) == (how is Mend.ANSWER)

    bench.there_and_back(planned, look)
