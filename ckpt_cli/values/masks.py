"""Secrets in a document that a person edits: each mask has a number, by which its secret is put back."""

from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.values.natural import SECRET

Hidden = dict[int, Any]
"""The number of a mask to what it hides."""


def number(shown: Any, whole: Any) -> Hidden:
    """Number the masks of one JSON form in place, given the other form of the same value, which has the secrets."""
    hidden: Hidden = {}
    todo = [(shown, whole)]
    while todo:
        part, full = todo.pop()
        if isinstance(part, dict):
            if "$masked" in part:
                part["$masked"] = len(hidden) + 1
                hidden[part["$masked"]] = full
            else:
                todo.extend((item, full[key]) for key, item in reversed(part.items()))
        elif isinstance(part, list):
            todo.extend(reversed(list(zip(part, full, strict=True))))
    return hidden


def filled(part: Any, hidden: Hidden) -> Any:
    """The document with what each mask hides.

    Raises:
        UsageError: a secret was written over, but is still marked as masked.
    """
    if isinstance(part, list):
        return [filled(item, hidden) for item in part]
    if not isinstance(part, dict):
        return part
    if type(part.get("$masked")) is int and part["$masked"] in hidden:
        if part.get("$value") != SECRET:
            raise UsageError("a masked secret was written over", hint='take "$masked" away to give another one')
        return hidden[part["$masked"]]
    return {key: filled(item, hidden) for key, item in part.items()}
