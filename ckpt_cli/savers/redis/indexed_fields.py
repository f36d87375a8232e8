"""Conditions on the fields that LangGraph's saver indexes, compared as the index does.

Tags ignore case; a stored text is split at commas, without the spaces around them (checkpoint-redis 0.5, ``__init__.py:
list``, with redisvl's ``Tag`` and ``Num``).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ckpt_cli.model import Payload, Ref
from ckpt_cli.savers.selection import Selection


class IndexedFields(NamedTuple):
    """Conditions on indexed fields.

    Attributes:
        tags: for each field, some tags; the field must have one of these tags.
        step: the number that ``step`` must equal; None for any.
        since: the lowest ``checkpoint_ts``, in milliseconds since 1970; None for any. `match` doesn't compare it.
    """

    tags: Mapping[str, Sequence[str]]
    step: int | float | None
    since: float | None = None

    @classmethod
    def of(cls, metadata: Payload | None) -> "IndexedFields":
        """The conditions of a selection."""
        wanted: dict[str, Any] = {} if metadata is None else json.loads(metadata.data)
        return cls({name: value for name, value in wanted.items() if name != "step"}, wanted.get("step"))

    @property
    def clause(self) -> str:
        """The index's conditions on numbers; "" for none."""
        if self.since is not None:
            return f"@checkpoint_ts:[{self.since:.0f} +inf]"
        return "" if self.step is None else f"@step:[{self.step} {self.step}]"

    def match(self, fields: Mapping[str, Any]) -> bool:
        """Whether a document's fields meet the conditions, compared as the index compares them."""
        step = fields.get("step")
        is_number = isinstance(step, int | float) and not isinstance(step, bool)
        if self.step is not None and not (is_number and step == self.step):
            return False
        wanted = ((name, {one.lower() for one in tags}) for name, tags in self.tags.items() if tags)
        return all(_tags_of(fields.get(name)) & tags for name, tags in wanted)


FIELDS = {"source": "$.source", "step": "$.step", "thread_id": "$.thread_id", "run_id": "$.run_id"}
"""The indexed fields, each with its path in a checkpoint's document."""


def _tags_of(stored: Any) -> set[str]:
    return {part.strip().lower() for part in stored.split(",")} if isinstance(stored, str) else set()


def selected(refs: Collection[Ref], selection: Selection) -> list[Ref]:
    """Those checkpoints that meet the other conditions, the highest id first; names are compared exactly."""
    here = [ref for ref in refs if _is_here(ref, selection)]
    return sorted(here, key=lambda ref: ref.checkpoint_id, reverse=True)[: selection.limit]


def _is_here(ref: Ref, selection: Selection) -> bool:
    names = (selection.thread_id, selection.ns, selection.checkpoint_id)
    is_named = all(name is None or name == own for name, own in zip(names, ref, strict=True))
    return is_named and (selection.before is None or ref.checkpoint_id < selection.before)
