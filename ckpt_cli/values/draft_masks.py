"""Numbers masked secrets in the user's draft, and puts them back; what is secret: `well_known_types`."""

from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.values.well_known_types import SECRET

Hidden = dict[int, Any]
"""The number of a mask to the secret that it hides."""


def number(shown: Any, revealed: Any) -> Hidden:
    """Number the masks in `shown` in place, and return their secrets; `revealed` is the same JSON with the secrets."""
    hidden: Hidden = {}
    todo = [(shown, revealed)]
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
    """The document with each mask replaced by its secret.

    Raises:
        UsageError: a value was edited, but is still marked as a mask.
    """
    if isinstance(part, list):
        return [fill(item, hidden) for item in part]
    if not isinstance(part, dict):
        return part
    if type(part.get("$masked")) is int and part["$masked"] in hidden:
        if part.get("$value") != SECRET:
            raise UsageError("the mask of a secret was edited", hint='remove "$masked" too to set another secret')
        return hidden[part["$masked"]]
    return {key: fill(item, hidden) for key, item in part.items()}
