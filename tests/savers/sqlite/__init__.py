"""SQLite: files of every generation, as LangGraph, other programs and killed writers leave them."""
