"""What ``blame`` says of a value that no write explains where LangGraph.js counts versions."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ckpt_cli.history.tasks.value_credit import Writer, Writers, credit, or_by
from ckpt_cli.history.tasks.write_signs import Gives
from ckpt_cli.queries.line_moments import Moment
from ckpt_cli.queries.origin_signs import other_causes


@pytest.mark.parametrize(
    ("apart", "version", "forks", "is_shared"),
    [
        (True, 5, ["fork"], True),
        (True, 5, [], False),
        (False, 5, ["fork"], False),
        (True, "00000000000000000000000000000005.0.1", ["fork"], False),
    ],
)
def test_a_version_that_two_branches_made(apart: bool, version: Any, forks: list[str], is_shared: bool) -> None:
    """Where a saver stores values by version, and versions are numbers, a fork may have the other branch's value."""
    saver = SimpleNamespace(form=SimpleNamespace(apart=apart))
    reads = SimpleNamespace(reader=SimpleNamespace(saver=saver), lineage=SimpleNamespace(forks=forks))
    moment = Moment(None, version, None, None, None, has_value=True, unknown_before="")
    causes = other_causes(cast(Any, reads), moment, is_first=False)
    made = credit(Writers([Writer("node", "quote", "id", ["KITCHEN"])]), Gives((), "bath", "hall"))
    assert ("a branch that made the same version" in or_by(made, causes).why) is is_shared
