"""``ckpt update``: writes to the state as a node would, as LangGraph's ``update_state`` does."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_node
from ckpt_cli.errors import CkptError, UsageError
from ckpt_cli.model import CheckpointRow
from ckpt_cli.parameters.json_input import file_or_stdin, parse_json_input
from ckpt_cli.parameters.metadata_option import MetadataOption, metadata_changes
from ckpt_cli.parameters.options import Ns, OptionalRev
from ckpt_cli.parameters.reducers import DeferredOption, ReducerOption, named_reducers
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions
from ckpt_cli.parameters.target import ONE_THREAD, ManyOptions, OneThread, parse_target
from ckpt_cli.parameters.values_from import ValuesFrom, ValuesOfThreads
from ckpt_cli.plans import update as plans
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.next_nodes import Hop
from ckpt_cli.plans.pending_writes import Finished
from ckpt_cli.plans.superstep_writer import INPUT, Update
from ckpt_cli.queries.update_plans import update_target
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.shell_words import WORD, unquoted
from ckpt_cli.values.langgraph_values import Send
from ckpt_cli.values.loadable import read_typed
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView

FinishedOption = Annotated[
    Finished | None,
    typer.Option(
        "--finished",
        help="What other tasks finished there: keep it, as langgraph up to 1.0.2 does at the head (0.6.9 to 1.0.2 at a "
        "past checkpoint too), or drop it.",
    ),
]

_AsNode = Annotated[
    str | None,
    typer.Option(
        "--as-node",
        metavar="NODE",
        help="The node that writes; default: the one that ran last.",
        autocompletion=complete_node,
    ),
]

_Values = Annotated[
    str | None, typer.Option("--values", metavar="JSON", help="An object of channels: JSON, @FILE, or @- for stdin.")
]


_Next = Annotated[
    list[str] | None,
    typer.Option(
        "--next", metavar="NODE", help="What runs next: NODE[,NODE], END, or NODE=JSON for a Send; may be repeated."
    ),
]
_Bulk = Annotated[
    str | None,
    typer.Option("--bulk", metavar="FILE", help="JSON Lines, one superstep each: {values, as_node, next}, or a list."),
]


def update(
    session: Session,
    thread: OneThread = None,
    rev: OptionalRev = None,
    values: _Values = None,
    as_node: _AsNode = None,
    then: _Next = None,
    as_input: Annotated[bool, typer.Option("--as-input", help="Write as the graph's input.")] = False,
    bulk: _Bulk = None,
    reducer: ReducerOption = None,
    deferred: DeferredOption = None,
    finished: FinishedOption = None,
    metadata: MetadataOption = None,
    values_from: ValuesFrom = None,
    selector: SelectorOptions = NOTHING_TYPED,
    many: ManyOptions = ONE_THREAD,
    ns: Ns = "",
) -> PlanView | BulkView:
    """Write values to the state as a node would: through the channels' reducers, and followed by its next nodes.

    It does what graph.update_state does, without the graph. ckpt learns the channels' reducers and the node's next
    nodes from the recorded steps, and shows the evidence. If the thread's own steps don't decide, those of other
    threads of the same graph count. A reducer that you name counts for this command, with --remember also for later
    ones, in all threads of this database. Other waiting tasks are cleared; the plan says which. update_state follows
    only the edges of a node, and evaluates conditional ones anew: if that may lead elsewhere than the recorded runs, or
    if the node went on by Command(goto=...), name the next nodes with --next.

    Without THREAD, the options choose many threads, each changed in a transaction of its own.

    Examples:
      ckpt update support-42 --values '{"route": "human"}' --as-node classify
      ckpt update --values-from routes.jsonl --skip-refused
      ckpt update support-42 step:3 --values @fix.json --next END
      ckpt update support-42 --values '{"retries": 0}' --reducer retries=last --remember
      ckpt update support-42 --values '{"messages": [{"role": "user", "content": "stop"}]}' --as-input
    """
    named, changes = named_reducers(session, reducer, deferred), metadata_changes(metadata)
    target = parse_target(session, (thread, rev), selector, many, ns=ns, default="@", are_named=bool(values_from))
    if values_from is None:
        steps_of = _same_for_all(_steps(values, as_node, then, as_input=as_input, bulk=bulk))
    else:
        of_threads = _alone(values_from, values, bulk)
        target, steps_of = of_threads.target(target), _of_their_own(of_threads, as_node, then, as_input=as_input)

    def make_plan(reader: Reader, row: CheckpointRow) -> plans.PlannedUpdate:
        mint, steps = Mint(session.clock), steps_of(row.thread_id)
        with nullcontext() if bulk is None else _hints_for_lines():
            return plans.plan(reader, row, mint, steps, reducers=named, finished=finished, changes=changes)

    return update_target(session, "update", target, reducer, make_plan)


@contextmanager
def _hints_for_lines() -> Iterator[None]:
    """Hints of errors name the keys of a line of ``--bulk`` instead of options."""
    try:
        yield
    except CkptError as error:
        error.hint, error.candidates = _in_lines(error.hint), tuple(map(_in_lines, error.candidates))
        raise


def _in_lines(words: str) -> str:
    def keys(options: re.Match[str]) -> str:
        nodes = [unquoted(word) for word in re.findall(f"--next ({WORD})", options[0])]
        return f'"next": {json.dumps(nodes, ensure_ascii=False)}'

    words = words.replace("--as-node names", '"as_node" names').replace("to the command", "to the line")
    return re.sub(f"--next {WORD}( --next {WORD})*", keys, words)


StepsOf = Callable[[str], list[list[Update]]]
"""Gives the supersteps to write to a thread."""


def _same_for_all(steps: list[list[Update]]) -> StepsOf:
    return lambda _: steps


def _of_their_own(
    of_threads: ValuesOfThreads, as_node: str | None, then: Sequence[str] | None, *, as_input: bool
) -> StepsOf:
    hops, node = partial(_hops, then) if then else None, INPUT if as_input else as_node
    return lambda thread_id: [[Update(of_threads[thread_id], node, hops)]]


def _alone(values_from: str, values: str | None, bulk: str | None) -> ValuesOfThreads:
    if values is not None or bulk is not None:
        raise UsageError("--values-from has the values of each thread", hint="leave out --values and --bulk")
    return ValuesOfThreads(values_from)


def _steps(
    values: str | None, as_node: str | None, then: Sequence[str] | None, *, as_input: bool, bulk: str | None
) -> list[list[Update]]:
    if bulk is not None:
        if values is not None or as_node is not None or then or as_input:
            raise UsageError("--bulk excludes the other options: its lines have values, as_node and next")
        lines = [line for line in file_or_stdin(bulk).splitlines() if line.strip()]
        return [_superstep(parse_json_input(line, f"line {number} of {bulk}")) for number, line in enumerate(lines, 1)]
    if as_input and (as_node is not None or then):
        raise UsageError("--as-input excludes --as-node and --next")
    if values is None and as_node is None and not then:
        raise UsageError(
            "nothing to update", hint="--values JSON is what to write; `ckpt edit --metadata` changes only metadata"
        )
    data = None if values is None else _values(parse_json_input(values, "--values"))
    return [[Update(data, INPUT if as_input else as_node, partial(_hops, then) if then else None)]]


def _superstep(line: Any) -> list[Update]:
    return [_update(update) for update in (line if isinstance(line, list) else [line])]


def _update(update: Any) -> Update:
    if not isinstance(update, dict) or not update.keys() <= {"values", "as_node", "next"}:
        raise UsageError("a bulk update is an object with values, as_node and next")
    hops = update.get("next")
    if hops is not None and not isinstance(hops, str | list):
        raise UsageError('"next" is a list of nodes, or one')
    values = None if update.get("values") is None else _values(update["values"])
    names = [hops] if isinstance(hops, str) else [str(hop) for hop in hops or ()]
    next_nodes = partial(_hops, names, in_list=isinstance(hops, list))
    return Update(values, update.get("as_node"), None if hops is None else next_nodes)


def _values(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        hint = 'of a graph whose state is no dict, the state is the channel __root__: {"__root__": STATE}'
        raise UsageError("values must be an object of channels", hint=hint)
    return {channel: read_typed(value) for channel, value in data.items()}


def _hops(texts: Sequence[str], is_node: Callable[[str], bool], *, in_list: bool = False) -> list[Hop]:
    """The next nodes and Sends; [] for END, which counts for nothing beside a node, as in a conditional edge.

    Args:
        texts: what a person named; a text that is the name of a node is that node, whatever else it may mean.
        is_node: whether a node is known.
        in_list: whether the texts are a list in JSON, where none of them names several nodes.

    Raises:
        UsageError: a text names no node.
    """
    hops: list[Hop] = []
    for text in texts:
        if is_node(text):
            hops.append(text)
        elif "=" in text:
            cuts = [cut.start() for cut in re.finditer("=", text)]
            cut = next((cut for cut in cuts if is_node(text[:cut])), cuts[0])
            node, arg = text[:cut], text[cut + 1 :]
            hops.append(Send(node, read_typed(parse_json_input(arg, f"--next {node}"))))
        else:
            parts = [part.strip() for part in ([text] if in_list else text.split(","))]
            if "" in parts:
                raise UsageError("--next names no node", hint="--next END ends the run there")
            hops += (part for part in parts if part not in ("END", "__end__"))
    return hops
