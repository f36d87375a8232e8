"""Masked secrets in a document that a person edits: each mask has a number, by which its secret is put back."""

from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.values.natural import SECRET

Hidden = dict[int, Any]
"""The number of a mask to the secret that it hides."""


def number(shown: Any, whole: Any) -> Hidden:
    """Number the masks in `shown` in place, and give what they hide; `whole` is the same JSON form with secrets."""
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


def fill(part: Any, hidden: Hidden) -> Any:
    """The document with the secret in place of each mask.

    Raises:
        UsageError: a secret was overwritten, but is still marked as masked.
    """
    if isinstance(part, list):
        return [fill(item, hidden) for item in part]
    if not isinstance(part, dict):
        return part
    if type(part.get("$masked")) is int and part["$masked"] in hidden:
        if part.get("$value") != SECRET:
            raise UsageError("a masked secret was written over", hint='take "$masked" away to give another one')
        return hidden[part["$masked"]]
    return {key: fill(item, hidden) for key, item in part.items()}
