"""Plans and readings that the tests of operations share."""

from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Phase


def adding(checkpoint_id: str, parent_id: str = "2") -> Plan:
    """A plan that adds one checkpoint."""
    return Plan(
        "why", (checkpoint("t", checkpoint_id, parent_id=parent_id),), verb="fork", summary=f"adds {checkpoint_id}"
    )


def replacing(checkpoint_id: str, body: bytes, parent_id: str | None = None) -> Plan:
    """A plan that changes one checkpoint."""
    row = CheckpointRow("t", "", checkpoint_id, parent_id)
    return Plan(
        "", replace=(Checkpoint(row, Payload("bytes", body), Payload("json", b"{}")),), verb="edit", summary="x"
    )


def phases(log: OperationLog) -> dict[int, Phase]:
    """Number to phase."""
    return {operation.number: operation.phase for operation in log.operations()}


HEAD = Ref("t", "", "2")


OTHER = Payload("json", b"{}")


LONGER = Payload("msgpack", b"longer than it was before, and by far")
