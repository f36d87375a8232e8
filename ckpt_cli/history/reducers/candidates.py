"""What the reducers that fit a channel's steps make of new writes: one result, or several."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ckpt_cli.history.reducers.reducer import PartlyUnfit, TooManyWrites, Undecided, Unfit
from ckpt_cli.history.reducers.reducers import Evidence
from ckpt_cli.values.same import same


def outcomes(candidates: Sequence[Evidence], before: Any, writes: Sequence[Any]) -> list[tuple[Evidence, Any]]:
    """The distinct results of the candidates for these writes, each with the first candidate that gives it.

    There is none if no candidate takes several writes in one step, and there are several.

    Raises:
        Undecided: what a candidate makes of these values isn't known; or one makes a value of several writes, another
            an error, as a last value does (langgraph 1.2 ``channels/last_value.py: update``).
        PartlyUnfit: a candidate can't take these values, another can.
        Unfit: no candidate can take these values. What a person types is no evidence against a reducer.
    """
    results: list[tuple[Evidence, Any]] = []
    refusing: list[str] = []
    unfit: Unfit | None = None
    for evidence in candidates:
        try:
            value = evidence.step(before, writes)
        except TooManyWrites:
            refusing.append(f"{evidence.reducer.name}, for which several writes in a step are an error")
            continue
        except Undecided as error:
            others = "".join(f"{one.reducer.name}, and " for one, _ in results[:1])
            raise Undecided(f"{others}{evidence.reducer.name}, which leaves this value open: {error}") from error
        except Unfit as error:
            unfit = unfit or Unfit(f"{evidence.reducer.name}, which can't apply this value: {error}")
            continue
        place = next((at for at, (_, other) in enumerate(results) if same(value, other)), None)
        if place is None:
            results.append((evidence, value))
        else:
            first = results[place][0]
            results[place] = (replace(first, equals=(*first.equals, evidence.reducer)), value)
    if unfit is not None:
        raise PartlyUnfit(f"{results[0][0].reducer.name}, and {unfit}") if results else unfit
    if results and refusing:
        raise Undecided(f"{results[0][0].reducer.name}, and {refusing[0]}")
    if len(results) == 1:
        _must_be_more_than_supposed(results[0][0], candidates, before, writes)
    return results


def _must_be_more_than_supposed(
    evidence: Evidence, candidates: Sequence[Evidence], before: Any, writes: Sequence[Any]
) -> None:
    """Refuse the only result where it depends on an order that an agent's class is supposed to have.

    The steps may fit it by chance: an ``Enum`` whose reducer ranks its members is stored with their texts.

    Raises:
        Undecided: no candidate gives the result without that order.
    """
    why: Undecided | None = None
    for one in candidates:
        try:
            if one.reducer in evidence.all:
                one.step(before, writes, supposing=False)
                return
        except Undecided as error:
            why = error
    if why is not None:
        raise Undecided(f"{evidence.reducer.name}, which leaves this value open: {why}") from why


def outcomes_or_error(
    candidates: Sequence[Evidence], before: Any, writes: Sequence[Any]
) -> tuple[list[tuple[Evidence, Any]], Unfit | None]:
    """See `outcomes`; the error if a candidate can't take the writes."""
    try:
        return outcomes(candidates, before, writes), None
    except Unfit as error:
        return [], error


def joined(candidates: Sequence[Evidence]) -> Evidence | None:
    """The first candidate, with the others as its equals; None if there is none."""
    return replace(candidates[0], equals=tuple(one.reducer for one in candidates[1:])) if candidates else None
