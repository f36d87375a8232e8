"""Detects from a checkpoint which LangGraph releases write such checkpoints (``info``).

The format number `v` grew with the library: 2 in langgraph 0.3.23, 3 to 0.4, 4 since 0.5 (``pregel/checkpoint.py``).
Before 0.3.23, langgraph-checkpoint chooses it, in the release that is installed: 1 up to 2.0.21, then 2 (``base:
create_checkpoint``). It chooses the encoding too: JSON before 1.0.10, then msgpack. langgraph 0.2.29 needs 1.0.13, and
0.2.32 needs 2.0.0. JavaScript numbers its versions 1, 2, 3, as Python did before 0.1. Its timestamps end with Z, also
in checkpoints that `copy` has converted.
"""

from ckpt_cli.values.state import State, Version

_JAVASCRIPT = {1: "LangGraph.js up to 0.3", 4: "LangGraph.js 0.4 or later"}
_BY_FORMAT = {
    2: "langgraph 0.3.23, or 0.2.32 to 0.3.22 with langgraph-checkpoint 2.0.22 or later",
    3: "langgraph 0.3.24 to 0.4",
    4: "langgraph 0.5 or later",
}
_JSON = "langgraph 0.2.0 to 0.2.28 with langgraph-checkpoint before 1.0.10"
_UNTAGGED = "langgraph 0.2.0 to 0.3.22 with langgraph-checkpoint before 2.0.22"
_TAGGED = ("D", "E")  # the schemas of SQLite; those of other databases may store the header as JSON in every release
_MSGPACK = "langgraph 0.2.0 to 0.3.22 with langgraph-checkpoint 1.0.10 to 2.0.21"


def era(state: State, tag: str, layout: str) -> str:
    """The releases that write such a checkpoint.

    `tag` is its type tag, "" if the schema has no column for it. `layout` "H" is the schema of LangGraph.js 0.0.
    """
    versions = list(state.versions.values())
    is_counted = bool(versions) and all(map(_is_int, versions))
    if layout == "H" or (is_counted and (tag == "json" or state.ts.endswith("Z"))):
        return _JAVASCRIPT.get(state.v, "LangGraph.js")
    if state.v in _BY_FORMAT:
        return "langgraph 0.6 or later" if state.updated is not None else _BY_FORMAT[state.v]
    if tag == "":
        return "langgraph 0.0 or 0.1"
    if layout not in _TAGGED:
        return _UNTAGGED
    return _JSON if tag.startswith("json") else _MSGPACK


def _is_int(version: Version) -> bool:
    return isinstance(version, int)
