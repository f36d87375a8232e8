"""Objects that a person types: what LangGraph would load otherwise is refused, all else is as LangGraph stores it."""

import json
from collections import deque
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Network
from pathlib import Path, PurePath
from re import Pattern
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.errors import UsageError
from ckpt_cli.serde.msgpack import Unpacker
from ckpt_cli.serde.msgpack_write import pack
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.loadable import as_loaded, read_typed
from ckpt_cli.values.same import same

SERDE = JsonPlusSerializer()
SET, FROZEN = "builtins.set", "builtins.frozenset"
GIVEN: list[tuple[str, Any, Any]] = [
    ("datetime.date", "$value", "2026-05-06"),
    ("datetime.date", "$value", "2026-13-06"),
    ("datetime.date", "$args", [2026, 5, 6]),
    ("datetime.date", "$args", [2026, 2, 30]),
    ("datetime.date", "$args", ["2026", 2, 3]),
    ("datetime.datetime", "$value", "2026-05-06T10:00:00+00:00"),
    ("datetime.datetime", "$value", "2026-05-06 10:00"),
    ("datetime.datetime", "$value", "tomorrow"),
    ("datetime.datetime", "$args", [2026, 5, 6, 10]),
    ("datetime.time", "$value", "10:30"),
    ("datetime.time", "$value", "25:00"),
    ("datetime.timedelta", "$args", [0, 90000, 0]),
    ("datetime.timedelta", "$args", [0, "x", 0]),
    ("datetime.timedelta", "$args", [10**10]),
    ("decimal.Decimal", "$value", "1e3"),
    ("decimal.Decimal", "$value", 7),
    ("decimal.Decimal", "$value", "x"),
    ("uuid.UUID", "$value", "12345678-1234-1234-1234-12345678900A"),
    ("uuid.UUID", "$value", "zz"),
    ("ipaddress.IPv4Address", "$args", ["1.2.3.4"]),
    ("ipaddress.IPv4Address", "$value", "999"),
    ("ipaddress.IPv6Network", "$value", "FD00::/8"),
    ("pathlib.PosixPath", "$args", ["/a//b/"]),
    ("pathlib.PosixPath", "$value", "a/b"),
    ("pathlib.PosixPath", "$args", [3]),
    ("zoneinfo.ZoneInfo", "$value", "Europe/Berlin"),
    ("zoneinfo.ZoneInfo", "$value", "Nowhere/X"),
    ("re.compile", "$args", ["a+"]),
    ("re.compile", "$args", ["(", 0]),
    ("collections.deque", "$value", [1, 2]),
    ("collections.deque", "$value", 5),
    (SET, "$value", ["x", "y", "x"]),
    (SET, "$value", [{"a": 1}]),
    (SET, "$value", [[1]]),
    (SET, "$args", [[1, 2]]),
    (FROZEN, "$value", [1, True, 1.0, 2]),
]
CLASSES: dict[str, type] = {
    **{f"datetime.{one.__name__}": one for one in (date, datetime, time, timedelta)},
    **{f"ipaddress.{one.__name__}": one for one in (IPv4Address, IPv6Network)},
    **{f"builtins.{one.__name__}": one for one in (set, frozenset)},
    "decimal.Decimal": Decimal,
    "uuid.UUID": UUID,
    "zoneinfo.ZoneInfo": ZoneInfo,
    "pathlib.PosixPath": Path,
    "re.compile": Pattern,
    "collections.deque": deque,
}


def loaded(value: Any) -> Any:
    """What a node of the agent gets of a value that ckpt stores."""
    return SERDE.loads_typed(("msgpack", pack(value)))


@pytest.mark.parametrize(("kind", "key", "content"), GIVEN)
def test_what_langgraph_could_not_load_is_refused(kind: str, key: str, content: Any) -> None:
    """A typed object is the object that LangGraph loads, in the bytes in which it stores it; else it is refused."""
    data = {"$type": kind, key: content}
    try:
        value = read_typed(data)
    except UsageError:
        assert type(loaded(from_json(data))) is not CLASSES[kind]
        return
    assert isinstance(loaded(value), CLASSES[kind])
    again = Unpacker().value(SERDE.dumps_typed(loaded(value))[1])
    assert same(value, again)  # not the bytes: each process stores the same set of texts in another order


NAMES: list[Any] = [
    "",
    "x..y",
    "app.",
    ".App",
    "App",
    5,
    None,
    ["app.App"],
    "builtins.Nothing",
    "enum.Enum",
    "enum.IntEnum",
]


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("content", [{}, {"$value": 1}], ids=["no fields", "a value"])
def test_what_names_no_class_is_refused(kind: Any, content: dict[str, Any]) -> None:
    """LangGraph loads the bare fields where a name can't be that of a class with values, so that it is a mistake."""
    if isinstance(kind, str):
        assert loaded(from_json({"$type": kind, **content})) == content.get("$value", {})
    with pytest.raises(UsageError) as error:
        read_typed({"$type": kind, **content})
    assert error.value.hint


@pytest.mark.parametrize("kind", ["bytes", "str", "int", "bool", "NoneType", "list", "dict"])
def test_plain_values_have_a_form_of_their_own(kind: str) -> None:
    """The form that the hint names is read as a value of that type; `$type` gave an empty one, or another type."""
    with pytest.raises(UsageError, match=kind) as error:
        read_typed({"$type": f"builtins.{kind}"})
    form = (error.value.hint or "").removeprefix("such as ").partition(", which")[0].partition(", or")[0]
    assert type(loaded(read_typed(json.loads(form)))).__name__ == kind


@given(
    st.recursive(
        st.one_of(
            st.integers(-(2**60), 2**60), st.booleans(), st.text(), st.dates(), st.uuids(), st.decimals(allow_nan=False)
        )
        | st.datetimes(timezones=st.sampled_from([UTC]))
        | st.times()
        | st.timedeltas()
        | st.frozensets(st.one_of(st.text(), st.integers(-5, 5), st.booleans()))
        | st.sampled_from([ZoneInfo("UTC"), PurePath("/a"), IPv4Address("10.0.0.1"), Path("/tmp/b")]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_what_langgraph_stored_is_not_changed(value: Any) -> None:
    """The JSON of a stored value is read back as the same bytes, and what keeps its bytes stays the same object."""
    try:
        stored = SERDE.dumps_typed(value)[1]
    except TypeError:
        return
    read = Unpacker().value(stored)
    assert as_loaded(read) is read
    assert pack(read_typed(json.loads(json.dumps(to_json(read, reveal=True))))) == stored
