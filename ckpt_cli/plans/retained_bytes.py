"""How many of the newest checkpoints `prune --max-bytes` keeps: as many as fit."""

from ckpt_cli.plans.retention import Retention
from ckpt_cli.plans.retention_policies import Policies
from ckpt_cli.plans.thread_bytes import ThreadBytes


def keep_fitting(retention: Retention, policies: Policies, sizes: ThreadBytes) -> str:
    """Keep what the policies keep, and the newest as long as the thread fits; a remark if it doesn't fit at all.

    More of the newest need more, so the largest number that fits is found by halving.
    """
    retention.keep(policies)
    if policies.bytes is None:
        return ""
    needed = _size(retention, sizes)
    if needed > policies.bytes:
        return f"what must stay takes {needed:,} bytes, more than --max-bytes {policies.bytes:,}"
    fitting, most = 0, len(retention.lineages.get("", ()))
    while fitting < most:
        middle = (fitting + most + 1) // 2
        retention.keep(policies, middle)
        fitting, most = (middle, most) if _size(retention, sizes) <= policies.bytes else (fitting, middle - 1)
    retention.keep(policies, fitting)
    return ""


def _size(retention: Retention, sizes: ThreadBytes) -> int:
    snapshots = 0 if retention.snapshots is None else retention.snapshots.size
    return sizes.without(retention.goes) + snapshots
