"""The edits that ``--set``, ``--append`` and ``--unset`` describe."""

from collections.abc import Iterable

from ckpt_cli.errors import UsageError
from ckpt_cli.history.state.editing import Act, Edit
from ckpt_cli.history.state.paths import parse
from ckpt_cli.parameters.json_input import parse_json_input
from ckpt_cli.values.loadable import read_typed

_JSON_HINT = "text needs quotes of its own: --set 'name=\"Ada\"'"


def parse_edits(set_: Iterable[str], append: Iterable[str], unset: Iterable[str]) -> list[Edit]:
    """The edits in the order in which they are applied."""
    return [
        *(_parse_assignment(Act.SET, text) for text in set_),
        *(_parse_assignment(Act.APPEND, text) for text in append),
        *(Edit(Act.UNSET, tuple(parse(text))) for text in unset),
    ]


def _parse_assignment(act: Act, text: str) -> Edit:
    """The edit that ``PATH=JSON`` describes. The path ends at the first ``=`` that comes after a valid path."""
    problem = UsageError(f"{text!r} has no =", hint=f"--{act} PATH=JSON")
    equals = text.find("=")
    while equals >= 0:
        try:
            steps = parse(text[:equals])
        except UsageError as error:
            problem, equals = error, text.find("=", equals + 1)
            continue
        data = parse_json_input(text[equals + 1 :], f"the value of {text[:equals]}", hint=_JSON_HINT)
        try:
            return Edit(act, tuple(steps), read_typed(data))
        except UsageError as error:
            raise UsageError(f"the value of {text[:equals]}: {error.message}", hint=error.hint) from error
    raise problem
