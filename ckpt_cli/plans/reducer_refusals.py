"""Errors for writes that a channel can't take, or whose result no recorded step decides."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ckpt_cli.errors import CkptError, Refused, UsageError
from ckpt_cli.history.reducers.learning import Tally
from ckpt_cli.history.reducers.reducers import ABSENT, MAX, MESSAGES, MIN, Evidence, Reducer, Undecided, Unfit
from ckpt_cli.plans.messages import unknown_removals
from ckpt_cli.plans.other_threads import THREADS
from ckpt_cli.shell_words import argument
from ckpt_cli.values.langgraph_values import overwrite
from ckpt_cli.values.same import same


def must_be_messages(channel: str, candidates: Collection[Reducer], before: Any, writes: Sequence[Any]) -> None:
    """Refuse writes that aren't messages, or that remove an unknown one, if the reducer may be ``add_messages``.

    The recorded steps may also fit a plain append. Then a person can name that reducer.

    Raises:
        UsageError: the message names what is no message, or the message that isn't there.
    """
    if candidates and MESSAGES not in candidates:
        return
    try:
        MESSAGES.step(ABSENT, writes)
    except Unfit as error:
        option = f"--reducer {argument(channel + '=append')}"
        hint = f"a message is a text, or an object with role and content; {option} adds any list"
        what = f"channel {channel!r} takes messages, and not all of these values are messages"
        raise UsageError(what, hint=hint) from error
    if unknown := unknown_removals(before, writes):
        raise UsageError(
            f"channel {channel!r} has no message {unknown[0]!r} to remove",
            hint=f"`ckpt get THREAD {channel}` lists its messages with their ids",
        )


def excluded(channel: str, tally: Tally, hint: str) -> Refused:
    """No known reducer explains all of these steps."""
    what = "the recorded step" if tally.steps == 1 else f"the {tally.steps:,} recorded steps"
    return Refused(f"no reducer explains {what} of channel {channel!r}{_where(tally)}", hint=hint)


def ambiguous(channel: str, tally: Tally, fitting: Iterable[Reducer], hint: str) -> Refused:
    """Several reducers explain these steps, and give different values for the writes."""
    what = f"the recorded steps of channel {channel!r}{_where(tally)} fit reducers that give different values here"
    return Refused(f"{what}: {', '.join(one.name for one in fitting)}", hint=hint)


def unrecorded(channel: str, *, is_cut: bool, hint: str) -> Refused:
    """No step shows anything; `is_cut` says whether some threads that might were not read."""
    who = "no step of this thread, or of one known to be of its graph, shows"
    if is_cut:
        who = f"neither this thread nor the newest {THREADS} others, as far as they were read, show"
    return Refused(f"{who} what channel {channel!r} does with writes", hint=hint)


def unfit_write(channel: str, why: Unfit, hint: str) -> CkptError:
    """The reducer that explains the steps can't apply such values."""
    kind = Refused if isinstance(why, Undecided) else UsageError
    return kind(f"the recorded steps of channel {channel!r} fit {why}", hint=hint)


def unmet_case(channel: str, case: str, hint: str) -> Refused:
    """No step shows a case in which reducers that explain all steps would differ."""
    return Refused(f"no step that counts shows what channel {channel!r} does with {case}", hint=hint)


def unkept_last(evidence: Evidence, tally: Tally, value: Any, writes: Sequence[Any]) -> str:
    """A last write that a ``max`` (or ``min``) wouldn't keep, if each recorded step kept its last write; else "".

    An ``Overwrite`` is taken whatever the reducer.
    """
    extremes = [one for one in evidence.all if one in (MAX, MIN)]
    if not extremes or not tally.keeps_last or same(value, writes[-1]) or any(map(overwrite, writes)):
        return ""
    return f"a last write that isn't the {'greatest' if extremes[0] is MAX else 'least'}"


def _where(tally: Tally) -> str:
    return "" if tally.threads < 2 else f" in {tally.threads} threads"
