"""``ckpt graph``: draws the agent's graph as its recorded runs show it: nodes, edges with counts, subgraphs."""

from enum import StrEnum
from typing import Annotated

import typer

from ckpt_cli.parameters.options import Threads
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.queries.observed_graphs import graph_parts, observed_graphs
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.session import Session
from ckpt_cli.views.graph import GraphView


class GraphFormat(StrEnum):
    """The formats in which a graph is printed."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"


def graph(
    session: Session,
    threads: Threads = None,
    selector: SelectorOptions = NOTHING_TYPED,
    form: Annotated[
        GraphFormat, typer.Option("--format", metavar="FORMAT", help="text, mermaid or dot.", show_default=True)
    ] = GraphFormat.TEXT,
) -> GraphView:
    """Draw the agent's graph as its runs show it, without its code: nodes, edges with counts, subgraphs.

    An edge is counted each time a task's own writes led to a node. Edges, conditional edges and Command(goto=…) leave
    the same writes. A way to the end leaves none: it is inferred of a task that led nowhere else, and drawn dashed. A
    branch that no run took isn't drawn.

    Some runs record no edges: those of langgraph 0.0 and of the functional API, and those with durability="exit". The
    answer says so. Where only the nodes of a step are known, the nodes before are named as candidates.

    Examples:
      ckpt graph support-42
      ckpt graph --since 7d --status failed
      ckpt graph --format mermaid > agent.mmd
      ckpt graph --format dot | dot -Tsvg > agent.svg
      ckpt graph --json --query 'graphs[0].edges[?source==`triage`].[target, count]'
    """
    return run(session, parse_selector(session, selector, threads), form.value)


def run(session: Session, chosen: ThreadSelection, form: str = "text") -> GraphView:
    """The view of the graphs of these threads, which are read one after the other."""
    heads, remarks = session.read(lambda reader: selected_heads(reader, chosen))
    for remark in remarks:
        session.say(remark)
    graphs, count = observed_graphs(session, heads)
    only = next(iter(heads)).thread_id if len(heads) == 1 else None
    return GraphView(count, only, graph_parts(graphs), form)
