"""`CkptSaver`: keeps an agent's memory in any database that ckpt opens; needs LangGraph (extra ``langgraph``)."""

from ckpt_cli.langgraph.saver import CkptSaver

__all__ = ["CkptSaver"]
