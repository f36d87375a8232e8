"""Ids and versions are made in the forms that the real libraries make, above all that are there."""

from random import Random

import pytest
import uuid6
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base.id import uuid6 as librarys
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.errors import NotSupported
from ckpt_cli.history.lineage import ids
from ckpt_cli.plans.mint import Mint

NOW = 1_795_253_285.25
TS = "2026-11-21T09:28:05.000000+00:00"


@given(step=st.integers(-1, 20_000), seed=st.integers(0, 99))
def test_ids_are_the_librarys(step: int, seed: int) -> None:
    """An id is a valid uuid6 of the variant, with the time and the step that the library's own would carry."""
    head = str(librarys(clock_seq=step - 1))
    stamp = Mint(lambda: 2e9, Random(seed)).stamp(head, TS, step)
    made = uuid6.UUID(stamp.id)
    assert (made.version, made.variant) == (6, uuid6.UUID(str(librarys())).variant)
    assert stamp.id.split("-")[3] == str(librarys(clock_seq=step)).split("-")[3]
    assert ids.unix_time(stamp.id) == 2e9
    assert stamp.ts == "2033-05-18T03:33:20.000000+00:00"


@given(seed=st.integers(0, 99))
def test_ids_are_above_the_heads(seed: int) -> None:
    """Also where the clock that made the head was ahead of this one."""
    mint = Mint(lambda: NOW, Random(seed))
    head = Mint(lambda: NOW + 3600).stamp(str(librarys()), TS, 3).id
    assert mint.stamp(head, TS, 0).id > head


def test_javascript_writes_its_times_otherwise() -> None:
    """A thread whose times end in Z continues with such times."""
    assert Mint(lambda: NOW).stamp(str(librarys()), "2026-11-21T09:28:05.123Z", 1).ts == "2026-11-21T09:28:05.250Z"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("2026-11-21T08:28:16.707384+00:00", "2026-11-21T09:28:05.250000+00:00"),
        ("2026-11-21T10:28:16.707384+02:00", "2026-11-21T11:28:05.250000+02:00"),
        ("2027-01-01T00:00:00.000000+00:00", "2027-01-01T00:00:00.000001+00:00"),
        ("2026-11-21T08:28:16.707384", "2026-11-21T09:28:05.250000"),
    ],
)
def test_ids_that_are_times(head: str, expected: str) -> None:
    """Threads of langgraph 0.0 go on with times, in the zone of the head, above it, as id and ``ts``."""
    stamp = Mint(lambda: NOW).stamp(head, head, 1)
    assert (stamp.id, stamp.ts) == (expected, expected)
    assert stamp.id > head


def test_other_ids_are_refused() -> None:
    """What no LangGraph made can't be continued."""
    with pytest.raises(NotSupported, match="'my own id'"):
        Mint().stamp("my own id", TS, 1)


@pytest.mark.parametrize(
    ("current", "like", "expected"),
    [
        (7, None, 8),
        (None, 7, 1),
        ("00000000000000000000000000000002.", None, "00000000000000000000000000000003."),
        (
            "00000000000000000000000000000002.d751713988987e9331980363e24189ce",
            None,
            "00000000000000000000000000000003.900150983cd24fb0d6963f7d28e17f72",
        ),
    ],
)
def test_versions_of_older_savers(current: int | str | None, like: int | None, expected: int | str) -> None:
    """Plain numbers, empty tails and hashed tails go on as they are."""
    assert Mint().version(current, like, b"abc") == expected


@given(count=st.integers(1, 10**6), seed=st.integers(0, 99))
def test_versions_are_the_librarys(count: int, seed: int) -> None:
    """With a random tail a version is what checkpoint-sqlite's own ``get_next_version`` makes."""
    current = f"{count:032}.0.25"
    made = Mint(dice=Random(seed)).version(current)
    random = Random(seed).random()
    assert made == f"{count + 1:032}.{random:016}"
    theirs = SqliteSaver.get_next_version(None, current, None)  # type: ignore[arg-type]
    assert str(made).split(".")[0] == theirs.split(".")[0]
    assert len(theirs.split(".")) == len(str(made).split("."))
