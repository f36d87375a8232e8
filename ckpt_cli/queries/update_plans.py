"""The plans of `update` and `replay --commit`, for one thread or many; `--remember`."""

from collections.abc import Callable, Sequence

from ckpt_cli.model import CheckpointRow, Plan
from ckpt_cli.parameters.reducers import change_and_remember, remember
from ckpt_cli.parameters.target import Target
from ckpt_cli.plans.update import PlannedUpdate
from ckpt_cli.queries.thread_plans import change_target
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView

MakeUpdate = Callable[[Reader, CheckpointRow], PlannedUpdate]
"""Makes the plan of an update for one checkpoint of a thread."""


def update_target(
    session: Session, verb: str, target: Target, reducers: Sequence[str] | None, make: MakeUpdate
) -> PlanView | BulkView:
    """Plan an update of one thread or of many, show it, ask, apply it, and remember the named reducers if asked to."""
    if target.chosen is None:

        def make_plan(reader: Reader) -> tuple[CheckpointRow, PlannedUpdate]:
            row = reader.resolve(target.thread, target.rev, target.ns)
            return row, make(reader, row)

        return change_and_remember(session, reducers, make_plan)
    planned: list[CheckpointRow] = []

    def make_one(reader: Reader, row: CheckpointRow) -> Plan:
        plan = make(reader, row).plan
        planned[:] = planned or [row]
        return plan

    view = change_target(session, verb, target, make_one)
    if view.applied:
        remember(session, reducers, planned[0].ref)
    return view
