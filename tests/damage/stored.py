"""What a column, a field or a part of a checkpoint may contain."""

import json
from typing import Any

import ormsgpack
from hypothesis import strategies as st

_HALVES = "a\x00é\ud83d\udcff\u2060"  # half of a surrogate pair, too, which JSON carries as an escape
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 0.0, -0.0, 1.5, 1e308, float("inf")]),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
)
TEXTS = st.one_of(
    st.sampled_from(
        [
            *(
                "",
                " ",
                "\x00",
                "a\x00b",
                "%",
                "b'x'",
                "null",
                "7",
                "-1.5",
                "\x1b[2J",
                "⚠",
                "'\"",
                "~|:@^",
            ),
            *("json", "msgpack", "pickle", "null", "empty", "bytes", "mongo-pairs", "redis-json", "msgpack+aes"),
            *("__interrupt__", "__error__", "__resume__", "__pregel_tasks", "__start__", "__root__", "messages"),
            *("branch:to:a", "join:a+b:c", "~__pregel_pull, a", "~__pregel_push, ('a',), 7, x, 3", "a:b|c:d"),
            "00000000-0000-6000-8000-000000000000",  # made in 1582
            "ffffffff-ffff-6fff-bfff-ffffffffffff",  # made in 5236
            "1f1e5786-50cb-6000-bfff-00000000000é",
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:59:59-14:00",
        ]
    ),
    st.text(max_size=12),
)
LONG = st.integers(3_000, 70_000).map(lambda length: "x" * length)
BLOBS = st.one_of(
    st.sampled_from([b"", b"\x00", b"\xff", b"thread", b"\x80\x04N.", b"\xdd\xff\xff\xff\xff"]),
    st.integers(1, 3_000).map(lambda length: b"\x91" * length),
    st.integers(1, 3_000).map(lambda length: b"[" * length),
    st.binary(max_size=20),
)
NOT_UTF8 = st.one_of(
    st.sampled_from([b"\xff", b"a\xffb", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\x80"]),
    st.binary(min_size=1, max_size=8),
)
"""Bytes that are stored as text."""

_SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.text(_HALVES))
PLAIN: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(TEXTS, st.text()), inner, max_size=4),
    ),
    max_leaves=8,
)
"""What JSON can hold."""


def _packable(value: Any) -> bool:
    try:
        ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS | ormsgpack.OPT_PASSTHROUGH_SUBCLASS)
    except (TypeError, ValueError):
        return False
    return True


OBJECTS = st.builds(
    lambda code, inner: ormsgpack.Ext(code, ormsgpack.packb(inner)), st.integers(0, 9), PLAIN.filter(_packable)
)
PACKED: st.SearchStrategy[Any] = st.recursive(
    st.one_of(_SCALARS.filter(_packable), st.binary(max_size=8), OBJECTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(st.text(max_size=5).filter(_packable), st.integers(-9, 2**63), st.none()), inner, max_size=3
        ),
    ),
    max_leaves=8,
)
"""What msgpack can hold, with objects of every extension code."""


def to_json(value: Any) -> bytes:
    """JSON as Python writes it, NaN and half surrogate pairs too."""
    return json.dumps(value).encode()


def to_msgpack(value: Any) -> bytes:
    """Msgpack with keys of any kind."""
    return ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS)


DOCUMENTS = st.one_of(PLAIN.map(to_json), PACKED.map(to_msgpack))
"""Whole payloads."""
