"""Real graphs, one of every kind that leaves its own traces in a database.

They run on the installed LangGraph and, but for `recent`, on langgraph 0.6.

A scenario runs graphs on a saver and gives the threads it made with the graph that can read each.
"""

from importlib.util import find_spec

from tests.graphs import kinds, lines
from tests.graphs.building import SCENARIOS, Graph

if find_spec("langgraph.channels.delta"):
    from tests.graphs import recent  # noqa: F401

__all__ = ["SCENARIOS", "Graph", "kinds", "lines"]
