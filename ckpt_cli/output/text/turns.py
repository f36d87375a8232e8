"""Joins the rows of a turn: its input, the step that took the input in, in a tree the folded run after it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ckpt_cli.views.steps import StepView
from ckpt_cli.views.tree import FoldView, TreeRow

_START = "__start__"


def joined_inputs(steps: Iterable[StepView]) -> dict[str, StepView]:
    """The inputs that have no row of their own, by the id of the checkpoint that took each in and shows it in its row.

    An input that has marks, or that several runs took in, keeps its row.
    """
    steps = list(steps)
    inputs = {step.checkpoint_id: step for step in steps if step.source == "input"}
    taken = {step.checkpoint_id: inputs[step.input_id] for step in steps if step.input_id in inputs}
    return {taker: one for taker, one in taken.items() if _is_plain_input(one)}


def joined(rows: Sequence[TreeRow]) -> list[TreeRow]:
    """The rows as they are drawn, with one for each turn.

    The row of a turn has the id of the step that took the input in: that checkpoint has the input in its state.
    """
    drawn: list[TreeRow] = []
    for row in rows:
        given = drawn[-1].step if drawn else None
        if given is not None and _has_taken(row, given) and not drawn[-1].subgraphs:
            drawn[-1:] = _turn(drawn[-1], given, row)
        else:
            drawn.append(row if row.fold is None else replace(row, fold=_uncounted(row.fold, taken=False)))
    return drawn


def _has_taken(row: TreeRow, given: StepView) -> bool:
    """Whether a row has the step that took in this input, which has nothing else to show."""
    taken = row.step.input_id if row.step is not None else row.fold.input_id if row.fold is not None else None
    return taken == given.checkpoint_id and given.source == "input" and _is_plain_input(given)


def _turn(above: TreeRow, given: StepView, row: TreeRow) -> list[TreeRow]:
    """One row for an input and the row after it; two if the folded run has more to say than its nodes."""
    if row.step is not None:
        return [replace(row, joint=above.joint, step=row.step._replace(source="input", parent_id=given.parent_id))]
    if row.fold is None:
        return [above, row]
    changes = given.changes if row.fold.changes is None else row.fold.changes
    given = given._replace(short=row.fold.first_short, step=row.fold.first_step, changes=changes)
    above = replace(above, step=given)
    fold = _uncounted(row.fold, taken=True)
    if fold.turns or fold.edits or fold.subgraphs or row.aside is not None:
        return [above, replace(row, fold=fold)]
    return [replace(above, ends=row.ends, fold=fold if fold.checkpoints else None)]


def _uncounted(fold: FoldView, *, taken: bool) -> FoldView:
    """A fold without the steps that share a row with their input; `taken`: also without the first, in a row before."""
    shared = fold.inputs_taken - (fold.input_id is not None and not taken)
    nodes = {node: count - (shared if node == _START else 0) for node, count in fold.nodes.items()}
    return replace(fold, checkpoints=fold.checkpoints - shared, nodes={n: c for n, c in nodes.items() if c})


def _is_plain_input(step: StepView) -> bool:
    """Whether the row of an input has nothing to show but what was given."""
    marked = step.tags or step.halts or step.head or step.missing or step.problem or step.unstored_steps != 0
    changed = any(change.kind == "cleared" or change.unwritten for change in step.changes or ())
    return step.children == 1 and not marked and not changed
