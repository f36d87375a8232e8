"""Which metadata a new checkpoint carries over: LangGraph's own keys and the application's.

LangGraph takes an application's keys (``user_id``, ``tenant``) from the config of a run: the scalars of its
``metadata`` and ``configurable`` (langgraph-checkpoint 4.3, ``base/__init__.py: get_checkpoint_metadata``). ckpt has no
such config. So a new checkpoint gets these keys from the checkpoint from which it is made. Without the keys, a search
by ``user_id`` would no longer find the thread.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.history.state.delta_counters import COUNTERS
from ckpt_cli.values.same import same

Scalar = None | bool | int | float | str

_LIBRARY_KEYS = frozenset(
    {
        *("source", "step", "writes", "parents", COUNTERS),
        *("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map"),  # the ids up to langgraph 0.4
    }
)
_SCALARS = frozenset({str, bool, int, float, type(None)})


@dataclass(frozen=True, slots=True)
class MetadataChanges:
    """The changes that a person makes to the application's metadata.

    Attributes:
        values: keys to set.
        dropped: keys to leave out.
    """

    values: Mapping[str, Scalar] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()

    def apply_to(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """The metadata with these changes; a changed key keeps its position, a new key comes last."""
        changed = {**metadata, **self.values}
        return {key: value for key, value in changed.items() if key not in self.dropped}

    def has_effect_on(self, metadata: Mapping[str, Any]) -> bool:
        """Whether these changes alter the keys that a new checkpoint takes over from this metadata."""
        return not same(self.apply_to(carried_keys(metadata)), carried_keys(metadata))

    @property
    def options(self) -> list[str]:
        """The options that a person types for these changes."""
        texts = {key for key, value in self.values.items() if isinstance(value, str) and value}
        words = [f"{key}={one}" if key in texts else f"{key}:={json.dumps(one)}" for key, one in self.values.items()]
        words += [f"{key}=" for key in sorted(self.dropped)]
        return [part for word in words for part in ("--metadata", word)]

    def describe(self, metadata: Mapping[str, Any]) -> list[str]:
        """Lines for a plan: which keys of this metadata are set and dropped."""
        dropped = [key for key in sorted(self.dropped) if key in metadata]
        missing = [key for key in sorted(self.dropped) if key not in metadata]
        return [
            *([f"metadata set: {', '.join(self.values)}"] if self.values else []),
            *([f"metadata dropped: {', '.join(dropped)}"] if dropped else []),
            *([f"there was no metadata {', '.join(missing)} to drop"] if missing else []),
        ]


UNCHANGED = MetadataChanges()


def is_application_key(key: str) -> bool:
    """Whether a metadata key belongs to the application: neither to LangGraph nor to a single run."""
    return key not in _LIBRARY_KEYS and key != "run_id" and not key.startswith(("__", "langgraph_"))


def carried_keys(metadata: Mapping[str, Any]) -> dict[str, Scalar]:
    """The application's keys that a new checkpoint takes over: only those with scalars, like in LangGraph."""
    return {key: value for key, value in metadata.items() if is_application_key(key) and type(value) in _SCALARS}


def new_metadata(own: Mapping[str, Any], origin: Mapping[str, Any], changes: MetadataChanges) -> dict[str, Any]:
    """The metadata of a new checkpoint: LangGraph's keys, then the application's, in the library's order.

    Args:
        own: LangGraph's own keys.
        origin: the metadata of the checkpoint from which the new one is made.
        changes: a person's changes of the application's keys.
    """
    return {**own, **changes.apply_to(carried_keys(origin))}


def describe_changes(origin: Mapping[str, Any], changes: MetadataChanges) -> list[str]:
    """Lines for a plan: the keys that are set, that are dropped, and that the new checkpoint can't take over."""
    others = [key for key in origin if is_application_key(key) and type(origin[key]) not in _SCALARS]
    others = [key for key in others if key not in changes.values and key not in changes.dropped]
    what = "only text, numbers, true, false and null are"
    return [*changes.describe(origin), *([f"not copied: metadata {', '.join(others)} ({what})"] if others else [])]
