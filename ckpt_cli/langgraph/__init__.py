"""An agent's memory in a database that ckpt opens: the one part that imports LangGraph (extra ``langgraph``)."""

from ckpt_cli.langgraph.saver import CkptSaver

__all__ = ["CkptSaver"]
