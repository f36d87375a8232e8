"""Makes the RFC 6902 patch between two JSON documents (``diff``); `patch_application` applies one.

Applied in order to the first document, its operations give the second. Only ``add``, ``remove`` and ``replace`` are
used, so that any implementation can apply them. Elements of a list are matched as in `history.diff.align`. Removals go
from the end and additions from the beginning, so that every index is right when its operation is applied.
"""

from collections.abc import Iterator
from typing import Any

from ckpt_cli.history.diff.align import align
from ckpt_cli.values.same import same

Operation = dict[str, Any]

_DEEPEST = 200


def patch(before: Any, after: Any, pointer: str = "", depth: int = 0) -> Iterator[Operation]:
    """The operations that turn one document into the other."""
    if same(before, after):
        return
    if depth < _DEEPEST and isinstance(before, dict) and isinstance(after, dict):
        yield from _keys(before, after, pointer, depth)
    elif depth < _DEEPEST and isinstance(before, list) and isinstance(after, list):
        yield from _elements(before, after, pointer, depth)
    else:
        yield {"op": "replace", "path": pointer, "value": after}


def _keys(before: dict[str, Any], after: dict[str, Any], pointer: str, depth: int) -> Iterator[Operation]:
    for key in before:
        if key not in after:
            yield {"op": "remove", "path": f"{pointer}/{_token(key)}"}
    for key, value in after.items():
        if key in before:
            yield from patch(before[key], value, f"{pointer}/{_token(key)}", depth + 1)
        else:
            yield {"op": "add", "path": f"{pointer}/{_token(key)}", "value": value}


def _elements(before: list[Any], after: list[Any], pointer: str, depth: int) -> Iterator[Operation]:
    alignment = align(before, after)
    for i in sorted([*alignment.removed, *(i for i, _ in alignment.moved)], reverse=True):
        yield {"op": "remove", "path": f"{pointer}/{i}"}
    for j in sorted([*alignment.added, *(j for _, j in alignment.moved)]):
        yield {"op": "add", "path": f"{pointer}/{j}", "value": after[j]}
    for i, j in alignment.pairs:
        yield from patch(before[i], after[j], f"{pointer}/{j}", depth + 1)


def _token(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
