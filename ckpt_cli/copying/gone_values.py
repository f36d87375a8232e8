"""`GoneValues`: channels that lost their value and kept its version, stored apart by version.

A deployment whose graph lacks a channel stores no value of it, and keeps its version (langgraph 1.2
``pregel/_checkpoint.py: create_checkpoint``). Where values are stored by version, the checkpoint would show the value
again that an earlier one has under this version. So its copy gets a version of its own.
"""

from collections.abc import Collection, Mapping
from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.layouts import named
from ckpt_cli.values.state import Version

_VERSIONS = 16  # of each channel; branches of a thread may have different ones in turn
_MORE = "0"  # at the end of a fraction: sorts after the version itself and before the next


class GoneValues:
    """The versions of one thread's channels that have a value, checkpoint by checkpoint.

    Attributes:
        channels: those that got versions of their own, of all checkpoints so far.
    """

    def __init__(self) -> None:
        self.channels: set[str] = set()
        self._ns: str | None = None
        self._held: dict[str, dict[Version, None]] = {}
        self._parents: dict[tuple[str, str], set[str]] = {}

    def add_parent(self, ns: str, versions: Mapping[str, Any]) -> None:
        """Note a checkpoint that the target has already, whose children come next."""
        for channel, version in versions.items():
            if isinstance(version, str) and version.endswith(_MORE):
                self._parents.setdefault((ns, channel), set()).add(version.removesuffix(_MORE))

    def body(
        self, ns: str, body: Mapping[str, Any], own: Collection[str], stored: Collection[str], words: str
    ) -> Mapping[str, Any]:
        """A checkpoint object with such versions; the checkpoints of a namespace come one after the other.

        Args:
            ns: the checkpoint's namespace.
            body: the object.
            own: the channels that have a value.
            stored: those whose value is stored by version, without snapshots of delta channels: a later checkpoint
                that shows these as well reads the same.
            words: names the checkpoint.

        Raises:
            NotSupported: the version is a number, beside which no other has a place.
        """
        if ns != self._ns:
            self._ns, self._held = ns, {}
        versions = named(body.get("channel_versions"))
        gone = {name for name, version in versions.items() if name not in own and self._is_held(name, version)}
        for name in stored:
            self._hold(name, versions.get(name))
        if not gone:
            return body
        self.channels |= gone
        others = {name: _another(name, versions[name], words) for name in versions if name in gone}
        seen = {node: _seen(named(by), versions, others) for node, by in named(body.get("versions_seen")).items()}
        return {**body, "channel_versions": {**versions, **others}, "versions_seen": seen}

    def _hold(self, channel: str, version: Any) -> None:
        if isinstance(version, Version):
            known = self._held.setdefault(channel, {})
            known[version] = None
            if len(known) > _VERSIONS:
                del known[next(iter(known))]

    def _is_held(self, channel: str, version: Any) -> bool:
        if not isinstance(version, Version):  # damaged
            return False
        return version in self._held.get(channel, ()) or version in self._parents.get((self._ns or "", channel), ())


def gone_words(channels: Collection[str]) -> str:
    """For the plan: channels that got versions of their own, behind a semicolon; "" for none."""
    if not channels:
        return ""
    return f"; a new version shows where a channel lost its value and not its version: {', '.join(sorted(channels))}"


def _seen(seen: dict[str, Any], versions: Mapping[str, Any], others: Mapping[str, str]) -> dict[str, Any]:
    """What a node has seen. A later version would start it again, or stop the run before it once more.

    langgraph 1.2 ``pregel/_algo.py: should_interrupt`` compares all versions with those at the last stop.
    """
    return {name: others[name] if name in others and one == versions[name] else one for name, one in seen.items()}


def _another(channel: str, version: Version, words: str) -> str:
    if isinstance(version, str) and "." in version:
        return version + _MORE
    what = f"{words} has no value of channel {channel!r} at version {version}, and one before it has"
    raise NotSupported(f"{what}; the target has one value for a version")
