"""Applies an RFC 6902 patch (``edit --patch``) to a JSON document: all of it or nothing.

The document itself is not changed. The new document shares its untouched parts with the old one, so that they are
recognized by identity.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from ckpt_cli.errors import PathNotFound, Refused, UsageError
from ckpt_cli.values.same import same

_INDEX = re.compile(r"0|[1-9]\d{0,17}")
_WITH_VALUE = frozenset({"add", "replace", "test"})
_WITH_FROM = frozenset({"move", "copy"})
_OPERATIONS = "one of add, remove, replace, move, copy, test (RFC 6902)"

Put = Callable[[Any, str], Any]
"""Gives a new container with one member changed."""


def apply_patch(document: Any, operations: Any) -> Any:
    """The document after all operations.

    Raises:
        UsageError: `operations` is no patch; the message names the operation.
        PathNotFound: a path leads nowhere.
        Refused: a ``test`` fails.
    """
    if not isinstance(operations, list):
        raise UsageError("a patch is a list of operations", hint='[{"op": "replace", "path": "/a/0", "value": 1}]')
    for number, operation in enumerate(operations, 1):
        document = _applied(document, operation, number)
    return document


def pointer(text: Any) -> list[str]:
    """The tokens of a JSON pointer (RFC 6901).

    Raises:
        UsageError: the text is no JSON pointer.
    """
    if not isinstance(text, str) or (text and text[0] != "/") or re.search(r"~(?![01])", text):
        raise UsageError(f"{text!r} is no JSON pointer", hint="/channel/key/0; ~1 is a slash in a key, ~0 a tilde")
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]


def _applied(document: Any, operation: Any, number: int) -> Any:
    if not isinstance(operation, dict) or not isinstance(operation.get("op"), str) or "path" not in operation:
        raise UsageError(f"operation {number} of the patch has no op or no path")
    op = operation["op"]
    if op not in _WITH_VALUE | _WITH_FROM | {"remove"}:
        raise UsageError(f"operation {number} of the patch: {op!r} is no operation", hint=_OPERATIONS)
    needed = "value" if op in _WITH_VALUE else "from" if op in _WITH_FROM else None
    if needed is not None and needed not in operation:
        raise UsageError(f"operation {number} of the patch: {op} has no {needed}")
    try:
        return _apply_operation(document, op, operation)
    except (UsageError, PathNotFound, Refused) as error:
        message = f"operation {number} of the patch ({op} {operation['path']}): {error.message}"
        raise type(error)(message, hint=error.hint) from error


def _apply_operation(document: Any, op: str, operation: dict[str, Any]) -> Any:
    path = pointer(operation["path"])
    if op in _WITH_FROM:
        source = pointer(operation["from"])
        value = _at(document, source)
        if op == "move" and path[: len(source)] == source and path != source:
            raise UsageError("a part can't be moved into itself")
        return _changed(_changed(document, source, _remove) if op == "move" else document, path, _add(value))
    if op == "test":
        if not same(_at(document, path), operation["value"]):
            raise Refused("the value is different", hint="so nothing of the patch is done")
        return document
    if op == "remove":
        return _changed(document, path, _remove)
    return _changed(document, path, (_add if op == "add" else _replace)(operation["value"]))


def _at(document: Any, path: Sequence[str]) -> Any:
    for token in path:
        document = document[_key(document, token)]
    return document


def _changed(document: Any, path: Sequence[str], put: Put) -> Any:
    """The document after `put` changed the member at the end of a path; all containers on the path are new."""
    if not path:
        return None if put is _remove else put([document], "0")[0]
    containers = [document]
    for token in path[:-1]:
        containers.append(containers[-1][_key(containers[-1], token)])
    part = put(containers[-1], path[-1])
    for container, token in zip(reversed(containers[:-1]), reversed(path[:-1]), strict=True):
        part = _with(container, _key(container, token), part)
    return part


def _with(container: Any, key: Any, part: Any) -> Any:
    new = container.copy()
    new[key] = part
    return new


def _add(value: Any) -> Put:
    def put(container: Any, token: str) -> Any:
        if isinstance(container, dict):
            return _with(container, token, value)
        at = len(container) if token == "-" and isinstance(container, list) else _key(container, token, more=1)  # noqa: S105 - RFC 6901's word for the end
        return [*container[:at], value, *container[at:]]

    return put


def _replace(value: Any) -> Put:
    return lambda container, token: _with(container, _key(container, token), value)


def _remove(container: Any, token: str) -> Any:
    new = container.copy()
    del new[_key(container, token)]
    return new


def _key(container: Any, token: str, more: int = 0) -> Any:
    """The key or the index that a token names; `more` indices after the end are allowed.

    Raises:
        PathNotFound: the container has no such member.
    """
    if isinstance(container, dict):
        if token in container:
            return token
        raise PathNotFound(f"there is no {token!r}", hint=_members(container))
    if not isinstance(container, list):
        raise PathNotFound(f"{token!r} leads into a value that has no parts")
    if not _INDEX.fullmatch(token):
        raise PathNotFound(f"{token!r} is no index of a list", hint=_counted(container))
    if int(token) >= len(container) + more:
        raise PathNotFound(f"there is no item {token}", hint=_counted(container))
    return int(token)


def _members(container: dict[str, Any]) -> str:
    return f"there is {', '.join(list(container)[:8])}" if container else "it is empty"


def _counted(container: list[Any]) -> str:
    return f"it has {len(container)} {'item' if len(container) == 1 else 'items'}"
