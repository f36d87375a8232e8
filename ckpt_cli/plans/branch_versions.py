"""Versions of a new branch that no other branch has, in threads of LangGraph.js on Postgres.

There a value is stored once for each version of its channel, and the first one stays (LangGraph.js checkpoint-postgres
1.0, ``sql.ts: UPSERT_CHECKPOINT_BLOBS_SQL``). LangGraph.js gives a step the highest version of its checkpoint and 1
more (checkpoint 1.1, ``base.ts: getNextVersion``). So two branches would have the same versions, and the values of the
second would be lost, unless its first checkpoint has a version above all others.
"""

from collections.abc import Mapping
from typing import Any

from ckpt_cli.history.state.channels import is_control
from ckpt_cli.history.state.javascript import writes_javascript
from ckpt_cli.layouts import named
from ckpt_cli.model import Checkpoint, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State


def highest_version(reader: Reader, stored: Checkpoint, state: State) -> int:
    """The highest version in a namespace whose branches share values by version; 0 where they share none."""
    if stored.channels is None or not writes_javascript(state):
        return 0
    lineage, ref = reader.lineage(state.ref.thread_id, state.ref.ns), state.ref
    tips = [Ref(ref.thread_id, ref.ns, tip) for tip in lineage.tips]
    return max((_integer(version) for one in reader.states(tips) for version in one.versions.values()), default=0)


def above_other_branches(body: Mapping[str, Any], state: State, highest: int) -> dict[str, Any]:
    """The keys of a new checkpoint's body that differ, so that one version is above all others of the namespace.

    The version is that of one channel, preferably one with a value; each node that had seen the old version has seen
    the new one. Empty where a version is above all others already.
    """
    versions, values = named(body.get("channel_versions")), named(body.get("channel_values"))
    if not highest or not versions or max(map(_integer, versions.values())) > highest:
        return {}
    channel = min(versions, key=lambda name: (name not in values, is_control(name, state), name))
    old, new = versions[channel], highest + 1
    seen = {
        node: {**own, **({channel: new} if own.get(channel) == old else {})}
        for node, own in named(body.get("versions_seen")).items()
        if isinstance(own, dict)
    }
    return {"channel_versions": {**versions, channel: new}, "versions_seen": seen}


def _integer(version: Any) -> int:
    return version if isinstance(version, int) else 0
