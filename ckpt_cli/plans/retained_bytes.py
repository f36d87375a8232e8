"""How many of the newest checkpoints `prune --max-bytes` keeps: as many as fit."""

from ckpt_cli.plans.retention import Retention
from ckpt_cli.plans.retention_policies import Policies
from ckpt_cli.plans.snapshot_bytes import SnapshotBytes
from ckpt_cli.plans.thread_bytes import ThreadBytes


def keep_fitting(retention: Retention, policies: Policies, sizes: ThreadBytes, snapshots: SnapshotBytes) -> str:
    """Keep what the policies keep, and the newest as long as the thread fits; a remark if it doesn't fit at all.

    More of the newest need more, so the largest number that fits is found by halving.
    """
    retention.keep(policies)
    if (most_bytes := policies.bytes) is None:
        return ""
    needed = _size(retention, sizes, snapshots)
    if needed > most_bytes:
        about = "" if snapshots.is_exact(retention.snapshots) else "about "
        return f"what must stay takes {about}{needed:,} bytes, more than --max-bytes {most_bytes:,}"

    def fits(newest: int) -> bool:
        retention.keep(policies, newest)
        return _size(retention, sizes, snapshots) <= most_bytes

    fitting, most = 0, len(retention.lineages.get("", ()))
    while fitting < most:
        middle = (fitting + most + 1) // 2
        fitting, most = (middle, most) if fits(middle) else (fitting, middle - 1)
    retention.keep(policies, fitting)
    return ""


def _size(retention: Retention, sizes: ThreadBytes, snapshots: SnapshotBytes) -> int:
    return sizes.without(retention.goes) + snapshots.sum(retention.snapshots)
