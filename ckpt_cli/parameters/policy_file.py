"""Named policies of ``ckpt prune`` in the config file: ``[policies.nightly]``, ``keep-last = 10``."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from ckpt_cli.config_file import read_table
from ckpt_cli.errors import UsageError

_LINES = "keep-last = 10"
_WORDS = {str: "a text", int: "a number that isn't negative", bool: "true or false", list: "a list of texts"}


def read_policy(name: str, kinds: Mapping[str, type]) -> dict[str, Any]:
    """The options of a named policy, each with the value of its kind.

    Args:
        name: the policy.
        kinds: option to the type of its value.

    Raises:
        UsageError: the config file has no such policy, or it has an option that doesn't exist, or of another type.
    """
    path, policies = read_table("policies", _LINES)
    policy = policies.get(name)
    if policy is None:
        near = get_close_matches(name, policies, n=1)
        known = f"it has {', '.join(sorted(policies))}" if policies else f"a policy has lines like {_LINES}"
        hint = f"did you mean {near[0]}?" if near else f"{known}, below [policies.NAME]"
        raise UsageError(f"no policy {name!r} in {path}", hint=hint, candidates=near)
    if not isinstance(policy, dict):
        raise UsageError(f"{path}: [policies.{name}] needs lines like {_LINES}")
    return {key: _value(f"{path}: [policies.{name}]", key, value, kinds) for key, value in policy.items()}


def _value(where: str, key: str, value: object, kinds: Mapping[str, type]) -> Any:
    kind = kinds.get(key)
    if kind is None:
        near = get_close_matches(key, kinds, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it may have {', '.join(kinds)}"
        raise UsageError(f"{where} has {key!r}, which is no option of a policy", hint=hint)
    if kind is list and isinstance(value, str):
        return [value]
    if kind is str and type(value) is int:
        return str(value)
    is_fitting = type(value) is kind and not (kind is int and isinstance(value, int) and value < 0)
    if not is_fitting or (isinstance(value, list) and not all(isinstance(one, str) for one in value)):
        raise UsageError(f"{where} {key} needs {_WORDS[kind]}")
    return value
