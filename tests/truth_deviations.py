"""Where a truth file may have less than the database, each with its reason; a comparison that allows for it."""

import base64
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ckpt_cli.history.tasks.task_ids import interrupt_id
from tests.truth_rendering import MISSING, canonical

Difference = tuple[str, Any, Any]


class Deviation(NamedTuple):
    """One way in which the library that made the truth reads less than is stored."""

    reason: str
    holds: Callable[[Any, Any], bool]


def differences(got: Any, want: Any, path: str = "$") -> Iterator[Difference]:
    """The places where a value differs from the truth and no deviation explains it, with both values."""
    if canonical(got) == canonical(want) or any(deviation.holds(got, want) for deviation in DEVIATIONS):
        return
    if isinstance(got, dict) and isinstance(want, dict):
        for key in sorted({*got, *want}):
            yield from differences(got.get(key, MISSING), want.get(key, MISSING), f"{path}.{key}")
    elif isinstance(got, list) and isinstance(want, list) and len(got) == len(want):
        for place, pair in enumerate(zip(got, want, strict=True)):
            yield from differences(*pair, f"{path}[{place}]")
    else:
        yield path, got, want


def _cast_to_text(got: Any, want: Any) -> bool:
    if not (isinstance(got, dict) and isinstance(want, dict) and got.keys() == want.keys() == {"$bytes"}):
        return False
    damaged = base64.b64decode(got["$bytes"]).decode(errors="replace").encode()
    return damaged == base64.b64decode(want["$bytes"])


def _envelope_left_shut(got: Any, want: Any) -> bool:
    if not (isinstance(want, dict) and want.get("lc") == 2 and want.get("type") == "constructor"):
        return False
    name, args = want["id"][-1], want.get("args", [])
    opened = {("$set" if name == "Set" else "$error"): args[0]} if args else None
    return canonical(got) in (canonical(opened), canonical({"$class": name, "args": args}))


def _default_of_class(got: Any, want: Any) -> bool:
    if not (isinstance(got, dict) and isinstance(want, dict) and want.get("type") == "Document"):
        return False
    return want.get("id", MISSING) is None and canonical({**got, "id": None}) == canonical(want)


def _by_position(got: Any, want: Any) -> bool:
    if not (isinstance(got, dict) and isinstance(want, dict) and got.keys() == {"$args"}):
        return False
    return canonical(got["$args"]) == canonical(list(want.values()))


def _id_for_namespace(got: Any, want: Any) -> bool:
    if not (isinstance(got, dict) and isinstance(want, dict) and got.keys() > {"$interrupt", "ns"}):
        return False
    return canonical(want) == canonical({"$interrupt": got["$interrupt"], "id": interrupt_id("|".join(got["ns"]))})


DEVIATIONS = (
    Deviation(
        "LangGraph.js' SqliteSaver reads writes with CAST(value AS TEXT): bytes come back with U+FFFD", _cast_to_text
    ),
    Deviation(
        "LangGraph.js 0.2 leaves Errors and a Set inside a Map in their envelopes; and a user's own object that looks "
        "like one stays as it is there, here it is of an unknown class",
        _envelope_left_shut,
    ),
    Deviation("langgraph 0.6 and newer read an older Interrupt without its namespace, as an id", _id_for_namespace),
    Deviation("a Document's class adds `id: None`, lc:1 doesn't store it", _default_of_class),
    Deviation("a pickled namedtuple is made by position: the names of its fields are its class's", _by_position),
)
