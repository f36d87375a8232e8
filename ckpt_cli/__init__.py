"""git for the memory of LangGraph agents."""

__version__ = "0.1.0"
