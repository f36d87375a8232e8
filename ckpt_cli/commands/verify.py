"""``ckpt verify``: compares each recorded step with what its writes make, and looks for records that contradict."""

from typing import Annotated

import typer

from ckpt_cli.history.reducers.names import NamedReducers
from ckpt_cli.parameters.options import Threads
from ckpt_cli.parameters.reducers import ComparedReducer, named_reducers
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.queries.verified_threads import verify as verify_threads
from ckpt_cli.session import Session
from ckpt_cli.views.verify import VerifyView


def verify(
    session: Session,
    threads: Threads = None,
    selector: SelectorOptions = NOTHING_TYPED,
    reducer: ComparedReducer = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 also if something is suspect.")] = False,
) -> VerifyView:
    """Compare each recorded step with what its writes make, and look for records that contradict each other.

    Each step of a thread, of all its branches and subgraphs, is compared: its writes and the channels' reducers make a
    state, and this state was stored or wasn't. Reducers are learned from the thread itself, or named by --reducer.

    agrees: the stored state is what the writes make. unknown: no writes are stored, or no known reducer explains the
    channel; a parent that is gone is unknown too, as a deletion leaves the same. suspect: a learned reducer explains at
    least eight other steps and not this one, which proves nothing. differs: no writes make this, a reducer that you
    named makes something else, or records contradict each other.

    Exits with 1 if something differs, and with 5 if something can't be read.

    Examples:
      ckpt verify support-42
      ckpt verify --since 1d --strict
      ckpt verify support-42 --reducer log=append --json
      ckpt verify --match 'support-*' --jsonl
    """
    view = run(session, parse_selector(session, selector, threads), named_reducers(session, reducer))
    view.strict, view.of_one = strict, len(threads or ()) == 1
    return view


def run(session: Session, chosen: ThreadSelection, named: NamedReducers) -> VerifyView:
    """The view of the chosen threads; each is verified when its row is read."""
    heads, remarks = session.read(lambda reader: selected_heads(reader, chosen))
    for remark in remarks:
        session.say(remark)
    session.say_lost_differences()
    view = VerifyView(threads=[])
    verify_threads(session, (thread.thread_id for thread in heads), named, view)
    return view
