"""Real graphs of the installed LangGraph, one of every kind that leaves its own traces in a database.

A scenario runs graphs on a saver and gives the threads it made with the graph that can read each.
"""

from tests.graphs import kinds, lines
from tests.graphs.building import SCENARIOS, Graph

__all__ = ["SCENARIOS", "Graph", "kinds", "lines"]
