"""The search for a text in the history of a thread."""
